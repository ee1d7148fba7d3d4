package analysis

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
)

// windows makes up launches with a series of n steps each: the mean at a share of the window, in
// noise of 2 %.
func windows(r *rand.Rand, launches, n int, mean func(launch int, at float64) float64) []*bench.Outcome {
	var all []*bench.Outcome
	for k := range launches {
		x := make([]float64, n)
		for i := range x {
			x[i] = 1000 * mean(k, (float64(i)+0.5)/float64(n)) * (1 + 0.02*r.NormFloat64())
		}
		all = append(all, &bench.Outcome{Trial: fmt.Sprintf("b%02d", k+1), Block: k + 1, Status: bench.Done, Actors: []bench.ActorOutcome{
			{Role: bench.Subject, Series: []bench.Series{{Metric: "iops", Step: 0.1, Values: x}}}}})
	}
	return all
}

func level(int, float64) float64 { return 1 }

func after(at, share, to float64) float64 {
	if at >= share {
		return to
	}
	return 1
}

func TestSteadiness(t *testing.T) {
	for _, c := range []struct {
		name     string
		launches int
		points   int
		mean     func(launch int, at float64) float64
		want     result.Finding
		caveat   string // a part of it
	}{
		{"steady", 9, 20, level, result.Steady, ""},
		{"a change below the margin", 9, 20, func(_ int, at float64) float64 { return after(at, 0.5, 1.015) }, result.Steady, ""},
		{"a warm-up that is too short", 9, 50, func(_ int, at float64) float64 { return after(at, 0.3, 1.1) }, result.Speeding,
			"fewer than 80 % of launches are steady within the window (iops: speeding): the warm-up may be too short"},
		{"a buffer that fills", 9, 50, func(_ int, at float64) float64 { return after(at, 0.6, 0.8) }, result.Slowing, "a longer window would be slower"},
		{"up and down", 9, 50, func(_ int, at float64) float64 { return after(at, 0.3, 1.2) * after(at, 0.6, 0.8) }, result.Unsteady, "up and down"},
		{"each another way", 10, 50, func(k int, at float64) float64 { return after(at, 0.5, []float64{0.9, 1.1}[k%2]) }, result.Unsteady, "other work on the host"},
		{"one of three, which chance gives", 3, 20, func(k int, at float64) float64 { return after(at, 0.5, []float64{1, 1, 1.3}[k]) }, result.Steady, ""},
		{"two of three", 3, 20, func(k int, at float64) float64 { return after(at, 0.5, []float64{1, 1.3, 1.3}[k]) }, result.Speeding, "warm-up"},
		{"two of ten", 10, 20, func(k int, at float64) float64 { return after(at, 0.5, []float64{1, 1.3}[k/8]) }, result.Steady, ""},
		{"few points", 9, 9, level, result.FewPoints, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := steadiness(windows(rand.New(rand.NewPCG(5, 6)), c.launches, c.points, c.mean), "iops", 0.03)
			if s == nil || s.Finding != c.want || len(s.Each) != c.launches {
				t.Fatalf("%+v", s)
			}
			if got := s.Caveat("iops"); (got == "") != (c.caveat == "") || !strings.Contains(got, c.caveat) {
				t.Errorf("caveat %q, want one with %q", got, c.caveat)
			}
			if n := s.Steady + s.Slowing + s.Speeding + s.Unsteady; n != s.Launches || (s.Worst > 0) != (s.WorstTrial != "") {
				t.Errorf("%+v", s)
			}
		})
	}
	if s := steadiness(windows(rand.New(rand.NewPCG(5, 6)), 3, 20, level), "bandwidth", 0.03); s != nil {
		t.Errorf("of a metric without series: %+v", s)
	}
}

// Stretches are in seconds, and the shift is that between the fastest and the slowest.
func TestCourse(t *testing.T) {
	x := windows(rand.New(rand.NewPCG(1, 1)), 1, 40, func(_ int, at float64) float64 { return after(at, 0.5, 1.5) })[0].Actors[0].Series[0]
	c := course(x, 0.03)
	if len(c.Stretches) != 2 || c.Stretches[0].End != 2 || c.Stretches[1].Start != 2 || c.Stretches[1].End != 4 || c.Finding != result.Speeding {
		t.Errorf("%+v", c)
	}
	if c.Shift < 0.37 || c.Shift > 0.43 { // 0.5 of 1.25
		t.Errorf("shift %v", c.Shift)
	}
}

// TestFalseUnsteady: of platforms that are steady, with noise whose order is chance, at most 5 % have
// another finding, however many launches they have.
func TestFalseUnsteady(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	const rows = 150
	for _, launches := range []int{1, 3, 5, 10, 30} {
		wrong := 0
		for range rows {
			if s := steadiness(windows(r, launches, 20, level), "iops", 0); s.Finding != result.Steady {
				wrong++
			}
		}
		t.Logf("%2d launches: %d of %d", launches, wrong, rows)
		if wrong > 15 { // 5 % and three standard deviations
			t.Errorf("%d launches: %d of %d platforms are not steady", launches, wrong, rows)
		}
	}
}

// All rows of a platform warn, and only its headline says that there is no series.
func TestTellSteadiness(t *testing.T) {
	row := func(metric, platform string, headline bool) result.Row {
		return result.Row{Metric: bench.Metric{Name: metric, Headline: headline}, Platform: platform}
	}
	rows := []result.Row{row("iops", "native", true), row("iops", "lxc", true), row("bandwidth", "native", false), row("bandwidth", "lxc", false)}
	r := rand.New(rand.NewPCG(5, 6))
	native := &launches{scene: &bench.Scene{Kind: bench.One}, platform: "native", done: windows(r, 5, 50, func(_ int, at float64) float64 { return after(at, 0.5, 0.7) })}
	lxc := &launches{scene: &bench.Scene{Kind: bench.One}, platform: "lxc", done: []*bench.Outcome{{Status: bench.Done}}}
	tellSteadiness(rows, native, 0.03)
	tellSteadiness(rows, lxc, 0.03)
	if len(rows[0].Warnings) != 1 || len(rows[2].Warnings) != 1 || len(rows[1].Warnings)+len(rows[3].Warnings) != 0 {
		t.Errorf("%+v", rows)
	}
	if rows[0].Steadiness.Finding != result.Slowing || rows[2].Steadiness != nil {
		t.Errorf("native: %+v, %+v", rows[0].Steadiness, rows[2].Steadiness)
	}
	if rows[1].Steadiness.Finding != result.NoSeries || rows[3].Steadiness != nil {
		t.Errorf("lxc: %+v, %+v", rows[1].Steadiness, rows[3].Steadiness)
	}
	started := []result.Row{row("time_to_ready", "lxc", true)}
	lxc.scene.Kind = bench.Startup
	if tellSteadiness(started, lxc, 0.03); started[0].Steadiness != nil {
		t.Errorf("a launch has no window: %+v", started[0].Steadiness)
	}
}
