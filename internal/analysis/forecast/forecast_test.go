package forecast

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
)

// planned is a plan of a case on native and two platforms, and a start-up case.
func planned(until *bench.Until) *bench.Plan {
	p := &bench.Plan{Experiment: "mine", Title: "Mine", Blocks: 6, Baseline: "native", Margin: 0.03, Until: until,
		Metrics: map[string][]bench.Metric{"cpu": {{Name: "rate", Headline: true}, {Name: "latency"}}, "up": {{Name: "ready", Headline: true}}}}
	for _, name := range []string{"native", "docker", "kvm"} {
		ref := bench.PlatformRef{Name: name}
		p.Scenes = append(p.Scenes,
			bench.Scene{ID: "cpu/" + name, Case: "cpu", Title: "primes", Kind: bench.One, Platform: ref, Timing: bench.Timing{Measure: 5 * time.Second}, Estimate: 8},
			bench.Scene{ID: "up/" + name, Case: "up", Title: "start-up", Kind: bench.Startup, Platform: ref, Estimate: 3})
	}
	return p
}

// earlier is a run of so many blocks with windows of so many seconds. A trial takes 2 s besides;
// log ratios scatter by sd.
func earlier(id string, seed uint64, blocks int, window, sd float64) Run {
	rng := rand.New(rand.NewPCG(seed, 1))
	r := Run{ID: id, Scenes: map[string]*Scene{}}
	for _, name := range []string{"native", "docker", "kvm"} {
		s := &Scene{Window: window, Trials: blocks}
		for b := range blocks {
			v := 100.0
			if name != "native" {
				v *= 0.9 * math.Exp(sd*rng.NormFloat64())
			}
			s.Launches = append(s.Launches, Launch{Block: b + 1, Values: map[string]float64{"rate": v}, Took: window + 2, Window: window})
			s.Spent += window + 2
		}
		r.Scenes["cpu/"+name] = s
	}
	return r
}

func TestForecastOfEarlierRuns(t *testing.T) {
	u := &bench.Until{Interval: 0.015, Min: 5, Max: 40, Looks: []int{5, 10, 40}, Budget: time.Minute}
	f := Of(planned(u), []Run{earlier("a", 1, 6, 5, 0.02), earlier("b", 2, 6, 5, 0.02), {ID: "none of it"}})
	if f.Confidence != 0.98 || f.Width != 0.015 || f.Least != 5 || f.Most != 40 || fmt.Sprint(f.Archive) != "[a b]" || f.Budget != 60 {
		t.Errorf("%+v", f)
	}
	cpu, up := f.Cases[0], f.Cases[1]
	if len(cpu.Rows) != 2 || cpu.Rows[0].Platform != "docker" || cpu.Rows[0].Metric != "rate" || cpu.Rows[0].Launches != 12 || cpu.Rows[0].Runs != 2 {
		t.Fatalf("%+v", cpu.Rows)
	}
	for _, r := range cpu.Rows {
		if math.Abs(r.SD/0.02-1) > 0.5 || math.Abs(r.Ratio/0.9-1) > 0.03 || math.Abs(r.Fixed-2) > 1e-9 {
			t.Errorf("%+v", r)
		}
		// A tenth off is decided long before the interval is narrow.
		if !(r.Ends.Blocks < r.Narrow.Blocks) || !(r.Narrow.Low <= r.Narrow.Blocks && r.Narrow.Blocks <= r.Narrow.High) || r.Chance < 0.99 || r.Reach > 0.02 {
			t.Errorf("%+v: narrow %+v, ends %+v", r, r.Narrow, r.Ends)
		}
	}
	most := max(5, cpu.Rows[0].Ends.Blocks, cpu.Rows[1].Ends.Blocks)
	want := 7 * float64(max(5, cpu.Rows[0].Ends.Blocks)+max(5, cpu.Rows[1].Ends.Blocks)+most)
	if cpu.Blocks != most || math.Abs(cpu.Seconds-want) > 1e-6 {
		t.Errorf("%d blocks, %g s; want %d, %g s", cpu.Blocks, cpu.Seconds, most, want)
	}
	// Of the other case nothing is known: the most blocks, as the plan guesses.
	if up.Window != 0 || up.Seconds != 40*9 || up.Rows[0].Why != "no earlier launch of it beside what it is compared with" || up.Why != "" {
		t.Errorf("%+v", up)
	}
	if s := cpu.Seconds + up.Seconds; math.Abs(f.Seconds-s) > 1e-6 || math.Abs(f.Unknown-360/s) > 1e-9 || f.AtMost != 40*(21+9) {
		t.Errorf("%g s, of which %g guessed, at most %g s", f.Seconds, f.Unknown, f.AtMost)
	}
	if !strings.Contains(f.Words, "2 of 4 rows come there within 40 blocks") || !strings.Contains(f.Words, "more than the budget of 1 min") {
		t.Error(f.Words)
	}
}

// Without a rule, it is the blocks and the margin of the plan.
func TestForecastOfAFixedNumberOfBlocks(t *testing.T) {
	f := Of(planned(nil), []Run{earlier("a", 1, 8, 5, 0.01)})
	if f.Confidence != 0.95 || f.Width != 0.03 || f.Least != 6 || f.Most != 6 {
		t.Errorf("%+v", f)
	}
	if f := Of(planned(nil), nil); len(f.Archive) != 0 || f.Unknown != 1 || f.Words != "The archive has too little of these scenes to tell." {
		t.Errorf("%+v", f)
	}
}

// Repeated and failed launches are in the time of a trial, and not in the cost of a launch.
func TestRepeatsCost(t *testing.T) {
	r := earlier("a", 1, 6, 5, 0.01)
	docker := r.Scenes["cpu/docker"]
	docker.Spent += 6 * 7 // each was launched twice
	f := Of(planned(nil), []Run{r})
	if c := f.Cases[0]; c.trial["docker"] != 14 || c.trial["kvm"] != 7 || math.Abs(c.Rows[0].Fixed-2) > 1e-9 {
		t.Errorf("%v, %+v", c.trial, c.Rows[0])
	}
}

func TestOtherWindowsOfEarlierRuns(t *testing.T) {
	// Runs of one other length say nothing of the planned one but what a launch costs.
	f := Of(planned(nil), []Run{earlier("a", 1, 8, 1, 0.02)})
	if c := f.Cases[0]; c.Rows[0].Ends != nil || c.Rows[0].Why != "earlier launches were measured for 1 s, not for 5 s as planned" || c.trial["docker"] != 7 {
		t.Errorf("%+v, %v", c.Rows[0], c.trial)
	}
	// Runs of two tell the planned one, too, and which is the best.
	f = Of(planned(&bench.Until{Interval: 0.01, Min: 3, Max: 60, Looks: []int{3, 60}}), []Run{earlier("a", 1, 40, 1, 0.04), earlier("b", 2, 40, 16, 0.011)})
	c := f.Cases[0]
	for _, r := range c.Rows {
		if r.Ends == nil || r.Launches != 80 || math.Abs(r.SD/0.019-1) > 0.25 || r.Between == nil || math.Abs(math.Hypot(*r.Between, *r.Within)-r.SD) > 1e-9 {
			t.Errorf("%+v", r)
		}
	}
	if c.Better == nil && c.Why != "no other window is known to take less time by a tenth" {
		t.Errorf("%+v, %q", c.Better, c.Why)
	}
}

// Series within launches tell what another window takes away, with runs of one length.
func TestSeriesOfEarlierRuns(t *testing.T) {
	const between, within = 0.1, 0.05 // of each launch; within is of a second
	r := earlier("a", 1, 200, 1, 0)
	rng := rand.New(rand.NewPCG(5, 6))
	for _, id := range []string{"cpu/native", "cpu/docker", "cpu/kvm"} {
		for i := range r.Scenes[id].Launches {
			l := &r.Scenes[id].Launches[i]
			level, sum := 100*math.Exp(between*rng.NormFloat64()), 0.0
			s := bench.Series{Metric: "rate", Step: 0.1}
			for range 10 {
				s.Values = append(s.Values, level*(1+within*math.Sqrt(10)*rng.NormFloat64()))
				sum += s.Values[len(s.Values)-1]
			}
			l.Values["rate"], l.Series = sum/10, map[string]bench.Series{"rate": s}
		}
	}
	c := Of(planned(&bench.Until{Interval: 0.05, Min: 5, Max: 60, Looks: []int{5, 60}}), []Run{r}).Cases[0]
	for _, row := range c.Rows {
		// Planned are 5 s, of which no run was.
		want := math.Sqrt(2*between*between + 2*within*within/5)
		if row.By != BySeries || row.Ends == nil || math.Abs(row.SD/want-1) > 0.15 || math.Abs(*row.Within/math.Sqrt(2*within*within/5)-1) > 0.1 {
			t.Errorf("%+v, want %g", row, want)
		}
	}
	if b := c.Better; b == nil || b.Window > 1.5 || !(b.Seconds < 0.9*b.Planned) {
		t.Errorf("%+v, %q", c.Better, c.Why) // the book has √(2 s · 1/4 s) = 0.7 s
	}
	// The mean of two launches of the baseline varies half as much.
	p := planned(nil)
	p.Scenes = append(p.Scenes, bench.Scene{ID: "cpu/native[as=control]", Case: "cpu", Kind: bench.One, Control: true,
		Platform: bench.PlatformRef{Name: "native", Options: map[string]string{"as": "control"}}, Timing: bench.Timing{Measure: 5 * time.Second}})
	r.Scenes["cpu/native[as=control]"] = r.Scenes["cpu/native"]
	if twice := Of(p, []Run{r}).Cases[0].Rows[0]; math.Abs(twice.within/c.Rows[0].within-0.75) > 0.02 {
		t.Errorf("%g with two launches, %g with one", twice.within, c.Rows[0].within)
	}
	for i := range r.Scenes["cpu/native"].Launches { // of one side alone they say nothing
		r.Scenes["cpu/native"].Launches[i].Series = nil
	}
	if c := Of(planned(nil), []Run{r}).Cases[0]; c.Rows[0].Ends != nil || c.Rows[0].By != "" {
		t.Errorf("%+v", c.Rows[0])
	}
}

// A program that runs until it is through is as long as it is.
func TestNoWindowOfAProgramThatRunsThrough(t *testing.T) {
	r := earlier("a", 1, 8, 5, 0.02)
	for _, s := range r.Scenes {
		for i := range s.Launches {
			s.Launches[i].Window, s.Launches[i].Took = 18, 20
		}
		s.Spent = 8 * 20
	}
	if c := Of(planned(nil), []Run{r}).Cases[0]; !c.Rows[0].through {
		t.Errorf("%+v", c.Rows[0])
	}
	for _, s := range r.Scenes {
		s.Warmup = 15 // which such a program's window holds, too
	}
	if c := Of(planned(nil), []Run{r}).Cases[0]; c.Rows[0].through {
		t.Errorf("%+v", c.Rows[0])
	}
	for _, s := range r.Scenes {
		s.Warmup = 1
	}
	f := Of(planned(nil), []Run{r})
	if c := f.Cases[0]; c.Rows[0].Ends == nil || c.trial["docker"] != 20 || !strings.Contains(c.Why, "until it is through") || c.Rows[0].Fixed != 2 {
		t.Errorf("%+v, %v", c, c.trial)
	}
}

func TestWhatCannotBeForecast(t *testing.T) {
	zero := earlier("a", 1, 4, 5, 0.02)
	zero.Scenes["cpu/docker"].Launches[2].Values["rate"] = 0
	for says, run := range map[string]Run{
		"run a: ratio of block 3":        zero,
		"degrees of freedom":             earlier("a", 1, 2, 5, 0.02),
		"no earlier launch of it beside": {ID: "a", Scenes: map[string]*Scene{"cpu/docker": {Window: 5}}},
	} {
		f := Of(planned(nil), []Run{run})
		if r := f.Cases[0].Rows[0]; !strings.Contains(r.Why, says) || r.Ends != nil {
			t.Errorf("%q: %+v", says, r)
		}
	}
	p := planned(nil)
	p.Baseline = "lxc"
	if r := Of(p, nil).Cases[0].Rows[0]; r.Why != "the baseline, lxc, has no part in this case" {
		t.Errorf("%+v", r)
	}
	p = planned(nil)
	p.Scenes = p.Scenes[:2] // of the baseline alone
	if c := Of(p, nil).Cases[0]; c.Blocks != 6 || c.Seconds != 48 || len(c.Rows) != 0 {
		t.Errorf("%+v", c)
	}
}

// A baseline measured twice counts as the mean of both, in each block, and costs twice.
func TestForecastWithAControl(t *testing.T) {
	p := planned(nil)
	p.Scenes = append(p.Scenes, bench.Scene{ID: "cpu/native[as=control]", Case: "cpu", Kind: bench.One, Control: true,
		Platform: bench.PlatformRef{Name: "native", Options: map[string]string{"as": "control"}}, Timing: bench.Timing{Measure: 5 * time.Second}})
	r := earlier("a", 1, 6, 5, 0.02)
	twice := *r.Scenes["cpu/native"]
	twice.Launches = nil
	for _, l := range r.Scenes["cpu/native"].Launches {
		l.Values = map[string]float64{"rate": 400}
		twice.Launches = append(twice.Launches, l)
	}
	f := Of(p, []Run{r}) // a run without a control serves, too
	one := f.Cases[0]
	if len(f.Warnings) != 1 || !strings.Contains(f.Warnings[0], "run a has no control") || one.shared != 14 || one.guessed != 0 {
		t.Errorf("%q, %+v", f.Warnings, one.costs)
	}
	r.Scenes["cpu/native[as=control]"] = &twice
	both := Of(p, []Run{r}).Cases[0]
	if a, b := one.Rows[0].Ratio, both.Rows[0].Ratio; len(both.Rows) != 2 || math.Abs(a/b-2) > 1e-9 || both.shared != 14 || both.sharing != 2 {
		t.Errorf("ratio %g with one baseline, %g with two; %+v", a, b, both)
	}
}

// What is set against another scene on the same platform is a ratio of its own, and ends with it.
func TestForecastOfScenesSetAgainstOthers(t *testing.T) {
	p := planned(nil)
	p.Metrics["beside"] = p.Metrics["cpu"]
	r := earlier("a", 1, 6, 5, 0.02)
	for _, name := range []string{"native", "docker", "kvm"} {
		p.Scenes = append(p.Scenes, bench.Scene{ID: "beside/" + name, Case: "beside", Kind: bench.Beside, Platform: bench.PlatformRef{Name: name},
			Timing: bench.Timing{Measure: 5 * time.Second}, Relative: &bench.Relative{To: "cpu", Row: "cpu", Column: "beside"}})
		beside := *r.Scenes["cpu/"+name]
		beside.Launches = nil
		for i, l := range r.Scenes["cpu/"+name].Launches {
			l.Values = map[string]float64{"rate": l.Values["rate"] * (0.5 + 0.01*float64(i%2))}
			beside.Launches = append(beside.Launches, l)
		}
		r.Scenes["beside/"+name] = &beside
	}
	f := Of(p, []Run{r})
	c := f.Cases[0]
	if len(f.Cases) != 2 || fmt.Sprint(c.Further) != "[beside]" || c.trial["docker"] != 14 || c.shared != 14 || c.trials["docker"] != 2 {
		t.Fatalf("%+v", f.Cases)
	}
	names := map[string]float64{}
	for _, row := range c.Rows {
		names[row.Name] = row.Ratio
	}
	if len(names) != 5 || math.Abs(names["native beside"]-0.505) > 1e-3 || math.Abs(names["docker beside"]-0.505) > 1e-3 || math.Abs(names["docker"]-0.9) > 0.05 {
		t.Errorf("%v", names)
	}
}

// Among many platforms it takes more to differ.
func TestForecastOfManyPlatforms(t *testing.T) {
	r := earlier("a", 1, 40, 5, 0.06)
	u := &bench.Until{Interval: 0.001, Min: 3, Max: 60, Looks: []int{3, 30, 60}}
	few, many := planned(u), planned(u)
	for i := range 30 {
		ref := bench.PlatformRef{Name: fmt.Sprint("p", i)}
		many.Scenes = append(many.Scenes, bench.Scene{ID: "cpu/" + ref.Name, Case: "cpu", Kind: bench.One, Platform: ref, Timing: bench.Timing{Measure: 5 * time.Second}})
	}
	a, b := Of(few, []Run{r}).Cases[0].Rows[0], Of(many, []Run{r}).Cases[0].Rows[0]
	if a.SD != b.SD || !(a.Ends.Blocks < b.Ends.Blocks) {
		t.Errorf("%d blocks of 2 platforms, %d of 32", a.Ends.Blocks, b.Ends.Blocks)
	}
}

// Whatever a folder holds, there is an answer that can be written.
func TestForecastOfWhatCannotBe(t *testing.T) {
	wild := earlier("a", 1, 6, 5, 40)
	far := earlier("b", 2, 6, 1e9, 0.02)
	for _, s := range far.Scenes {
		s.Spent = 1
		for i := range s.Launches {
			s.Launches[i].Window, s.Launches[i].Took = -5, -7
		}
	}
	for _, blocks := range []int{1, 2, 6} {
		p := planned(nil)
		p.Blocks = blocks
		for _, run := range []Run{wild, far, earlier("c", 3, 6, 5, 0)} {
			f := Of(p, []Run{run})
			if _, err := json.Marshal(f); err != nil {
				t.Errorf("%s, %d blocks: %v", run.ID, blocks, err)
			}
			if f.Seconds < 0 || f.AtMost < 0 {
				t.Errorf("%s, %d blocks: %g s, at most %g s", run.ID, blocks, f.Seconds, f.AtMost)
			}
			if r := f.Cases[0].Rows[0]; blocks == 1 && (r.Chance != 0 || r.Reach != 0) {
				t.Errorf("%s: %+v of one block", run.ID, r)
			}
		}
	}
}

func TestFormatNamesEveryField(t *testing.T) {
	const page = "docs/format/forecast.md"
	doc, err := os.ReadFile("../../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	f := Of(planned(&bench.Until{Interval: 0.004, Min: 3, Max: 60, Looks: []int{3, 60}, Budget: time.Minute}), []Run{earlier("a", 1, 40, 1, 0.04), earlier("b", 2, 40, 16, 0.0102)})
	f.Warnings = []string{"mind"}
	f.Cases[0].Better, f.Cases[0].Further = &Better{}, []string{"beside"}
	text, err := json.Marshal(f)
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
				walk(x)
			}
		}
	}
	walk(v)
}
