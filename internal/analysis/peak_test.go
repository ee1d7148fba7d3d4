package analysis

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/result"
)

var (
	answersMetric  = bench.Metric{Name: "requests", Unit: "requests/s", Better: bench.HigherIsBetter, Headline: true}
	answeredMetric = bench.Metric{Name: "answered", Unit: "%", Better: bench.HigherIsBetter}
	tailMetric     = bench.Metric{Name: "p99_latency", Unit: "ms", Better: bench.LowerIsBetter}
)

// asked are the cases of servers with the capacities, by platform, at each rate in each block.
func asked(blocks int, capacities map[string]float64, rates ...int) (cases []result.Case, plan *bench.Plan) {
	plan = &bench.Plan{}
	for _, rate := range rates {
		c := result.Case{Name: fmt.Sprintf("web[rate=%d]", rate), Title: "Web", Factors: map[string]string{"rate": fmt.Sprint(rate)}}
		for _, platform := range []string{"native", "docker"} {
			var got, answered, tail []result.Point
			for b := 1; b <= blocks; b++ {
				capacity := capacities[platform] * (1 + 0.004*float64((b*7)%5-2))
				g := min(float64(rate), capacity)
				latency := 2.
				if float64(rate) > capacity {
					latency = 900
				}
				got, answered, tail = append(got, result.Point{Block: b, Value: g}), append(answered, result.Point{Block: b, Value: 100 * g / float64(rate)}), append(tail, result.Point{Block: b, Value: latency})
			}
			for _, r := range []result.Row{{Metric: answersMetric, Points: got}, {Metric: answeredMetric, Points: answered}, {Metric: tailMetric, Points: tail}} {
				r.Platform, r.Baseline, r.N, r.Median = platform, platform == "native", blocks, r.Points[0].Value
				c.Rows = append(c.Rows, r)
			}
		}
		cases = append(cases, c)
		plan.Scenes = append(plan.Scenes, bench.Scene{Case: c.Name, Peak: &bench.Peak{Bound: 100 * time.Millisecond, Errors: 0.01, Short: 0.02,
			Loop: bench.Loop{Rate: "rate", Got: "requests", Answered: "answered", Latency: "p99_latency"}}})
	}
	return cases, plan
}

// Servers of known capacities have their peaks found, and the ratio of the two, with intervals that hold
// them; of the curve of what was got alone.
func TestSweepFindsThePeak(t *testing.T) {
	cases, plan := asked(5, map[string]float64{"native": 1250, "docker": 820}, 500, 700, 1000, 1400, 2000)
	all := sweeps(cases, plan)
	if all[0].Metric.Name != "requests" || len(all) < 2 {
		t.Fatalf("%+v", all)
	}
	for i, want := range []float64{1250, 820} {
		p := all[0].Lines[i].Peak
		if p == nil || math.Abs(p.At/want-1) > 0.01 || p.Low > want || p.High < want || p.N != 5 {
			t.Errorf("%s: %+v %q, want %v", all[0].Lines[i].Platform, p, all[0].Lines[i].NoPeak, want)
		}
	}
	if r := all[0].Lines[1].Peak.Ratio; r == nil || math.Abs(r.At-0.656) > 0.001 || r.Low > r.At || r.High < r.At {
		t.Errorf("ratio %+v", r)
	}
	if all[0].Lines[0].Peak.Ratio != nil || all[1].Lines[0].Peak != nil || all[1].Lines[0].NoPeak != "" {
		t.Errorf("a ratio to itself, or a peak of another metric: %+v", all)
	}
	plan.Scenes = nil
	if l := sweeps(cases, plan)[0].Lines[0]; l.Peak != nil || l.NoPeak != "" {
		t.Errorf("nobody asked: %+v", l)
	}
}

func TestSweepWithoutAPeakSaysWhy(t *testing.T) {
	cases, plan := asked(5, map[string]float64{"native": 3000, "docker": 300}, 500, 700, 1000)
	l := sweeps(cases, plan)[0].Lines
	if l[0].Peak != nil || l[0].NoPeak != "in 5 of 5 blocks the highest rate was held, so it lies above" {
		t.Errorf("%+v", l[0])
	}
	if l[1].Peak != nil || l[1].NoPeak != "in 5 of 5 blocks not even the lowest rate was held" {
		t.Errorf("%+v", l[1])
	}
	if cases, plan = asked(1, map[string]float64{"native": 800, "docker": 800}, 500, 700, 1000); sweeps(cases, plan)[0].Lines[0].NoPeak != "too few blocks" {
		t.Error("one block has a peak")
	}
	// A launch that failed is left out of its block.
	cases, plan = asked(2, map[string]float64{"native": 800, "docker": 800}, 500, 700, 1000)
	for i := range cases[1].Rows {
		cases[1].Rows[i].Points = cases[1].Rows[i].Points[1:]
	}
	if p := sweeps(cases, plan)[0].Lines[0].Peak; p == nil || p.N != 2 || math.Abs(p.At-800) > 10 {
		t.Errorf("with a launch that failed: %+v", p)
	}
	for i := range plan.Scenes {
		plan.Scenes[i].Peak.Loop.Latency = "no such"
	}
	if l := sweeps(cases, plan)[0].Lines[0]; !strings.Contains(l.NoPeak, "not even the lowest") {
		t.Errorf("a latency that nobody tells: %+v", l)
	}
}
