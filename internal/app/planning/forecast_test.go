package planning

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/analysis/forecast"
	"tare/internal/bench"
	"tare/internal/result/store"
	"tare/internal/result/store/storetest"
)

// archived is a run of which the files may be changed, and what it would be planned as here.
func archived(t *testing.T, seed uint64, changes ...string) *store.Run {
	t.Helper()
	dir := t.TempDir()
	o := storetest.Options{Platforms: []bench.PlatformRef{{Name: "native"}, {Name: "docker"}}, Cases: []string{"cpu", "startup"}, Blocks: 6, Seconds: 2, Seed: seed}
	storetest.Synthetic(t, dir, o).Close()
	for i := 0; i < len(changes); i += 3 {
		path := filepath.Join(dir, changes[i])
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), changes[i+1]) {
			t.Fatalf("%s holds no %q: %v", changes[i], changes[i+1], err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), changes[i+1], changes[i+2])), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestForecastReadsEarlierRuns(t *testing.T) {
	a, b := archived(t, 1), archived(t, 2)
	p := &Planned{Plan: a.Plan(), Facts: a.Host()}
	f, err := p.Forecast([]*store.Run{a, b, a}) // the same run counts once
	if err != nil || len(f.Archive) != 2 || len(f.Warnings) != 0 {
		t.Fatalf("%+v, %v", f, err)
	}
	for _, c := range f.Cases {
		if len(c.Rows) != 1 || c.Rows[0].Launches != 12 || c.Rows[0].Runs != 2 || c.Rows[0].Ends == nil || !(c.Rows[0].Fixed > 0) {
			t.Errorf("%+v", c)
		}
	}
	if f.Unknown != 0 {
		t.Errorf("%g of the time is guessed", f.Unknown)
	}
}

// Launches that other work disturbed are repeated: one of each trial counts, all take time.
func TestForecastCountsRepeats(t *testing.T) {
	a := archived(t, 1, "plan.json", `"blocks": 6`, `"disturbed": {"above_cpus": 0.3, "repeats": 1}, "blocks": 6`)
	text, err := os.ReadFile(filepath.Join(a.Dir(), "trials.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	twice := ""
	for line := range strings.Lines(string(text)) {
		twice += strings.Replace(line, `"trial":`, `"disturbed":"other work","trial":`, 1) + strings.Replace(line, `"trial":`, `"repeat":1,"trial":`, 1)
	}
	if err := os.WriteFile(filepath.Join(a.Dir(), "trials.jsonl"), []byte(twice), 0o644); err != nil {
		t.Fatal(err)
	}
	p := &Planned{Plan: a.Plan(), Facts: a.Host()}
	f, err := p.Forecast([]*store.Run{a})
	once, err2 := p.Forecast([]*store.Run{archived(t, 1)})
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	x, y := f.Cases[0], once.Cases[0]
	if x.Rows[0].Launches != 6 || x.Rows[0].Fixed != y.Rows[0].Fixed || !(f.AtMost > 1.9*once.AtMost) {
		t.Errorf("%+v of %g s, once %+v of %g s", x.Rows[0], f.AtMost, y.Rows[0], once.AtMost)
	}
}

func TestForecastSaysWhatDoesNotMatch(t *testing.T) {
	here := archived(t, 1)
	for _, c := range []struct{ file, from, to, says string }{
		{"host.json", `"Synthetic CPU"`, `"Another CPU"`, "run synthetic-2 is left out: processor: Synthetic CPU here, Another CPU there"},
		{"host.json", `"hostname": "synthetic"`, `"hostname": "other"`, "is left out: host name: synthetic here, other there"},
		{"plan.json", `"memory": 536870912`, `"memory": 1073741824`, "run synthetic-2: 4 scenes left out, such as cpu/native: shape of subject: 1 CPUs"},
		{"plan.json", `"max_prime": "20000"`, `"max_prime": "30000"`, "2 scenes left out, such as cpu/native: workload of subject:"},
		{"plan.json", `"unit": "events/s"`, `"unit": "primes/s"`, "2 scenes left out, such as cpu/native: metric: throughput in events/s"},
	} {
		other := archived(t, 2, c.file, c.from, c.to)
		p := &Planned{Plan: here.Plan(), Facts: here.Host()}
		f, err := p.Forecast([]*store.Run{other})
		if err != nil || len(f.Warnings) != 1 || !strings.Contains(f.Warnings[0], c.says) || f.Cases[0].Rows[0].Ends != nil {
			t.Errorf("%s: %q, %v, %+v", c.to, f.Warnings, err, f.Cases[0].Rows)
		}
	}
	p := &Planned{Plan: here.Plan(), Facts: here.Host()}
	for i := range p.Scenes {
		p.Scenes[i].ID = "elsewhere/" + p.Scenes[i].ID
	}
	if f, err := p.Forecast([]*store.Run{archived(t, 2)}); err != nil || len(f.Warnings) != 1 || f.Warnings[0] != "run synthetic-2 has none of these scenes: it is of synthetic" {
		t.Errorf("%q, %v", f.Warnings, err)
	}
}

// How a metric went within each launch is read with it.
func TestForecastReadsSeries(t *testing.T) {
	a := archived(t, 1, "trials.jsonl", `"role":"subject",`,
		`"role":"subject","series":[{"metric":"throughput","step_s":0.2,"values":[99,101,100,102,98,100,97,103,101,99]}],`)
	p := &Planned{Plan: a.Plan(), Facts: a.Host()}
	f, err := p.Forecast([]*store.Run{a})
	if err != nil || f.Cases[0].Rows[0].By != forecast.BySeries || f.Cases[1].Rows[0].By != "" {
		t.Errorf("%+v, %v", f, err)
	}
}

// Another length of the window is no other scene: it tells what a longer one takes away.
func TestForecastByAnotherWindow(t *testing.T) {
	a := archived(t, 1)
	p := &Planned{Plan: a.Plan(), Facts: a.Host()}
	for i := range p.Scenes {
		p.Scenes[i].Timing.Measure = 10 * time.Second
	}
	f, err := p.Forecast([]*store.Run{archived(t, 2)})
	if err != nil || len(f.Warnings) != 0 || f.Cases[0].Rows[0].Why != "earlier launches were measured for 2 s, not for 10 s as planned" {
		t.Errorf("%+v, %v", f, err)
	}
	if up := f.Cases[1].Rows[0]; up.Ends == nil {
		t.Errorf("start-up has no window: %+v", up)
	}
}
