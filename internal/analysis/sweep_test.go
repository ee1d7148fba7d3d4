package analysis

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/bench"
	"tare/internal/result"
)

// loaded is a case of the factor's level with a value per platform and block.
func loaded(scene, factor, level string, metric bench.Metric, values map[string][]float64) result.Case {
	c := result.Case{Name: fmt.Sprintf("%s[%s=%s]", scene, factor, level), Title: "Work, " + factor + " " + level, Factors: map[string]string{factor: level}}
	for _, platform := range []string{"native", "docker"} {
		row := result.Row{Metric: metric, Platform: platform, Baseline: platform == "native", N: len(values[platform])}
		for b, v := range values[platform] {
			row.Points = append(row.Points, result.Point{Block: b + 1, Value: v})
			row.Median = v
		}
		c.Rows = append(c.Rows, row)
	}
	return c
}

func TestSweepsOrderTheirLevels(t *testing.T) {
	var cases []result.Case
	for i, level := range []string{"16KiB", "512B", "4KiB"} {
		cases = append(cases, loaded("net", "message-size", level, throughput, map[string][]float64{"native": {float64(i), float64(i) + 2}, "docker": {1}}))
	}
	cases = append(cases, loaded("disk", "rw", "read", throughput, nil), loaded("cpu", "threads", "1", throughput, nil), loaded("cpu", "threads", "2", throughput, nil))
	got := sweeps(cases, &bench.Plan{})
	if len(got) != 1 {
		t.Fatalf("%d sweeps: %+v", len(got), got)
	}
	s := got[0]
	if s.Name != "net" || s.Title != "Work" || s.Axis != "message size" || s.Metric.Name != "throughput" || len(s.Lines) != 2 || !s.Lines[0].Baseline {
		t.Errorf("%+v", s)
	}
	want := []result.SweepPoint{{X: 512, Level: "512B", Median: 3, Low: 1, High: 3, N: 2}, {X: 4096, Level: "4KiB", Median: 4, Low: 2, High: 4, N: 2}, {X: 16384, Level: "16KiB", Median: 2, Low: 0, High: 2, N: 2}}
	if d := cmp.Diff(want, s.Lines[0].Points); d != "" {
		t.Error(d)
	}
}

// Besides the headline the first latency is drawn, unless the headline is one.
func TestSweepDrawsTheFirstLatency(t *testing.T) {
	headline := func(name string) result.Row { return result.Row{Metric: bench.Metric{Name: name, Headline: true}} }
	row := func(name string) result.Row { return result.Row{Metric: bench.Metric{Name: name}} }
	for want, rows := range map[string][]result.Row{
		"transactions p95_latency": {headline("transactions"), row("read_p95_latency"), row("p95_latency"), row("p99_latency")},
		"mean_latency":             {headline("mean_latency"), row("p99_latency")},
		"iops":                     {headline("iops"), row("read_p95_latency")},
	} {
		if got := strings.Join(drawn(&result.Case{Rows: rows}), " "); got != want {
			t.Errorf("%q is drawn, want %q", got, want)
		}
	}
}

// Six instances of one CPU on a pool of two: the ratio is the axis, and the
// throughput bends where there is one for each real CPU.
func TestSweepFindsTheKnee(t *testing.T) {
	plan := &bench.Plan{}
	var cases []result.Case
	for _, n := range []int{1, 2, 3, 4, 6} {
		level := fmt.Sprint(n)
		ratio := float64(n) / 2
		values := map[string][]float64{}
		for b := range 5 {
			jitter := 1 + 0.01*float64(b%3) + 0.002*float64(n*b%4)
			values["native"] = append(values["native"], jitter*(1000*min(ratio, 1.5)+1))
			values["docker"] = append(values["docker"], jitter*100)
		}
		cases = append(cases, loaded("busy", "alike", level, throughput, values))
		plan.Scenes = append(plan.Scenes, bench.Scene{Case: cases[len(cases)-1].Name, Pool: 2, Actors: []bench.Actor{{Shape: bench.Shape{CPUs: 1}}}})
	}
	s := sweeps(cases, plan)[0]
	if s.Axis != "virtual CPUs per real CPU" || s.Lines[0].Points[0].X != 0.5 || s.Lines[0].Points[4].Level != "3" {
		t.Errorf("%+v", s)
	}
	k := s.Lines[0].Knee
	if k == nil || math.Abs(k.At-1.5) > 0.05 || k.Low > 1.5 || k.High < 1.45 {
		t.Errorf("knee %+v, %s", k, s.Lines[0].NoKnee)
	}
	if flat := s.Lines[1]; flat.Knee != nil || flat.NoKnee == "" {
		t.Errorf("a flat line: %+v %q", flat.Knee, flat.NoKnee)
	}
}

// A curve that falls smoothly has no knee; where it is a tenth worse is said.
func TestSweepWithoutAKneeHasAThreshold(t *testing.T) {
	plan := &bench.Plan{}
	var cases []result.Case
	for _, n := range []int{1, 2, 3, 4, 6} {
		ratio := float64(n) / 2
		values := map[string][]float64{}
		for b := range 5 {
			jitter := 1 + 0.01*float64(b%3) + 0.004*float64((n*7+b*3)%5)
			values["native"] = append(values["native"], jitter*1000/(1+ratio))
			values["docker"] = append(values["docker"], jitter*100)
		}
		cases = append(cases, loaded("busy", "alike", fmt.Sprint(n), throughput, values))
		plan.Scenes = append(plan.Scenes, bench.Scene{Case: cases[len(cases)-1].Name, Pool: 2, Actors: []bench.Actor{{Shape: bench.Shape{CPUs: 1}}}})
	}
	lines := sweeps(cases, plan)[0].Lines
	if l := lines[0]; l.Knee != nil || !strings.HasPrefix(l.NoKnee, "a smooth curve fits, too (p = ") {
		t.Errorf("of a hyperbola: %+v, %q", l.Knee, l.NoKnee)
	}
	// From 1/1.5 at 0.5 to 1/2 at 1, on a straight line: 0.9/1.5 is reached at 0.7.
	if h := lines[0].Threshold; h == nil || h.Worse != 0.1 || math.Abs(h.At-0.7) > 0.02 || h.Low > h.At || h.High < h.At || h.Low < 0.5 || h.High > 1 {
		t.Errorf("threshold %+v", h)
	}
	if l := lines[1]; l.Knee != nil || l.Threshold != nil || l.NoKnee == "" {
		t.Errorf("a flat line: %+v", l)
	}
}

// A pool of memory that gets smaller from level to level: the ratio is the axis,
// and blocks are read in its order.
func TestSweepOverMemory(t *testing.T) {
	plan := &bench.Plan{}
	var cases []result.Case
	for _, level := range []string{"1280MiB", "640MiB", "512MiB", "427MiB", "320MiB"} {
		pool, err := bench.ParseBytes(level)
		if err != nil {
			t.Fatal(err)
		}
		ratio := float64(640*bench.MiB) / float64(pool)
		values := map[string][]float64{}
		for b := range 5 {
			jitter := 1 + 0.01*float64(b%3)
			values["native"] = append(values["native"], jitter*(3000-1500*max(0, ratio-1.25)))
			values["docker"] = append(values["docker"], jitter*1000)
		}
		cases = append(cases, loaded("requests", "memory_pool", level, throughput, values))
		actor := bench.Actor{Role: bench.Subject, Shape: bench.Shape{CPUs: 1, Memory: 320 * bench.MiB}}
		plan.Scenes = append(plan.Scenes, bench.Scene{Case: cases[len(cases)-1].Name, MemoryPool: pool,
			Actors: []bench.Actor{actor, actor, {Role: bench.Peer, Shape: actor.Shape}}})
	}
	cases[4].Rows[1].Points, cases[4].Rows[1].N, cases[4].Rows[1].DNF = nil, 0, 5
	s := sweeps(cases, plan)[0]
	if starved := s.Lines[1]; len(starved.Points) != 4 || len(starved.DNF) != 1 || starved.DNF[0] != "2" {
		t.Errorf("a level at which none finished: %+v", starved)
	}
	if s.Axis != "memory of instances per memory of the pool" || s.Lines[0].Points[0].Level != "0.5" || s.Lines[0].Points[3].Level != "1.5" {
		t.Errorf("%+v", s)
	}
	if k := s.Lines[0].Knee; k == nil || math.Abs(k.At-1.25) > 0.05 {
		t.Errorf("knee %+v, %s", k, s.Lines[0].NoKnee)
	}
}
