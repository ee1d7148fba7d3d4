package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/analysis"
	"tare/internal/bench"
	"tare/internal/result"
	"tare/internal/result/store"
	"tare/internal/result/store/storetest"
)

// slower are the default ratios with docker 10 % slower.
func slower(factor float64, platforms ...string) map[string]float64 {
	r := maps.Clone(storetest.DefaultRatio)
	for _, p := range platforms {
		r[p] *= factor
	}
	return r
}

var platforms = []bench.PlatformRef{{Name: "native"}, {Name: "docker"}, {Name: "lxc"}}

// made are the folders of synthetic runs by their options: a run is synced to
// disk trial by trial, which takes time, and the same options give the same bytes.
var made = map[string]string{}

func TestMain(m *testing.M) {
	status := m.Run()
	for _, dir := range made {
		os.RemoveAll(dir)
	}
	os.Exit(status)
}

// synthetic is a run in which nothing was measured. The files of its copy can
// be edited before it is read.
func synthetic(t *testing.T, o storetest.Options, edit func(dir string)) Run {
	t.Helper()
	o.Cases = []string{"cpu", "disk"}
	if o.Platforms == nil {
		o.Platforms = platforms
	}
	if o.Blocks == 0 {
		o.Blocks = 8
	}
	o.Seconds = 1
	key := fmt.Sprint(o)
	dir := made[key]
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "compare"); err != nil {
			t.Fatal(err)
		}
		made[key] = dir
		storetest.Synthetic(t, dir, o).Close()
	}
	if edit != nil {
		copied := t.TempDir()
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		dir = copied
		edit(dir)
	}
	r, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	result, err := analysis.Analyze(r)
	if err != nil {
		t.Fatal(err)
	}
	return Run{r, result}
}

func runs(t *testing.T, a, b Run, o Options) *Comparison {
	t.Helper()
	c, err := Runs([]Run{a}, []Run{b}, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func rowOf(t *testing.T, c *Comparison, scene, platform, metric string) *Row {
	t.Helper()
	for i := range c.Rows {
		if r := &c.Rows[i]; r.Case == scene && r.Platform == platform && r.Metric.Name == metric {
			return r
		}
	}
	t.Fatalf("no row %s/%s %s", scene, platform, metric)
	return nil
}

func TestAKnownSlowdownIsFoundWithItsDirection(t *testing.T) {
	a := synthetic(t, storetest.Options{Seed: 1}, nil)
	b := synthetic(t, storetest.Options{Seed: 2, Ratio: slower(0.9, "docker")}, nil)
	for _, relative := range []bool{false, true} {
		c := runs(t, a, b, Options{Relative: relative})
		r := rowOf(t, c, "cpu", "docker", "throughput")
		if ch := r.Change; ch.Verdict != result.Differs || math.Abs(ch.Ratio-0.9) > 0.02 || math.Abs(ch.Cost-0.1) > 0.02 ||
			ch.P == nil || *ch.P > 0.01 || ch.Holm == nil || *ch.Holm < *ch.P || !strings.Contains(ch.Words, "% slower (") {
			t.Errorf("relative %v: %+v", relative, ch)
		}
		// A latency that rises is worse too.
		if ch := rowOf(t, c, "cpu", "docker", "p95_latency").Change; ch.Verdict != result.Differs || ch.Ratio < 1.08 || ch.Cost < 0.08 ||
			!strings.Contains(ch.Words, "higher") {
			t.Errorf("relative %v: %+v", relative, ch)
		}
		if ch := rowOf(t, c, "cpu", "lxc", "throughput").Change; ch.Verdict != result.Equivalent {
			t.Errorf("relative %v: lxc did not change: %+v", relative, ch)
		}
		if len(c.Rows) != map[bool]int{false: 12, true: 8}[relative] {
			t.Errorf("relative %v: %d rows", relative, len(c.Rows))
		}
	}
}

// What slows the whole host shows in the values and not in the ratios to the baseline.
func TestRelativeToTheBaselineTakesOutTheHost(t *testing.T) {
	a := synthetic(t, storetest.Options{Seed: 1}, nil)
	b := synthetic(t, storetest.Options{Seed: 2, Ratio: slower(0.9, "native", "docker", "lxc")}, nil)
	raw, relative := runs(t, a, b, Options{}), runs(t, a, b, Options{Relative: true})
	if v := rowOf(t, raw, "cpu", "docker", "throughput").Change.Verdict; v != result.Differs {
		t.Errorf("raw: %s", v)
	}
	if text := strings.Join(raw.Warnings, "\n"); !strings.Contains(text, "the baseline itself changed: prime search, 1 thread on native") {
		t.Errorf("no warning of the baseline: %s", text)
	}
	if ch := rowOf(t, relative, "cpu", "docker", "throughput").Change; ch.Verdict == result.Differs || math.Abs(ch.Ratio-1) > 0.02 {
		t.Errorf("relative: %+v", ch)
	}
}

func TestIdenticalRuns(t *testing.T) {
	a := synthetic(t, storetest.Options{Seed: 1}, nil)
	c := runs(t, a, a, Options{})
	for _, r := range c.Rows {
		if r.Change.Ratio != 1 || *r.Change.P != 1 || r.Change.Verdict == result.Differs {
			t.Errorf("%s/%s %s: %+v", r.Case, r.Platform, r.Metric.Name, r.Change)
		}
	}
	if text := strings.Join(c.Warnings, "\n"); !strings.Contains(text, "the same run") {
		t.Errorf("warnings: %s", text)
	}
}

// Of runs of one truth, few rows are called different.
func TestRunsAlikeAreSeldomCalledDifferent(t *testing.T) {
	different, rows := 0, 0
	for seed := uint64(10); seed < 16; seed += 2 {
		c := runs(t, synthetic(t, storetest.Options{Seed: seed, Noise: 0.03}, nil), synthetic(t, storetest.Options{Seed: seed + 1, Noise: 0.03}, nil), Options{})
		for _, r := range c.Rows {
			rows++
			if r.Change.Verdict == result.Differs {
				different++
			}
		}
	}
	if rows != 36 || different > 7 {
		t.Errorf("%d of %d rows called different", different, rows)
	}
}

// replace edits a file of a run.
func replace(t *testing.T, file, from, to string) func(string) {
	return func(dir string) {
		t.Helper()
		path := filepath.Join(dir, file)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), from) {
			t.Fatalf("%s holds no %q", file, from)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), from, to)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUnfairRunsHaveNoRatio(t *testing.T) {
	a := synthetic(t, storetest.Options{Seed: 1}, nil)
	for _, c := range []struct {
		name, file, from, to string
		says                 string
		fair                 bool
		only                 string // the case that it concerns; the other stays fair
	}{
		{name: "image", file: "run.json", from: "sha256:5f2b", to: "sha256:0000", says: "image digest: sha256:5f2b"},
		{name: "processor", file: "host.json", from: "Synthetic CPU", to: "Other CPU", says: "processor: Synthetic CPU in A, Other CPU in B"},
		{name: "cores", file: "host.json", from: `"cores": 0`, to: `"cores": 7`, says: "cores: 0 in A, 7 in B"},
		{name: "mitigations", file: "host.json", from: "Mitigation: Retpolines", to: "Vulnerable", says: "mitigations"},
		{name: "memory limit", file: "plan.json", from: `"memory": 536870912`, to: `"memory": 268435456`, says: "memory 512 MiB"},
		{name: "parameters", file: "plan.json", from: `"max_prime": "20000"`, to: `"max_prime": "10000"`, says: "workload of subject", only: "cpu"},
		{name: "window", file: "plan.json", from: `"measure": 1000000000`, to: `"measure": 2000000000`, says: "timing"},
		{name: "page cache", file: "plan.json", from: `"kind": "one"`, to: `"cache": "cold", "kind": "one"`, says: "page cache: as it was in A, cold in B"},
		{name: "label", file: "trials.jsonl", from: `"version":"20.10.24"`, to: `"version":"20.10.24","label":"emulated (tcg)"`, says: "label"},
		{name: "disk", file: "host.json", from: "ext4 on /dev/vda", to: "tmpfs", says: "disk", only: "disk"},
		{name: "mixed", file: "trials.jsonl", from: `"window":`, to: `"mixed":["kernel: 1 when the run began, 2 now"],"window":`, says: "mixed trials: none in A, "},
		{name: "kernel", file: "host.json", from: `"kernel": "6.12.1"`, to: `"kernel": "6.13.0"`, fair: true},
		{name: "version", file: "trials.jsonl", from: `"version":"20.10.24"`, to: `"version":"28.0.0"`, fair: true},
		{name: "program of the same version", file: "run.json", from: "sha256:9d2a6c51", to: "sha256:00000000", fair: true},
		{name: "copy of the image", file: "run.json", from: `"image_made": "2025-11-20`, to: `"image_made": "2025-11-21`, says: "copy of the image", fair: true},
		{name: "tare", file: "run.json", from: `"tare": "0.1.0"`, to: `"tare": "0.2.0"`, fair: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := synthetic(t, storetest.Options{Seed: 2}, replace(t, c.file, c.from, c.to))
			got := runs(t, a, b, Options{})
			for _, scene := range []string{"cpu", "disk"} {
				r := rowOf(t, got, scene, "docker", map[string]string{"cpu": "throughput", "disk": "iops"}[scene])
				if c.fair || c.only != "" && c.only != scene {
					if r.Change.Verdict == result.Unfair {
						t.Errorf("%s: unfair: %s", scene, r.Change.Unfair)
					}
					continue
				}
				if ch := r.Change; ch.Verdict != result.Unfair || ch.Ratio != 0 || !strings.Contains(ch.Unfair, c.says) || !strings.Contains(ch.Words, "must not be compared") {
					t.Errorf("%s: %+v", scene, ch)
				}
			}
			if c.fair {
				if said := differing(got); said == "" || !strings.Contains(said, c.says) {
					t.Errorf("the difference is not said: %q", said)
				}
				return
			}
			scene := c.only
			if scene == "" {
				scene = "cpu"
			}
			allowed := runs(t, a, b, Options{AllowUnfair: true})
			r := rowOf(t, allowed, scene, "docker", map[string]string{"cpu": "throughput", "disk": "iops"}[scene])
			if ch := r.Change; ch.Ratio == 0 || !strings.Contains(ch.Words, "[unfair: ") {
				t.Errorf("allowed: %+v", ch)
			}
		})
	}
}

// differing are the names of all checks that are not the same.
func differing(c *Comparison) string {
	var out []string
	all := c.Checks
	for _, r := range c.Rows {
		all = append(all[:len(all):len(all)], r.Checks...)
	}
	for _, check := range all {
		if check.State == "differs" {
			out = append(out, check.Name)
		}
	}
	return strings.Join(out, ", ")
}

func TestWhatOnlyOneRunHas(t *testing.T) {
	a := synthetic(t, storetest.Options{Seed: 1}, nil)
	b := synthetic(t, storetest.Options{Seed: 2, Platforms: []bench.PlatformRef{{Name: "native"}, {Name: "docker"}, {Name: "kvm"}}}, nil)
	c := runs(t, a, b, Options{})
	if !slices.Equal(c.OnlyA, []string{"lxc, everywhere"}) || !slices.Equal(c.OnlyB, []string{"kvm, everywhere"}) {
		t.Errorf("only A %q, only B %q", c.OnlyA, c.OnlyB)
	}
	other := synthetic(t, storetest.Options{Seed: 3, Platforms: []bench.PlatformRef{{Name: "lxc"}, {Name: "kvm"}}}, nil)
	if _, err := Runs([]Run{b}, []Run{synthetic(t, storetest.Options{Seed: 4, Platforms: []bench.PlatformRef{{Name: "lxc"}}}, nil)}, Options{}); !errors.Is(err, bench.ErrInvalid) {
		t.Errorf("nothing in common: %v", err)
	}
	if _, err := Runs([]Run{a}, []Run{other}, Options{Relative: true}); !errors.Is(err, bench.ErrInvalid) {
		t.Errorf("other baselines: %v", err)
	}
}

func TestTooFewLaunchesAreRefused(t *testing.T) {
	a := synthetic(t, storetest.Options{Seed: 1, Blocks: 2}, nil)
	ch := rowOf(t, runs(t, a, synthetic(t, storetest.Options{Seed: 2}, nil), Options{}), "cpu", "docker", "throughput").Change
	if ch.Verdict != result.Refused || ch.Ratio != 0 || !strings.Contains(ch.Words, "2 launches finished in A and 8 in B") {
		t.Errorf("%+v", ch)
	}
}

func TestFormatNamesEveryField(t *testing.T) {
	const page = "docs/format/compare.md"
	doc, err := os.ReadFile("../../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	a := synthetic(t, storetest.Options{Seed: 1, FailEvery: 5, Missing: 1}, nil)
	b := synthetic(t, storetest.Options{Seed: 2, Platforms: platforms[:2]}, replace(t, "run.json", `"tare": "0.1.0"`, `"tare": "0.2.0"`))
	g, err := Judge(runs(t, a, b, Options{}), 0.05, Asked{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			for name, x := range v {
				if !strings.Contains(string(doc), "`"+name+"`") {
					t.Errorf("%s does not name %q", page, name)
				}
				if name != "metric" { // described with the plan
					walk(x)
				}
			}
		}
	}
	walk(v)
}
