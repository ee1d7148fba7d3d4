package spec_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/bench"
	"tare/internal/spec"
	"tare/internal/spec/spectest"
)

func parse(t *testing.T, text string, set ...string) *spec.Experiment {
	t.Helper()
	e, err := spec.Parse("x.yaml", []byte(text), set, spectest.Vocabulary())
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, text)
	}
	return e
}

// An error about a condition points at its value. An error about an unknown condition points at its
// key.
func TestPlaceOfCondition(t *testing.T) {
	for _, c := range []struct{ conditions, set, want string }{
		{"conditions: {swap: 0}", "", "x.yaml:2:20: swap"},
		{"conditions: {swop: 0}", "", "x.yaml:2:14: condition"},
		{"conditions: {swap: 1GiB}", "conditions.swap=0", `--set conditions.swap=0: swap "0"`},
	} {
		var set []string
		if c.set != "" {
			set = []string{c.set}
		}
		_, err := spec.Parse("x.yaml", []byte("name: x\n"+c.conditions+"\nscenes: [{name: a, startup: true}]"), set, spectest.Vocabulary())
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %s", c.conditions, c.set, err, c.want)
		}
	}
	_, err := spec.Parse("x.yaml", []byte("name: x\nscenes:\n  - {name: a, startup: true, vary: {conditions.swap: [512MiB, 1GiB, 0MiB]}}"), nil, spectest.Vocabulary())
	if err == nil || !strings.HasPrefix(err.Error(), "x.yaml:3:69: swap") {
		t.Errorf("a level: %v", err)
	}
}

// one wraps a scene in the smallest experiment.
func one(scene string) string {
	return "name: x\nplatforms: native, docker\nscenes:\n  - name: s\n    " + strings.ReplaceAll(scene, "\n", "\n    ") + "\n"
}

func TestWholeExperiment(t *testing.T) {
	e := parse(t, `
name: mine
title: Mine
question: How much?
platforms: [all-real, docker: {net: host, storage: layer}, "docker[storage=volume,net=host]", qemu-tcg]
baseline: native
shape: {cpus: 2, memory: 512MiB, disk: 2GiB, cpu_quota: 1.5, cpu_weight: 200, memory_soft: 256MiB, memory_nodes: [1, 0, 1], pids: 100}
timing: {warmup: 0s, measure: 1500ms, cooldown: 1s, deadline: 1m}
blocks: 5
seed: 18446744073709551615
margin: 2.5%
max_time: 1h
conditions: {}
scenes:
  - name: cpu
    workload: spin
    params: {limit: 7}
    vary: {threads: [1, 2], shape.memory: [1GiB, 2GiB]}
  - name: up
    startup: true
    platforms: native, qemu-tcg
    shape: {cpus: 1, cpu_quota: 0.5}
`)
	if e.Name != "mine" || e.Title != "Mine" || e.Question != "How much?" || e.Blocks != 5 || *e.Seed != 1<<64-1 ||
		e.Margin != 0.025 || e.MaxTime != time.Hour || e.Baseline.String() != "native" {
		t.Errorf("head: %+v", e)
	}
	want := spec.Platforms{AllReal: true, Named: []bench.PlatformRef{
		{Name: "docker", Options: map[string]string{"net": "host"}},
		{Name: "docker", Options: map[string]string{"net": "host", "storage": "volume"}},
		{Name: "qemu-tcg"},
	}}
	if d := cmp.Diff(want, e.Platforms); d != "" {
		t.Error(d)
	}
	var names []string
	for _, s := range e.Scenes {
		a := s.Actors[0]
		names = append(names, fmt.Sprintf("%s %v cpus=%d memory=%s of %s quota=%g pids=%d %v %s", s.Name, s.Factors, a.Shape.CPUs,
			a.Shape.Memory, a.Shape.MemoryNodes, a.Shape.CPUQuota, a.Shape.Pids, a.Params, s.Timing.Measure))
	}
	wantScenes := []string{
		"cpu [{threads 1 } {shape.memory 1GiB }] cpus=2 memory=1 GiB of 0,1 quota=1.5 pids=100 map[limit:7 threads:1] 1.5s",
		"cpu [{threads 1 } {shape.memory 2GiB }] cpus=2 memory=2 GiB of 0,1 quota=1.5 pids=100 map[limit:7 threads:1] 1.5s",
		"cpu [{threads 2 } {shape.memory 1GiB }] cpus=2 memory=1 GiB of 0,1 quota=1.5 pids=100 map[limit:7 threads:2] 1.5s",
		"cpu [{threads 2 } {shape.memory 2GiB }] cpus=2 memory=2 GiB of 0,1 quota=1.5 pids=100 map[limit:7 threads:2] 1.5s",
		"up [] cpus=1 memory=512 MiB of 0,1 quota=0.5 pids=100 map[] 1.5s",
	}
	if d := cmp.Diff(wantScenes, names); d != "" {
		t.Error(d)
	}
	if !e.Scenes[4].Startup || len(e.Scenes[4].Platforms.Named) != 2 || e.Scenes[4].Platforms.AllReal {
		t.Errorf("start-up scene: %+v", e.Scenes[4])
	}
}

func TestDefaults(t *testing.T) {
	e := parse(t, "name: x\nscenes: [{name: a, workload: spin}]")
	if !e.Platforms.AllReal || e.Baseline.Name != "native" || e.Blocks != 3 || e.Margin != 0.03 || e.Seed != nil || e.Title != "x" {
		t.Errorf("%+v", e)
	}
	a := e.Scenes[0].Actors[0]
	if a.Shape != (bench.Shape{CPUs: 1, Memory: bench.GiB, Disk: bench.GiB}) || a.Host != "local" || a.Count != 1 || a.Platform != nil {
		t.Errorf("%+v", a)
	}
	twice := parse(t, "name: x\nplatforms: [native, \"native[as=b]\", docker: {net: host, as: c}]\nscenes: [{name: a, startup: true}]")
	if got := fmt.Sprint(twice.Platforms.Named); got != "[native native[as=b] docker[as=c,net=host]]" {
		t.Errorf("aliases are read as %s", got)
	}
	if b := parse(t, "name: x\nplatforms: lxc, docker\nscenes: [{name: a, startup: true}]").Baseline.Name; b != "lxc" {
		t.Errorf("baseline without native: %s", b)
	}
	if w := parse(t, "name: x\nblocks: 1\nscenes: [{name: a, startup: true}]").Warnings; len(w) != 1 || !strings.Contains(w[0], "2 blocks") {
		t.Errorf("warnings %q", w)
	}
}

// roster writes actors compactly: role name xcount platform workload/part>serves params.
func roster(s spec.Scene) []string {
	var out []string
	for _, a := range s.Actors {
		on := "same"
		if a.Platform != nil {
			on = a.Platform.String()
		}
		where := ""
		if a.Placement == spec.Shared {
			where = " shared"
		}
		out = append(out, fmt.Sprintf("%s %s x%d on %s %s/%s>%s %v%s", a.Role, a.Name, a.Count, on, a.Workload, a.Part, a.Serves, map[string]string(a.Params), where))
	}
	return out
}

func TestSceneForms(t *testing.T) {
	cases := map[string]struct {
		scene string
		want  []string
	}{
		"one": {"workload: scan", []string{"subject subject x1 on same scan/main> map[repeats:3]"}},
		"several alike split the load": {"workload: spin\nparams: {threads: 8}\nalike: 4",
			[]string{"subject subject x4 on same spin/main> map[limit:10000 threads:2]"}},
		"several alike with all of it": {"workload: scan\nalike: 4\nload: each\nplacement: shared",
			[]string{"subject subject x4 on same scan/main> map[repeats:3] shared"}},
		"peer": {"workload: talk\npeer: {platform: docker, shape: {cpus: 2}}", []string{
			"subject subject x1 on same talk/main> map[message:16384 test:stream]",
			"peer peer x1 on docker talk/server>subject map[message:16384 test:stream]"}},
		"beside": {"workload: spin\nbeside: {workload: talk, platform: lxc, count: 2, placement: shared}\nidle: 3", []string{
			"subject subject x1 on same spin/main> map[limit:10000 threads:1]",
			"neighbour neighbour x2 on lxc talk/main> map[message:16384 test:stream] shared",
			"idle idle x3 on same /> map[]",
			"peer neighbour-peer x1 on native talk/server>neighbour map[message:16384 test:stream]"}},
		"start-up beside a crowd": {"startup: true\nidle: 20", []string{
			"subject subject x1 on same /> map[]", "idle idle x20 on same /> map[]"}},
		"written out": {`actors:
  - {name: other, role: peer, serves: web, platform: same}
  - {name: bomb, role: neighbour, workload: own, params: {argv: [stress-ng, {a: 1.50}, true]}, platform: "docker[net=host]"}
  - {name: web, workload: talk, params: {message: 4KiB}, count: 2, placement: shared}
  - {role: idle, count: 2}`, []string{
			"subject web x2 on same talk/main> map[message:2048 test:stream] shared",
			"neighbour bomb x1 on docker[net=host] own/main> map[argv:[\"stress-ng\",{\"a\":1.5},true] wait:0s]",
			"idle idle x2 on same /> map[]",
			"peer other x1 on same talk/server>web map[message:2048 test:stream]"}},
		"a cluster": {"workload: sort\nmembers: 3\nbeside: {workload: spin}", []string{
			"subject subject x1 on same sort/main> map[records:10]",
			"member member x3 on same sort/worker>subject map[records:10]",
			"neighbour neighbour x1 on same spin/main> map[limit:10000 threads:1]",
			"peer peer x1 on native sort/helper>subject map[records:10]"}},
		"a cluster of another shape": {"workload: sort\nmembers: {count: 2, shape: {memory: 2GiB}, placement: shared}\npeer: {shape: {cpus: 2}}", []string{
			"subject subject x1 on same sort/main> map[records:10]",
			"member member x2 on same sort/worker>subject map[records:10] shared",
			"peer peer x1 on native sort/helper>subject map[records:10]"}},
		"a cluster written out": {"actors:\n  - {role: peer, part: helper}\n  - {name: node, role: member, count: 2, platform: same}\n  - {name: big, role: member, shape: {cpus: 2}}\n  - {name: head, workload: sort}", []string{
			"subject head x1 on same sort/main> map[records:10]",
			"member node x2 on same sort/worker>head map[records:10]",
			"member big x1 on same sort/worker>head map[records:10]",
			"peer peer x1 on native sort/helper>head map[records:10]"}},
		"a peer written out is native": {"actors: [{workload: talk}, {role: peer}]", []string{
			"subject subject x1 on same talk/main> map[message:16384 test:stream]",
			"peer peer x1 on native talk/server>subject map[message:16384 test:stream]"}},
		"start-up written out": {"startup: true\nactors:\n  - {role: subject, count: 2}\n  - {role: idle}", []string{
			"subject subject x2 on same /> map[]", "idle idle x1 on same /> map[]"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, roster(parse(t, one(c.scene)).Scenes[0])); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestFactors(t *testing.T) {
	e := parse(t, one(`workload: spin
params: {threads: 4}
vary: {alike: [1, 2, 4], beside.params.message: [1KiB, 2KiB], beside.placement: [apart, shared]}
beside: {workload: talk}`))
	if len(e.Scenes) != 12 {
		t.Fatalf("%d scenes", len(e.Scenes))
	}
	got := roster(e.Scenes[7])[:2]
	want := []string{"subject subject x2 on same spin/main> map[limit:10000 threads:2]",
		"neighbour neighbour x1 on same talk/main> map[message:2048 test:stream] shared"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]spec.Factor{{Name: "alike", Level: "2"}, {Name: "beside.params.message", Level: "2KiB"}, {Name: "beside.placement", Level: "shared"}}, e.Scenes[7].Factors); d != "" {
		t.Error(d)
	}
	in := parse(t, one("vary: {actors.web.params.threads: [1, 2]}\nactors: [{name: web, workload: spin}]"))
	if len(in.Scenes) != 2 || in.Scenes[1].Actors[0].Params["threads"] != "2" {
		t.Errorf("%+v", in.Scenes)
	}
}

func TestSet(t *testing.T) {
	text := one("workload: spin\nvary: {threads: [1, 2]}")
	e := parse(t, text, "blocks=5", "timing.measure=10s", "scenes.s.vary.threads=[4]", "scenes.0.params.limit=9",
		"platforms=native,docker[net=host,storage=volume]", "shape.memory=2GiB", "question=a: b", "seed=7")
	s := e.Scenes[0]
	if e.Blocks != 5 || s.Timing.Measure != 10*time.Second || s.Actors[0].Params["threads"] != "4" || s.Actors[0].Params["limit"] != "9" ||
		len(e.Platforms.Named) != 2 || s.Actors[0].Shape.Memory != 2*bench.GiB || *e.Seed != 7 {
		t.Errorf("%+v", e)
	}
	// The arguments' changes do not affect the next reading.
	if again := parse(t, text); again.Blocks != 3 || len(again.Scenes) != 2 {
		t.Errorf("%+v", again)
	}
}

func TestSetErrors(t *testing.T) {
	for arg, want := range map[string]string{
		"blocks":                    `--set blocks: not of the form path=value`,
		"=3":                        `--set =3: not of the form path=value`,
		"blokcs=5":                  `--set blokcs=5: unknown key of an experiment "blokcs"; did you mean "blocks"?`,
		"blocks=many":               `--set blocks=many: "many" is not a whole number`,
		"timing.measure=10":         `--set timing.measure=10: 10 lacks a unit`,
		"scenes.t.workload=spin":    `--set scenes.t.workload=spin: unknown element "t"; did you mean "s"?`,
		"scenes.7.workload=spin":    `--set scenes.7.workload=spin: no element 7: the list has 1, counted from 0`,
		"name.first=x":              `--set name.first=x: there is nothing below "x" to set "first" in`,
		"shape..memory=1GiB":        `--set shape..memory=1GiB: the path has an empty step`,
		"blocks=[1":                 `--set blocks=[1: value "[1": not YAML:`,
		"scenes.s.params.thraeds=1": `--set scenes.s.params.thraeds=1: unknown parameter of spin "thraeds"; did you mean "threads"?`,
		"blocks=":                   `--set blocks=: value "": empty`,
	} {
		t.Run(arg, func(t *testing.T) {
			_, err := spec.Parse("x.yaml", []byte(one("workload: spin")), []string{arg}, spectest.Vocabulary())
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

// TestErrors compares the errors of bad files with testdata/NAME.txt. UPDATE=1 writes them.
func TestErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = spec.Parse(filepath.Base(file), text, nil, spectest.Vocabulary())
			var list spec.Errors
			if !errors.As(err, &list) || !errors.Is(err, bench.ErrInvalid) {
				t.Fatalf("%T %v", err, err)
			}
			golden := strings.TrimSuffix(file, ".yaml") + ".txt"
			if os.Getenv("UPDATE") == "1" {
				if err := os.WriteFile(golden, []byte(list.Text()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), list.Text()); d != "" {
				t.Error(d)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	seeds, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range seeds {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), "blocks=4")
	}
	f.Add(one("workload: spin\nvary: {threads: [1, 2]}"), "scenes.s.vary.threads=[4]")
	f.Add(one("actors: [{workload: talk}, {role: peer}]"), "scenes.0.actors.0.count=3")
	f.Add("a: &x [*x]\nb: !!t {<<: *x}\n? [c]\n: d", "a.b.c={")
	words := spectest.Vocabulary()
	f.Fuzz(func(t *testing.T, text, set string) {
		e, err := spec.Parse("f.yaml", []byte(text), []string{set}, words)
		if e == nil && err == nil {
			t.Fatalf("%v %v", e, err)
		}
		var list spec.Errors
		if err != nil && (!errors.As(err, &list) || list.Text() == "") {
			t.Fatalf("%T without text", err)
		}
	})
}
