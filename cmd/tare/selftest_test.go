package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/app/prove"
	"tare/internal/bench"
	"tare/internal/host"
	"tare/internal/result/store"
	"tare/internal/selftest"
)

// fakePart is a part of the self-test that finds a claim to hold or not.
func fakePart(a *app, name selftest.Part, held selftest.Held, err error, asked *[]string) prove.Turn {
	c := &cobra.Command{Use: string(name), Args: cobra.NoArgs}
	limit := c.Flags().Duration("max-time", 0, "")
	c.RunE = func(*cobra.Command, []string) error {
		*asked = append(*asked, string(name)+" "+limit.Round(time.Minute).String())
		if err != nil {
			return err
		}
		f := &selftest.Finding{Part: name, Size: 1, Unit: "runs", Claims: []selftest.Claim{{Claim: "the claim of " + string(name), Found: "something", Held: held}}}
		return new(part).keep(a, f, selftest.Origin{Tare: version, Command: a.asked()}, host.Facts{Hostname: "h"})
	}
	return a.turn(c, 30*time.Minute)
}

func TestSelftestAllGoesOnAndEndsWithTheTable(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the self-test needs root")
	}
	var out, said bytes.Buffer
	var asked []string
	a := newApp(&out, &said)
	a.site.Dir = t.TempDir()
	turns := []prove.Turn{
		fakePart(a, selftest.PartAA, selftest.Yes, nil, &asked),
		fakePart(a, selftest.PartInject, selftest.No, nil, &asked),
		fakePart(a, selftest.PartCost, selftest.Yes, errors.New("no disk"), &asked),
		fakePart(a, selftest.PartSum, selftest.Open, nil, &asked),
	}
	err := a.selftestAll(t.Context(), turns, 2*time.Hour, false)
	a.say(err)
	if statusOf(err) != exitHost {
		t.Errorf("ended with %v", err)
	}
	// What one part leaves over the next ones share.
	if got := strings.Join(asked, ", "); got != "aa 30m0s, inject 40m0s, cost 1h0m0s, sum 2h0m0s" {
		t.Errorf("asked %s", got)
	}
	_, table, _ := strings.Cut(out.String(), "RESTS ON")
	for _, want := range []string{`(?m)^aa +the claim of aa +something +yes`, `(?m)^inject +the claim of inject +something +no`, `(?m)^cost +not measured on this host`} {
		if !regexp.MustCompile(want).MatchString(table) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	for _, want := range []string{"the claim of inject, but found something", "no disk"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%q is not in\n%s", want, said.String())
		}
	}
	c, err := selftest.Read(a.site.CertificateDir())
	if err != nil || len(c.Sections) != 3 || strings.Join(c.Section(selftest.PartInject).Command, " ") != "tare selftest inject --max-time 40m0s" {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestSelftestInject slows native down for real, and the certificate is cited
// by a report of the run.
func TestSelftestInject(t *testing.T) {
	state := realState(t)
	dir := filepath.Join(t.TempDir(), "inject")
	p := start(t, state, "selftest", "inject", "--platforms", "native", "--cases", "startup", "--slowdowns", "5,50", "--runs", "1", "-o", dir)
	status := p.end()
	again := start(t, state, "resume", dir)
	again.ends(status)
	again.says("every trial that is needed has an outcome already")
	for _, q := range []*program{p, again} {
		if want := "startup  native    50 %"; !strings.Contains(q.stdout.String(), want) {
			t.Errorf("%q is not in what %v prints\n%s", want, q.cmd.Args, q.stdout.String())
		}
	}
	for name, o := range outcomes(t, dir) {
		if o.Status != bench.Done || len(o.Actors[0].Unenforced) > 1 {
			t.Errorf("%s: %s, %s, not enforced: %v", name, o.Status, o.Error, o.Actors[0].Unenforced)
		}
	}
	r := start(t, state, "report", dir, "--all")
	r.end()
	if want := "self-test of this program on this host: "; !strings.Contains(r.stdout.String(), want) {
		t.Errorf("%q is not in\n%s", want, r.stdout.String())
	}
}

// What repeats a run of the self-test is the verb and its flags, without the
// place of that run, and a command that this program has.
func TestSelftestRepeats(t *testing.T) {
	for _, c := range []struct {
		spec, command string // of the header
		want          string
	}{
		{"selftest-aa", "tare selftest aa", "tare selftest aa"},
		{"selftest-aa", "tare selftest aa --comparisons 60 --cases=startup,cpu -o aa -v --max-time 5m --json", "tare selftest aa --comparisons 60 --cases startup,cpu --max-time 5m"},
		{"selftest-cost", "tare --state /x selftest cost --allow-unfair --platforms docker[net=host,driver=vfs] --wait=true", "tare selftest cost --allow-unfair=true --platforms docker[net=host,driver=vfs]"},
		{"selftest-stop", "tare selftest stop --set timing.measure=2s --set shape.cpus=1", "tare selftest stop --set timing.measure=2s --set shape.cpus=1"},
		{"selftest-aa", "tare selftest aa --no-such 1", "tare selftest aa"},
		{"selftest-aa", "tare clean --all", "tare selftest aa"},
		{"selftest-aa", "", "tare selftest aa"},
		{"selftest-none", "tare selftest none", ""},
		{"quick", "tare run quick", ""},
	} {
		words := selftestRepeat(store.Header{Spec: c.spec, Command: strings.Fields(c.command)})
		if got := strings.Join(words, " "); got != c.want {
			t.Errorf("%s by %q: %q, want %q", c.spec, c.command, got, c.want)
		}
		if c.want == "" {
			continue
		}
		found, flags, err := newApp(io.Discard, io.Discard).command().Find(words[1:])
		if err != nil || found.CommandPath() != "tare selftest "+strings.TrimPrefix(c.spec, "selftest-") {
			t.Errorf("%q is not a command: %v", words, err)
		} else if err := found.ParseFlags(flags); err != nil {
			t.Errorf("%q: %v", words, err)
		}
	}
}
