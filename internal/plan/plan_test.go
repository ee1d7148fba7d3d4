package plan_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tare/internal/bench"
	"tare/internal/plan"
	"tare/internal/spec"
	"tare/internal/spec/spectest"
)

// inputs is a host with n CPUs, 24 GiB, and all but kvm.
func inputs(n int) plan.Inputs {
	in := plan.Inputs{
		Seed: 42,
		Host: plan.Host{Memory: 24 * bench.GiB, LLC: 32 * bench.MiB, DiskFree: 100 * bench.GiB},
		Available: map[string]bench.Availability{
			"native": {Version: "1"}, "docker": {Version: "20.10"}, "lxc": {Version: "5.0"}, "qemu-tcg": {Version: "7.2", Label: "emulated (tcg)", Migrates: bench.Live},
		},
		Launches: map[string]time.Duration{
			"native": 100 * time.Millisecond, "docker": 600 * time.Millisecond, "lxc": 200 * time.Millisecond, "qemu-tcg": 10 * time.Second,
		},
		Skips: []bench.Skip{{Platform: "kvm", Reason: "no trial boot within 20 s", Hint: "use qemu-tcg"}},
		Words: spectest.Vocabulary(),
	}
	for c := range n {
		in.Host.CPUs = append(in.Host.CPUs, c)
	}
	return in
}

func read(t *testing.T, text string) *spec.Experiment {
	t.Helper()
	e, err := spec.Parse("x.yaml", []byte(text), nil, spectest.Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func planned(t *testing.T, text string, in plan.Inputs) *bench.Plan {
	t.Helper()
	p, err := plan.Make(read(t, text), in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What is too large for the host is told beside what cannot be read at all, in
// the order of the file, and nothing of what is at fault already.
func TestMisfits(t *testing.T) {
	in := inputs(2)
	in.Host.Memory = 512 * bench.MiB // so that the default of what cannot be read does not fit either
	e, err := spec.Parse("x.yaml", []byte(`name: x
platforms: natve
scenes:
  - {name: a, workload: spin, pool: 7, shape: {memory: 1, disk: 200GiB}}
  - {name: b, workload: spn, shape: {cpus: 3, memory: 256MiB}}
  - {name: c, workload: spin, optional: true, shape: {cpus: 9, memory: 256MiB}}
  - {name: d, ramp: 5, shape: {memory: 2GiB}}
`), nil, in.Words)
	var faults spec.Errors
	if !errors.As(err, &faults) || e == nil {
		t.Fatal(e, err)
	}
	var got []string
	for _, fault := range faults.With(plan.Misfits(e, in)) {
		first, _, _ := strings.Cut(fault.Error(), "\n")
		got = append(got, first)
	}
	want := []string{
		`x.yaml:2:12: unknown platform "natve"; did you mean "native"?`,
		"x.yaml:4:37: a pool of 7 CPUs is more than the 2 this host has",
		"x.yaml:4:56: 1 is less than 1 MiB",
		"x.yaml:4:65: 200 GiB of scratch space are more than the 100 GiB free on this host's disk",
		`x.yaml:5:25: unknown workload "spn"; did you mean "spin"?`,
		"x.yaml:5:44: 3 CPUs are more than the 2 this host has",
		`x.yaml:7:21: ramp is written as a mapping, found "5"`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// The faults that a plan finds in several scenes are told at once.
func TestFaultsOfAllScenes(t *testing.T) {
	in := inputs(2)
	_, err := plan.Make(read(t, `name: x
platforms: native, docker
scenes:
  - {name: a, migrate: live}
  - {name: b, workload: spin, shape: {cpus: 3}}
  - {name: c, actors: [{workload: spin, count: 2, load: each}, {name: subject-2, role: idle}]}
`), in)
	var faults spec.Errors
	if !errors.As(err, &faults) || len(faults) != 3 {
		t.Fatalf("%v", err)
	}
	for i, want := range []string{"x.yaml:4:", "x.yaml:5:", "x.yaml:6:"} {
		if !strings.HasPrefix(faults[i].Error(), want) {
			t.Errorf("%s: %v", want, faults[i])
		}
	}
}

const four = `
name: four
title: Four kinds
question: What does it cost?
platforms: [all-real, "docker[net=host]"]
seed: 7
scenes:
  - {name: cpu, title: One core, workload: spin, vary: {limit: [1, 2]}}
  - {name: alike, workload: spin, params: {threads: 4}, alike: 4}
  - {name: net, workload: talk, alike: 2}
  - {name: victim, workload: spin, beside: {workload: spin, platform: lxc, placement: shared}, idle: 1}
  - {name: up, startup: true, platforms: [native, qemu-tcg]}
`

func TestMake(t *testing.T) {
	p := planned(t, four, inputs(2))
	if p.Seed != 7 || p.Blocks != 3 || p.Baseline != "native" || p.Margin != 0.03 || p.Title != "Four kinds" {
		t.Errorf("head %+v", p)
	}
	var ids []string
	for _, s := range p.Scenes {
		ids = append(ids, fmt.Sprintf("%s %s %q %v", s.ID, s.Kind, s.Title, s.Factors))
	}
	var want []string
	for _, c := range []string{`cpu[limit=1]/%s one "One core, limit 1" map[limit:1]`, `cpu[limit=2]/%s one "One core, limit 2" map[limit:2]`,
		`alike/%s alike "alike" map[]`, `net/%s alike "net" map[]`, `victim/%s beside "victim" map[]`} {
		for _, on := range []string{"native", "docker", "lxc", "docker[net=host]"} {
			want = append(want, fmt.Sprintf(c, on))
		}
	}
	want = append(want, `up/native startup "up" map[]`, `up/qemu-tcg startup "up" map[]`)
	if d := cmp.Diff(want, ids); d != "" {
		t.Error(d)
	}
	wantSkipped := []bench.Skip{
		{Platform: "kvm", Reason: "no trial boot within 20 s", Hint: "use qemu-tcg"},
	}
	if d := cmp.Diff(wantSkipped, p.Skipped); d != "" {
		t.Error(d)
	}
	only := planned(t, "name: x\nscenes: [{name: a, workload: spin}]", inputs(2)).Skipped
	wantSkipped = append(wantSkipped, bench.Skip{Platform: "qemu-tcg", Reason: "emulated (tcg) on this host: runs only when named"})
	if d := cmp.Diff(wantSkipped, only); d != "" {
		t.Error(d)
	}
	if len(p.Metrics) != 6 || p.Metrics["up"][0].Name != "time_to_ready" || p.Metrics["cpu[limit=1]"][0].Name != "rate" {
		t.Errorf("metrics %v", p.Metrics)
	}
	if p.Resources["cpu[limit=1]"] != "other" || p.Resources["up"] != "" {
		t.Errorf("resources %v", p.Resources)
	}
	var actors []string
	for _, id := range []string{"alike/docker", "net/docker", "victim/docker"} {
		for _, a := range p.Scene(id).Actors {
			actors = append(actors, fmt.Sprintf("%s %s %s %s %s>%s %v", a.Name, a.Role, a.Platform, a.Workload, a.Part, a.Serves, a.CPUSet))
		}
	}
	wantActors := []string{
		"subject subject docker spin main> [1]", "subject-2 subject docker spin main> [0]",
		"subject-3 subject docker spin main> [1]", "subject-4 subject docker spin main> [0]",
		"subject subject docker talk main> [1]", "subject-2 subject docker talk main> [0]",
		"peer peer native talk server>subject [1]", "peer-2 peer native talk server>subject-2 [0]",
		"subject subject docker spin main> [1]", "neighbour neighbour lxc spin main> [1]", "idle idle docker  > [0]",
	}
	if d := cmp.Diff(wantActors, actors); d != "" {
		t.Error(d)
	}
	wantWarnings := []string{
		"alike: CPU 0 is shared by subject-2, subject-4 and the observer",
		"alike: CPU 1 is shared by subject and subject-3",
		"net: CPU 0 is shared by subject-2, peer-2 and the observer",
		"net: CPU 1 is shared by subject and peer",
		"victim: CPU 0 is shared by idle and the observer",
	}
	warnings := slices.DeleteFunc(slices.Clone(p.Warnings), func(w string) bool { return strings.HasPrefix(w, "qemu-tcg is emulated (tcg)") })
	if d := cmp.Diff(wantWarnings, warnings); d != "" || len(p.Warnings) != len(warnings)+1 {
		t.Error(d, p.Warnings)
	}
}

// Floating actors are on every CPU, and nobody is surprised to meet them.
// A size of the scratch space counts as asked for where the specification gives it, for all or for one.
func TestDiskAskedFor(t *testing.T) {
	for text, want := range map[string]bool{
		"scenes: [{name: a, workload: spin}]":                                                 false,
		"shape: {memory: 1GiB}\nscenes: [{name: a, workload: spin}]":                          false,
		"shape: {disk: 1GiB}\nscenes: [{name: a, workload: spin}]":                            true,
		"scenes: [{name: a, workload: spin, shape: {disk: 2GiB}}]":                            true,
		"scenes: [{name: a, actors: [{role: subject, workload: spin, shape: {disk: 2GiB}}]}]": true,
	} {
		p := planned(t, "name: x\nplatforms: native\n"+text+"\n", inputs(2))
		if got := p.Scenes[0].Actors[0].DiskAsked; got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

func TestFloating(t *testing.T) {
	p := planned(t, `
name: float
platforms: native
scenes:
  - {name: pair, workload: spin, placement: floating, beside: {workload: spin, placement: floating}, idle: 1}
`, inputs(3))
	var got [][]int
	for _, a := range p.Scenes[0].Actors {
		got = append(got, a.CPUSet)
	}
	if d := cmp.Diff([][]int{{0, 1, 2}, {0, 1, 2}, {1}}, got); d != "" || len(p.Warnings) != 0 {
		t.Error(d, p.Warnings)
	}
}

// A pool leaves the first CPUs to the observer.
func TestPool(t *testing.T) {
	p := planned(t, "name: p\nplatforms: native\nscenes:\n  - {name: a, workload: spin, pool: 2, alike: 3, load: each}\n  - {name: b, workload: spin, pool: 2, placement: floating}", inputs(4))
	var got [][]int
	for _, s := range p.Scenes {
		for _, a := range s.Actors {
			got = append(got, a.CPUSet)
		}
	}
	if d := cmp.Diff([][]int{{2}, {3}, {2}, {2, 3}}, got); d != "" {
		t.Error(d)
	}
	for text, says := range map[string]string{
		"{name: a, workload: spin, pool: 5}":                   "a pool of 5 CPUs is more than the 4 this host has",
		"{name: a, workload: spin, pool: 1, shape: {cpus: 2}}": "2 CPUs are more than the scene's pool of 1",
	} {
		_, err := plan.Make(read(t, "name: p\nplatforms: native\nscenes: ["+text+"]"), inputs(4))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A plan with a stopping rule holds the trials of a plan with that many blocks.
func TestUntilPlansForItsMax(t *testing.T) {
	p := planned(t, until, inputs(4))
	fixed := planned(t, strings.Replace(until, "until: {interval: 2%, min: 3, max: 6}", "blocks: 6", 1), inputs(4))
	if d := cmp.Diff(fixed.Trials, p.Trials); d != "" || p.Blocks != 6 || fixed.Until != nil {
		t.Errorf("%d blocks, %s", p.Blocks, d)
	}
	if d := cmp.Diff(&bench.Until{Interval: 0.02, Min: 3, Max: 6, Looks: []int{3, 4, 5, 6}}, p.Until); d != "" {
		t.Error(d)
	}
	three := planned(t, strings.Replace(until, "until: {interval: 2%, min: 3, max: 6}", "blocks: 3", 1), inputs(4))
	if least := plan.LeastEstimate(p); math.Abs(least-three.Estimate) > 1e-9 || plan.LeastEstimate(fixed) != fixed.Estimate {
		t.Errorf("at least %g s, want %g", least, three.Estimate)
	}
	short := planned(t, until+"max_time: 1m\n", inputs(4))
	if w := short.Warnings; len(w) != 1 || !strings.HasPrefix(w[0], "up to ") {
		t.Errorf("at least %g s: %q", plan.LeastEstimate(short), w)
	}
}

// TestRoomOfOuterGuests: what an outer guest needs beyond the shape counts.
func TestRoomOfOuterGuests(t *testing.T) {
	in := inputs(2)
	in.Available["docker@qemu-tcg"] = bench.Availability{Version: "1@2", Label: "nested, emulated (tcg)",
		Beyond: bench.Room{Memory: 512 * bench.MiB, Disk: bench.GiB}}
	for shape, want := range map[string]string{
		"{memory: 23.5GiB}": "",
		"{memory: 24GiB}":   "x.yaml:3:17: 24.5 GiB of memory, with the 512 MiB of outer guests on docker@qemu-tcg, are more than the 24 GiB this host has",
		"{disk: 99GiB}":     "",
		"{disk: 99.5GiB}":   "x.yaml:3:15: 100.5 GiB of scratch space, with the 1 GiB of outer guests on docker@qemu-tcg, are more than the 100 GiB free",
	} {
		_, err := plan.Make(read(t, "name: x\nplatforms: native, docker@qemu-tcg\nshape: "+shape+"\nscenes: [{name: a, workload: spin}]"), in)
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want) || !errors.Is(err, bench.ErrInvalid)) {
			t.Errorf("%s: %v, want %q", shape, err, want)
		}
	}
	p := planned(t, "name: x\nplatforms: native, docker@qemu-tcg\nscenes: [{name: a, workload: spin, shape: {memory: 14GiB}, beside: {workload: spin}}]", in)
	if w := strings.Join(p.Warnings, "\n"); !strings.Contains(w, "2 instances may use 29 GiB of memory together") {
		t.Errorf("warnings %s", w)
	}
}

func TestErrors(t *testing.T) {
	with := func(rest string) string { return "name: x\nplatforms: native, docker\n" + rest }
	for text, want := range map[string]string{
		with("shape: {cpus: 3}\nscenes: [{name: a, workload: spin}]"):                                                                                                "x.yaml:3:15: 3 CPUs are more than the 2 this host has",
		with("scenes:\n- name: a\n  workload: spin\n  vary: {shape.memory: [1GiB, 64GiB]}"):                                                                          "x.yaml:6:31: 64 GiB of memory are more than the 24 GiB this host has",
		with("scenes: [{name: a, workload: spin, shape: {disk: 1TiB}}]"):                                                                                             "x.yaml:3:50: 1 TiB of scratch space are more than the 100 GiB free",
		with("scenes:\n- name: a\n  workload: spin\n  params: {threads: 2}"):                                                                                         "x.yaml:6:21: threads: 2 threads on 1 CPUs",
		with("scenes:\n- name: a\n  workload: spin\n  beside: {workload: spin, platform: kvm}"):                                                                      "x.yaml:6:38: neighbour needs kvm, which cannot run here: no trial boot",
		with("scenes:\n- name: a\n  workload: talk\n  peer: {platform: docker}"):                                                                                     "x.yaml:6:20: peer: a peer runs natively",
		with("scenes:\n- name: a\n  workload: spin\n  shape: {cpus: 2}\n  params: {threads: 1}\n  beside: {workload: spin, params: {limit: 1, threads: 3}}"):         "x.yaml:8:56: threads: 3 threads on 2 CPUs",
		with("scenes:\n- name: a\n  workload: spin\n  shape: {cpus: 2}\n  params: {threads: 2}\n  beside: {workload: spin, shape: {cpus: 1}, params: {threads: 2}}"): "x.yaml:8:64: threads: 2 threads on 1 CPUs",
		with("scenes:\n- name: a\n  startup: true\n  beside: {workload: spin}"):                                                                                      "x.yaml:6:11: neighbour: a start-up scene runs no workload",
		with("scenes:\n- name: a\n  actors: [{workload: spin, count: 2, load: each}, {name: subject-2, role: idle}]"):                                                "x.yaml:5:59: scene a has two actors \"subject-2\"",
	} {
		_, err := plan.Make(read(t, text), inputs(2))
		var list spec.Errors
		if !errors.As(err, &list) || len(list) != 1 || !strings.HasPrefix(err.Error(), want) || !errors.Is(err, bench.ErrInvalid) {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
	_, err := plan.Make(read(t, "name: x\nplatforms: kvm, native\nbaseline: kvm\nscenes: [{name: a, workload: spin}]"), inputs(2))
	if !errors.Is(err, bench.ErrUnavailable) || errors.Is(err, bench.ErrInvalid) || bench.HintOf(err) != "use qemu-tcg" {
		t.Errorf("baseline that cannot run: %v", err)
	}
	in := inputs(0)
	if _, err := plan.Make(read(t, four), in); !errors.Is(err, bench.ErrInvalid) {
		t.Errorf("no CPU: %v", err)
	}
}

// TestOrder holds what a plan promises about the order of trials.
func TestMigration(t *testing.T) {
	p := planned(t, "name: x\nplatforms: qemu-tcg\nscenes: [{name: a, migrate: live}, {name: b, workload: spin, migrate: live, idle: 2}]", inputs(2))
	for _, s := range p.Scenes {
		if s.Kind != bench.Migration || s.Kind.Sampled() || p.Metrics[s.Case][0].Name != "migration" {
			t.Errorf("scene %s: %s, %v", s.ID, s.Kind, p.Metrics[s.Case])
		}
	}
	for text, want := range map[string]string{
		"name: x\nplatforms: qemu-tcg, lxc\nscenes: [{name: a, migrate: live}]":                                  "lxc cannot be migrated while running",
		"name: x\nplatforms: qemu-tcg\nscenes: [{name: a, migrate: live, workload: spin, alike: 2, load: each}]": "2 subjects: a scene migrates one",
	} {
		if _, err := plan.Make(read(t, text), inputs(2)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Each platform moves in its own way; one that lacks something here is left out with its reason.
func TestMigrationInEitherWay(t *testing.T) {
	in := inputs(2)
	in.Available["docker"] = bench.Availability{Version: "20.10", Migrates: bench.Checkpoint}
	const either = "name: x\nplatforms: qemu-tcg, docker\nbaseline: qemu-tcg\nscenes: [{name: a, migrate: either}]"
	p := planned(t, either, in)
	kinds := map[string]bench.SceneKind{}
	for _, s := range p.Scenes {
		kinds[s.Platform.String()] = s.Kind
	}
	if kinds["qemu-tcg"] != bench.Migration || kinds["docker"] != bench.Checkpointing || bench.Checkpointing.Sampled() {
		t.Errorf("kinds %v", kinds)
	}
	if n := len(p.Metrics["a"]); n != len(bench.MigrationMetrics)+len(bench.CheckpointMetrics) {
		t.Errorf("%d metrics", n)
	}
	const onlyFiles = "name: x\nplatforms: docker\nscenes: [{name: a, migrate: checkpoint}]"
	if p := planned(t, onlyFiles, in); len(p.Warnings) > 0 {
		t.Errorf("warnings %q", p.Warnings)
	}
	short := "name: x\nplatforms: docker\nscenes: [{name: a, workload: spin, migrate: checkpoint, timing: {measure: %s}}]"
	for measure, warned := range map[string]bool{"1s": true, "2s": false} {
		p := planned(t, fmt.Sprintf(short, measure), in)
		if got := strings.Contains(strings.Join(p.Warnings, "\n"), "a: measure 1s: the program may have ended"); got != warned {
			t.Errorf("measure %s: warnings %q", measure, p.Warnings)
		}
	}
	for text, want := range map[string]string{
		"name: x\nplatforms: docker\nscenes: [{name: a, migrate: live}]":                    "docker is migrated by migrate: checkpoint",
		"name: x\nplatforms: qemu-tcg\nscenes: [{name: a, migrate: checkpoint}]":            "qemu-tcg is migrated by migrate: live",
		"name: x\nplatforms: lxc\nscenes: [{name: a, migrate: either}]":                     "lxc cannot be migrated while running",
		"name: x\nplatforms: native, lxc, docker\nscenes: [{name: a, migrate: checkpoint}]": "native, lxc cannot be checkpointed",
	} {
		if _, err := plan.Make(read(t, text), in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	in.Available["docker"] = bench.Availability{Version: "20.10", Migrates: bench.Checkpoint, Unmoved: fmt.Errorf("criu is not installed: %w%w", bench.ErrUnavailable, bench.Hint("install it"))}
	p = planned(t, either, in)
	if len(p.Scenes) != 1 || len(p.Skipped) != 1 || !strings.Contains(p.Skipped[0].Reason, "criu is not installed") || p.Skipped[0].Hint != "install it" {
		t.Errorf("%d scenes, skipped %+v", len(p.Scenes), p.Skipped)
	}
	if _, err := plan.Make(read(t, onlyFiles), in); !errors.Is(err, bench.ErrUnavailable) || !strings.Contains(err.Error(), "criu is not installed") {
		t.Errorf("a baseline that cannot be moved: %v", err)
	}
}

func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		blocks := rapid.IntRange(1, 12).Draw(t, "blocks")
		levels := rapid.IntRange(1, 9).Draw(t, "levels")
		var numbers []string
		for i := range levels {
			numbers = append(numbers, fmt.Sprint(i+1))
		}
		text := fmt.Sprintf("name: x\nseed: %d\nblocks: %d\nscenes: [{name: a, workload: spin, vary: {limit: [%s]}}]", seed, blocks, strings.Join(numbers, ","))
		plans := [2]*bench.Plan{}
		for i := range plans {
			e, err := spec.Parse("x", []byte(text), nil, spectest.Vocabulary())
			if err != nil {
				t.Fatal(err)
			}
			if plans[i], err = plan.Make(e, inputs(2)); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(plans[0], plans[1]); d != "" {
			t.Fatalf("one seed, two plans:\n%s", d)
		}
		p := plans[0]
		n := len(p.Scenes)
		if len(p.Trials) != n*blocks {
			t.Fatalf("%d trials of %d scenes in %d blocks", len(p.Trials), n, blocks)
		}
		ids := map[string]bool{}
		for b := range blocks {
			seen := map[string]bool{}
			for _, trial := range p.Trials[b*n : (b+1)*n] {
				if trial.Block != b+1 {
					t.Fatalf("trial %s is in block %d, not %d", trial.ID, trial.Block, b+1)
				}
				seen[trial.Scene], ids[trial.ID] = true, true
			}
			if len(seen) != n {
				t.Fatalf("block %d has %d of %d scenes", b+1, len(seen), n)
			}
		}
		if len(ids) != len(p.Trials) {
			t.Fatal("two trials with one id")
		}
	})
}

// TestOrderIsDocumented pins the order of a seed, which others can reproduce.
func TestOrderIsDocumented(t *testing.T) {
	text := "name: x\nblocks: 2\nplatforms: native\nscenes: [{name: a, workload: spin, vary: {limit: [1,2,3,4,5,6]}}]"
	order := func(seed uint64) string {
		in := inputs(2)
		in.Seed = seed
		var b strings.Builder
		for _, trial := range planned(t, text, in).Trials {
			b.WriteString(strings.TrimSuffix(strings.TrimPrefix(trial.Scene, "a[limit="), "]/native"))
		}
		return b.String()
	}
	if got, want := order(1), "253416213645"; got != want {
		t.Errorf("seed 1: %s, want %s", got, want)
	}
	different := map[string]bool{}
	for seed := range uint64(50) {
		different[order(seed)] = true
	}
	if len(different) < 48 {
		t.Errorf("50 seeds gave %d orders", len(different))
	}
}

// partners are two cases alike and one that is set against the first.
const partners = `
name: x
platforms: [native, lxc, docker]
baseline: native
scenes:
  - {name: alone, workload: spin}
  - {name: other, workload: spin}
  - name: beside
    relative: {to: alone, row: CPU, column: other}
    actors:
      - {role: subject, workload: spin}
      - {role: neighbour, workload: spin}
`

// TestPartnersAreTogether: the scenes of a family run one after the other, those of
// a platform in it, too, and each second block has them in the opposite order.
func TestPartnersAreTogether(t *testing.T) {
	for seed := range uint64(20) {
		in := inputs(4)
		in.Seed = seed
		p := planned(t, strings.Replace(partners, "name: x", "name: x\nblocks: 4", 1), in)
		before := map[string][]string{}
		for b := range 4 {
			runs := map[string]int{} // stretches of a family, or of a platform in the larger one
			order := map[string][]string{}
			last := ""
			for _, trial := range p.Trials[b*9 : (b+1)*9] {
				s := p.Scene(trial.Scene)
				name := s.Family()
				order[name] = append(order[name], s.ID)
				if name == "alone" {
					name += " on " + s.Platform.String()
				}
				if name != last {
					runs[name]++
				}
				last = name
			}
			if want := map[string]int{"other": 1, "alone on native": 1, "alone on lxc": 1, "alone on docker": 1}; !maps.Equal(runs, want) {
				t.Fatalf("seed %d, block %d: stretches %v", seed, b+1, runs)
			}
			for name, ids := range order {
				if b%2 == 1 {
					slices.Reverse(ids)
					if !slices.Equal(ids, before[name]) {
						t.Fatalf("seed %d, block %d: %s is not the block before reversed: %v, %v", seed, b+1, name, ids, before[name])
					}
				}
				before[name] = ids
			}
		}
	}
}

// TestOrderTakesOutTheHost: where the host changes slowly, the ratios of a case
// scatter less by this order than by one that shuffles all scenes of a block. The
// host is an Ornstein-Uhlenbeck process of 1.5 times a launch's scatter, whose memory
// is as long as a quarter of a block.
func TestOrderTakesOutTheHost(t *testing.T) {
	in := inputs(4)
	text := "name: x\nblocks: 1000\nplatforms: [native, lxc, docker]\nscenes:"
	for i := range 7 {
		text += fmt.Sprintf("\n  - {name: c%d, workload: spin}", i)
	}
	p := planned(t, text, in)
	rng := rand.New(rand.NewPCG(3, 4))
	scatter := func(trials []bench.Trial) float64 {
		keep := math.Exp(-4.0 / float64(len(p.Scenes)))
		host := 0.0
		values := map[string]map[int]float64{}
		for _, trial := range trials {
			host = keep*host + 1.5*math.Sqrt(1-keep*keep)*rng.NormFloat64()
			if values[trial.Scene] == nil {
				values[trial.Scene] = map[int]float64{}
			}
			values[trial.Scene][trial.Block] = host + rng.NormFloat64()
		}
		var squares float64
		for b := 1; b <= p.Blocks; b++ {
			for i := range 7 {
				d := values[fmt.Sprintf("c%d/lxc", i)][b] - values[fmt.Sprintf("c%d/native", i)][b]
				squares += d * d
			}
		}
		return squares / float64(7*p.Blocks)
	}
	shuffled := slices.Clone(p.Trials)
	for b := range p.Blocks {
		block := shuffled[b*len(p.Scenes) : (b+1)*len(p.Scenes)]
		rng.Shuffle(len(block), func(i, j int) { block[i], block[j] = block[j], block[i] })
	}
	now, full := scatter(p.Trials), scatter(shuffled)
	t.Logf("blocks that a full shuffle needs, by those of this order: %.2f", full/now)
	if full/now < 1.3 {
		t.Errorf("a full shuffle needs %.2f times the blocks, want at least 1.3", full/now)
	}
}

// TestPlacement: no two actors share a CPU, nor one with the observer, where
// the host has enough; and a set always has the shape's size.
func TestPlacement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hostCPUs := rapid.IntRange(1, 24).Draw(t, "host")
		size := func(name string) int { return rapid.IntRange(1, min(4, hostCPUs)).Draw(t, name) }
		alike, idle, beside := rapid.IntRange(2, 4).Draw(t, "alike"), rapid.IntRange(1, 4).Draw(t, "idle"), rapid.IntRange(1, 3).Draw(t, "beside")
		subject, neighbour, peer := size("subject"), size("neighbour"), size("peer")
		text := fmt.Sprintf(`
name: x
shape: {memory: 64MiB}
scenes:
  - name: a
    workload: talk
    params: {message: 12}
    alike: %d
    shape: {cpus: %d}
    idle: %d
    beside: {workload: scan, count: %d, shape: {cpus: %d}}
    peer: {shape: {cpus: %d}}
`, alike, subject, idle, beside, neighbour, peer)
		e, err := spec.Parse("x", []byte(text), nil, spectest.Vocabulary())
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Make(e, inputs(hostCPUs))
		if err != nil {
			t.Fatal(err)
		}
		users := map[int]int{0: 1}
		for _, a := range p.Scenes[0].Actors {
			if len(a.CPUSet) != a.Shape.CPUs || !slices.IsSorted(a.CPUSet) || len(slices.Compact(slices.Clone(a.CPUSet))) != a.Shape.CPUs {
				t.Fatalf("%s has %v for %d CPUs", a.Name, a.CPUSet, a.Shape.CPUs)
			}
			for _, c := range a.CPUSet {
				if c < 0 || c >= hostCPUs {
					t.Fatalf("%s on CPU %d of %d", a.Name, c, hostCPUs)
				}
				users[c]++
			}
		}
		crowded := false
		for _, n := range users {
			crowded = crowded || n > 1
		}
		wanted := 1 + alike*subject + idle*subject + beside*neighbour + alike*peer
		if crowded != (wanted > hostCPUs) {
			t.Fatalf("%d CPUs wanted of %d: crowded is %v: %v", wanted, hostCPUs, crowded, p.Scenes[0].Actors)
		}
		if said := strings.Contains(strings.Join(p.Warnings, "\n"), "shared by"); said != crowded {
			t.Fatalf("crowded is %v, warnings %q", crowded, p.Warnings)
		}
	})
}

func TestMemoryWarning(t *testing.T) {
	p := planned(t, "name: x\nshape: {memory: 10GiB}\nscenes: [{name: a, workload: scan, alike: 4, load: each}]", inputs(8))
	if len(p.Warnings) != 1 || p.Warnings[0] != "a: 4 instances may use 40 GiB of memory together, more than the 24 GiB of this host" {
		t.Errorf("%q", p.Warnings)
	}
}

func TestOptionalScene(t *testing.T) {
	const text = "name: x\nscenes: [{name: a, workload: scan}, {name: b, optional: true, workload: spin, vary: {threads: [1, 2]}}]"
	p := planned(t, text, inputs(8))
	if p.Scene("b[threads=1]/native") == nil || p.Scene("b[threads=2]/native") != nil {
		t.Errorf("%+v", p.Scenes)
	}
	if len(p.Warnings) != 1 || p.Warnings[0] != "b[threads=2]: left out: threads: 2 threads on 1 CPUs" {
		t.Errorf("%q", p.Warnings)
	}
	_, err := plan.Make(read(t, "name: x\nscenes: [{name: a, optional: true, workload: spin, shape: {memory: 1TiB}}]"), inputs(8))
	if !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), "x.yaml:2:9: this host can run none of the scenes: a: left out: 1 TiB of memory") {
		t.Errorf("nothing left: %v", err)
	}
}

func TestEstimate(t *testing.T) {
	p := planned(t, "name: x\nplatforms: native, docker\nmax_time: 10s\ntiming: {warmup: 1s, measure: 3s, cooldown: 500ms}\nscenes: [{name: a, workload: scan}]", inputs(8))
	if got := p.Scene("a/native").Estimate; got < 5 || got > 5.2 {
		t.Errorf("a native trial: %.2f s", got)
	}
	if p.Estimate < 3*(5.1+5.6)+4-0.1 || p.Estimate > 3*(5.1+5.6)+4+0.1 {
		t.Errorf("plan: %.2f s", p.Estimate)
	}
	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "more than max_time allows (10s)") {
		t.Errorf("%q", p.Warnings)
	}
}

const until = `
name: until
title: As long as it takes
platforms: [native, lxc]
seed: 7
until: {interval: 2%, min: 3, max: 6}
scenes:
  - {name: cpu, workload: spin}
  - {name: up, startup: true}
`

// TestRender compares with testdata/NAME.txt; UPDATE=1 writes them.
func TestRender(t *testing.T) {
	for name, text := range map[string]string{"four": four, "until": until} {
		var b bytes.Buffer
		if err := plan.Render(&b, planned(t, text, inputs(4))); err != nil {
			t.Fatal(err)
		}
		golden := "testdata/" + name + ".txt"
		if os.Getenv("UPDATE") == "1" {
			if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), b.String()); d != "" {
			t.Error(d)
		}
	}
	var b bytes.Buffer
	broken := &bench.Plan{Trials: []bench.Trial{{ID: "b01-t01", Scene: "none"}}}
	if err := plan.Render(&b, broken); !errors.Is(err, bench.ErrInvalid) {
		t.Errorf("a trial without a scene: %v", err)
	}
}

func TestCPUList(t *testing.T) {
	for want, cpus := range map[string][]int{"": nil, "3": {3}, "0-2,5": {0, 1, 2, 5}, "1,3": {1, 3}} {
		if got := plan.CPUList(cpus); got != want {
			t.Errorf("%v: %q", cpus, got)
		}
	}
}

// What is written for one CPU is given for each of the host's; a host of one has it as it is written.
func TestWhole(t *testing.T) {
	const text = "name: x\nplatforms: native, docker\nscenes: [{name: a, workload: spin, whole: true, vary: {shape.cpu_quota: [0.25, 0.99]}}]"
	p := planned(t, text, inputs(4))
	for _, s := range p.Scenes {
		want := map[string]float64{"a[shape.cpu_quota=0.25]": 1, "a[shape.cpu_quota=0.99]": 3.96}[s.Case]
		if a := s.Actors[0]; a.Shape.CPUs != 4 || a.Shape.CPUQuota != want || a.Params["threads"] != "4" || len(a.CPUSet) != 4 {
			t.Errorf("%s: %+v on %v, %v", s.ID, a.Shape, a.CPUSet, a.Params)
		}
	}
	shared := planned(t, strings.Replace(text, "whole: true,", "whole: true, beside: {workload: spin, placement: shared},", 1), inputs(4))
	if n := shared.Scenes[0].Actors[1]; n.Role != bench.Neighbour || n.Shape.CPUs != 4 || n.Params["threads"] != "4" || len(n.CPUSet) != 4 {
		t.Errorf("a neighbour that shares them: %+v on %v, %v", n.Shape, n.CPUSet, n.Params)
	}
	apart := planned(t, strings.Replace(text, "whole: true,", "whole: true, beside: {workload: spin, placement: apart},", 1), inputs(4))
	if n := apart.Scenes[0].Actors[1]; n.Shape.CPUs != 1 || n.Params["threads"] != "1" {
		t.Errorf("a neighbour apart: %+v, %v", n.Shape, n.Params)
	}
	alike := planned(t, strings.Replace(text, "whole: true,", "whole: true, alike: 2, load: each, placement: shared,", 1), inputs(4))
	if n := alike.Scenes[0].Actors[1]; n.Role != bench.Subject || n.Shape.CPUs != 4 || n.Params["threads"] != "4" || len(n.CPUSet) != 4 {
		t.Errorf("one of two alike that share them: %+v on %v, %v", n.Shape, n.CPUSet, n.Params)
	}
	if all := strings.Join(p.Warnings, "\n"); !strings.Contains(all, "subject has 4 CPUs, all there are, for 3.96 of their time, and 4 threads") {
		t.Errorf("%q", p.Warnings)
	}
	two := inputs(6)
	two.Host.Nodes = [][]int{{0, 1, 2}, {3, 4, 5}}
	node := planned(t, strings.Replace(text, "whole: true", "whole: node", 1), two)
	if a := node.Scenes[0].Actors[0]; a.Shape.CPUs != 3 || a.Params["threads"] != "3" || !slices.Equal(a.CPUSet, []int{3, 4, 5}) {
		t.Errorf("a node: %+v on %v, %v", a.Shape, a.CPUSet, a.Params)
	}
	if all := strings.Join(node.Warnings, "\n"); !strings.Contains(all, "subject has 3 CPUs, all of a NUMA node") {
		t.Errorf("%q", node.Warnings)
	}
	if a := planned(t, strings.Replace(text, "whole: true", "whole: node", 1), inputs(4)).Scenes[0].Actors[0]; a.Shape.CPUs != 4 {
		t.Errorf("a node of a host that has one: %+v", a.Shape)
	}
	if a := planned(t, text, inputs(1)).Scenes[0].Actors[0]; a.Shape.CPUs != 1 || a.Shape.CPUQuota != 0.25 || a.Params["threads"] != "1" {
		t.Errorf("on one CPU: %+v, %v", a.Shape, a.Params)
	}
}

// Instances that grow are alike on all platforms; where they fit, or no more is asked for, nothing is said.
func TestGrow(t *testing.T) {
	const text = "name: x\nplatforms: native, docker\nscenes: [{name: a, workload: fill, grow: true, shape: {memory: %s}, params: {array: %s}, alike: 2, load: each%s}]"
	in := inputs(4)
	in.Host.Free = 16 * bench.GiB
	p := planned(t, fmt.Sprintf(text, "512MiB", "1100MiB", ""), in)
	for _, platform := range []string{"native", "docker"} {
		for _, a := range p.Scene("a/" + platform).Actors {
			if a.Shape.Memory != 1280*bench.MiB {
				t.Errorf("%s on %s has %s", a.Name, platform, a.Shape.Memory)
			}
		}
	}
	if want := []string{"a: subject has 1.25 GiB of memory on every platform, not 512 MiB: fill needs 1.07 GiB here"}; !slices.Equal(p.Warnings, want) {
		t.Errorf("%q", p.Warnings)
	}
	p = planned(t, fmt.Sprintf(text, "1100MiB", "1100MiB", ""), in)
	if got := p.Scene("a/docker").Actors[0].Shape.Memory; got != 1100*bench.MiB || len(p.Warnings) > 0 {
		t.Errorf("%s, %q", got, p.Warnings)
	}
	tooLarge := fmt.Sprintf(text, "512MiB", "8GiB", "")
	_, err := plan.Make(read(t, tooLarge), in)
	if !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), "x.yaml:3:42: it would take 16 GiB of memory, and this host has room for 14 GiB") {
		t.Errorf("%v", err)
	}
	p, err = plan.Make(read(t, strings.Replace(tooLarge, "scenes: [", "scenes: [{name: b, workload: spin}, ", 1)), in)
	if err == nil {
		t.Errorf("planned: %+v", p.Scenes)
	}
	p = planned(t, strings.Replace(fmt.Sprintf(text, "512MiB", "8GiB", ", optional: true"), "scenes: [", "scenes: [{name: b, workload: spin}, ", 1), in)
	if want := []string{"a: left out: it would take 16 GiB of memory, and this host has room for 14 GiB"}; !slices.Equal(p.Warnings, want) {
		t.Errorf("%q", p.Warnings)
	}
	in.Host.Free = 0 // not known: seven eighths of what there is
	planned(t, tooLarge, in)
}
