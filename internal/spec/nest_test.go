package spec_test

import (
	"errors"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/spec"
	"tare/internal/spec/spectest"
)

func TestNestings(t *testing.T) {
	for text, want := range map[string]string{
		"docker@qemu-tcg": "docker@qemu-tcg",
		"docker[net=host]@qemu-tcg[cache=writeback]":             "docker[net=host]@qemu-tcg[cache=writeback]",
		"docker[storage=layer]@qemu-tcg[cache=none]":             "docker@qemu-tcg", // defaults have no name
		"docker[as=b]@kvm":                                       "docker[as=b]@kvm",
		`{docker: {net: host, on: "qemu-tcg[cache=writeback]"}}`: "docker[net=host]@qemu-tcg[cache=writeback]",
		`{docker: {on: {qemu-tcg: {cache: writeback}}}}`:         "docker@qemu-tcg[cache=writeback]",
		"docker[net=host]@kvm@qemu-tcg[cache=writeback]":         "docker[net=host]@kvm@qemu-tcg[cache=writeback]",
		`{docker: {on: {kvm: {on: "qemu-tcg"}}}}`:                "docker@kvm@qemu-tcg",
		`{"docker@kvm": {net: host}}`:                            "docker[net=host]@kvm",
	} {
		if !strings.HasPrefix(text, "{") {
			text = `"` + text + `"`
		}
		e := parse(t, "name: x\nplatforms: [native, "+text+"]\nscenes: [{name: a, startup: true}]")
		if got := e.Platforms.Named[1]; got.String() != want {
			t.Errorf("%s is read as %s, want %s", text, got, want)
		}
	}
	e := parse(t, "name: x\nplatforms: native, docker, docker[net=host]@qemu-tcg, docker@kvm\nscenes: [{name: a, startup: true}]")
	var drivers []string
	for _, r := range e.Platforms.Named {
		drivers = append(drivers, r.Driver())
	}
	if got := strings.Join(drivers, " "); got != "native docker docker@qemu-tcg docker@kvm" {
		t.Errorf("drivers %s", got)
	}
	options := e.Platforms.Named[2].DriverOptions()
	if len(options) != 1 || options["net"] != "host" {
		t.Errorf("options %v", options)
	}
}

func TestNestingFaults(t *testing.T) {
	for text, want := range map[string]string{
		"docker@qemu-tgc":             `x.yaml:2:27: unknown platform "qemu-tgc"; did you mean "qemu-tcg"?`,
		"dokcer@qemu-tcg":             `x.yaml:2:20: unknown platform "dokcer"; did you mean "docker"?`,
		"docker@qemu-tcg[cahce=none]": `x.yaml:2:27: unknown option of qemu-tcg "cahce"; did you mean "cache"?`,
		"docker@qemu-tcg[cache=nonw]": `x.yaml:2:27: unknown value of qemu-tcg's option cache "nonw"; did you mean "none"?`,
		"docker[ent=host]@kvm":        `x.yaml:2:20: unknown option of docker "ent"; did you mean "net"?`,
		"docker@":                     `x.yaml:2:20: "docker@": no platform follows the @`,
		"@kvm":                        `x.yaml:2:20: "@kvm": no platform precedes the @`,
		"docker[net=host]docker":      `x.yaml:2:20: "docker[net=host]docker": "docker" follows the options' bracket`,
		"docker,":                     `x.yaml:2:27: a platform has no name`,
		"docker@lxc":                  `x.yaml:2:27: docker cannot run inside lxc`,
		"lxc@kvm":                     `x.yaml:2:24: lxc cannot run inside another platform`,
		"docker@docker@kvm":           `x.yaml:2:27: docker cannot run inside docker@kvm`,
		"kvm@kvm@qemu-tcg":            `x.yaml:2:24: kvm cannot run inside kvm@qemu-tcg`,
		"docker@kvm@kvm":              `x.yaml:2:31: kvm cannot run inside kvm`,
		"docker@kvm[":                 `x.yaml:2:27: "kvm[": the bracket is not closed`,
	} {
		_, err := spec.Parse("x.yaml", []byte("name: x\nplatforms: native, "+text+"\nscenes: [{name: a, startup: true}]"), nil, spectest.Vocabulary())
		var list spec.Errors
		if !errors.As(err, &list) || !errors.Is(err, bench.ErrInvalid) {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if !strings.Contains(list.Text(), want) {
			t.Errorf("%s: %s\nwant %s", text, list.Text(), want)
		}
	}
}
