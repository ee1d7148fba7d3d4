package report

import (
	"bytes"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/report/chart"
	"tare/internal/result"
)

func sweep() result.Sweep {
	point := func(x float64, level string, v float64) result.SweepPoint {
		return result.SweepPoint{X: x, Level: level, Median: v, Low: v * 0.9, High: v * 1.1, N: 5}
	}
	return result.Sweep{Name: "busy", Title: "Finding primes", Factor: "alike", Axis: "virtual CPUs per real CPU",
		Metric: bench.Metric{Name: "throughput", Unit: "events/s", Better: bench.HigherIsBetter},
		Lines: []result.SweepLine{
			{Platform: "native", Baseline: true, Points: []result.SweepPoint{point(0.5, "0.5", 1000), point(1, "1", 2000), point(3, "3", 2100)},
				Knee: &result.Knee{At: 1.02, Low: 0.9, High: 1.25}},
			{Platform: "qemu-tcg", Label: "emulated (tcg)", Points: []result.SweepPoint{point(0.5, "0.5", 100), point(3, "3", 200)}, NoKnee: "too few levels or blocks", DNF: []string{"2"},
				Threshold: &result.Threshold{Worse: 0.1, At: 0.7, Low: 0.65, High: 0.76}},
		}}
}

func TestSweepInWords(t *testing.T) {
	var b bytes.Buffer
	writeBlocks(&b, sweepsText([]result.Sweep{sweep()}))
	for _, want := range []string{
		"Finding primes: throughput in events/s, medians, over virtual CPUs per real CPU (higher is better)",
		"VIRTUAL CPUS PER REAL CPU", "native: knee at 1.02 virtual CPUs per real CPU (0.90 to 1.25)",
		"qemu-tcg, emulated (tcg)", "no knee given: too few levels or blocks",
		"no launch finished at 2 virtual CPUs", "10 % worse than at 0.5 from 0.70 virtual CPUs per real CPU on (0.65 to 0.76)",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	if line := lineWith(b.String(), "  qemu-tcg"); !strings.Contains(line, "100") || !strings.Contains(line, "–") || !strings.Contains(line, "200") {
		t.Errorf("a level that is missing: %q", line)
	}
}

func TestPeakInWords(t *testing.T) {
	s := sweep()
	s.Axis = "rate"
	s.Lines[0].Peak = &result.Peak{At: 7800, Low: 7500, High: 8100, N: 5}
	s.Lines[1].Peak = &result.Peak{At: 1560, Low: 1500, High: 1600, N: 3, Ratio: &result.Knee{At: 0.2, Low: 0.19, High: 0.21}}
	s.Lines = append(s.Lines, result.SweepLine{Platform: "lxc", Points: s.Lines[0].Points, NoPeak: "in 1 of 5 blocks the highest rate was held, so it lies above"})
	got := strings.Join(knees(&s), "\n")
	for _, want := range []string{
		"native: peak at rate 7 800 (7 500 to 8 100, 5 blocks)", "qemu-tcg, emulated (tcg): peak at rate 1 560 (1 500 to 1 600, 3 blocks), 0.200 of the baseline's (0.190 to 0.210)",
		"lxc: no peak given: in 1 of 5 blocks the highest rate was held",
	} {
		if !strings.Contains(strings.ReplaceAll(got, "\u202f", " "), want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if !strings.Contains(string(sweepOf(&s, chart.Wide).Plot), "peak of native") {
		t.Error("no mark of a peak in the picture")
	}
}

func lineWith(text, prefix string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, prefix) {
			return line
		}
	}
	return ""
}

func TestSweepPicture(t *testing.T) {
	s := sweep()
	v := sweepOf(&s, chart.Wide)
	if n := strings.Count(string(v.Plot), "<polyline"); n != 2 {
		t.Errorf("%d lines", n)
	}
	if !strings.Contains(string(v.Plot), "qemu-tcg, emulated (tcg), virtual CPUs per real CPU 3: 200 events/s (180 to 220, 5 launches)") {
		t.Errorf("no tooltip with label, median and range in %s", v.Plot)
	}
	if strings.Contains(string(v.Plot), "NaN") || len(v.Legend) != 2 || len(v.Knees) != 4 {
		t.Errorf("%+v", v)
	}
	one := sweep()
	one.Lines = []result.SweepLine{{Platform: "native", Points: one.Lines[0].Points[:1]}}
	if v := sweepOf(&one, chart.Wide); v.Plot != "" {
		t.Error("a picture of one point")
	}
}

func TestSweepAxes(t *testing.T) {
	s := sweep()
	p, ok := sweepPlot(&s, chart.Wide)
	if !ok || p.X.Log || p.X.Low != 0.5 || p.X.High != 3 || !p.Y.Log {
		t.Errorf("%+v %t", p, ok)
	}
	s.Lines = s.Lines[:1]
	if p, _ = sweepPlot(&s, chart.Wide); p.Y.Log || p.Y.Low != 0 {
		t.Errorf("%+v", p.Y)
	}
}

// The curves of the metric that answers the question are on the first screen, what else varies is folded.
func TestCurvesComeFirst(t *testing.T) {
	latency := sweep()
	latency.Metric = bench.Metric{Name: "p95_latency", Unit: "us", Better: bench.LowerIsBetter}
	r := crowd(1, 1, 3)
	r.Sweeps = []result.Sweep{sweep(), latency}
	r.Sweeps[0].Metric.Headline = true
	watts := result.Power{Meter: "model:idle=60", Modelled: true, Curves: []result.PowerCurve{{Name: "load", Platform: "native",
		Points: []result.PowerPoint{{Cores: 0, Watts: 60}, {Cores: 1, Watts: 72}}}}}
	for _, c := range []struct {
		answers       []string
		first, folded int
	}{{nil, 1, 1}, {[]string{"p95_latency"}, 1, 1}, {[]string{"throughput", "p95_latency"}, 2, 0}, {[]string{"power"}, 1, 2}, {[]string{"other"}, 0, 2}} {
		r.Answers, r.Power = c.answers, []result.Power{watts}
		first, folded := sweepViews(r)
		if len(first) != c.first || len(folded) != c.folded {
			t.Errorf("%v: %d on the first screen, %d folded", c.answers, len(first), len(folded))
		}
		screen, _, _ := strings.Cut(renderHTML(t, r), `<table class="overview"`)
		if n := strings.Count(screen, "<figure>"); n != c.first {
			t.Errorf("%v: %d before the overview", c.answers, n)
		}
	}
}

// A case is called by what it is, and nothing twice.
func TestKindOfACase(t *testing.T) {
	for want, c := range map[string]result.Case{
		"disk · fio": {Resource: "disk", Workload: "fio", Kind: bench.One},
		"startup":    {Resource: "startup", Kind: bench.Startup},
		"cpu · sysbench-cpu · beside a neighbour": {Resource: "cpu", Workload: "sysbench-cpu", Kind: bench.Beside},
	} {
		if got := kindOf(c); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Levels a factor apart are on a logarithmic axis, and even steps on a linear one.
func TestAxisOfACurve(t *testing.T) {
	for _, c := range []struct {
		at  []float64
		log bool
	}{
		{[]float64{700, 1000, 1400, 2000, 2800, 4000, 5600, 8000, 11000, 16000}, true}, {[]float64{1, 4, 16, 64}, true},
		{[]float64{0.5, 1, 1.5, 2, 3}, false}, {[]float64{1, 2, 4}, false}, {[]float64{1, 25, 50, 75, 100}, false}, {[]float64{0, 1, 100}, false},
	} {
		s := sweep()
		s.Lines = s.Lines[:1]
		s.Lines[0].Points = nil
		for _, x := range c.at {
			s.Lines[0].Points = append(s.Lines[0].Points, result.SweepPoint{X: x, Median: 2, Low: 1, High: 3, N: 3})
		}
		if p, ok := sweepPlot(&s, chart.Wide); !ok || p.X.Log != c.log {
			t.Errorf("%v: logarithmic %v, %v", c.at, p.X.Log, ok)
		}
	}
}

func TestMetricOfACurve(t *testing.T) {
	for want, m := range map[string]bench.Metric{
		"throughput in events/s": {Name: "throughput", Unit: "events/s"}, "requests/s": {Name: "requests", Unit: "requests/s"},
		"mean latency in µs": {Name: "mean_latency", Unit: "us"},
	} {
		if got := measured(m); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A curve's figures are a table, too, with a gap where a platform has no point.
func TestFiguresOfACurve(t *testing.T) {
	s := sweep()
	names, lines := points(&s)
	got := strings.Join(names, "; ")
	for _, l := range lines {
		got += "\n" + l.Name + ": " + strings.Join(l.Cells, "; ")
	}
	want := "0.5; 1; 3\nnative: 1 000 (900 to 1 100); 2 000 (1 800 to 2 200); 2 100 (1 890 to 2 310)\nqemu-tcg, emulated (tcg): 100 (90 to 110); –; 200 (180 to 220)"
	if got := strings.ReplaceAll(got, "\u202f", " "); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	r := synthetic(t)
	r.Sweeps = []result.Sweep{s}
	if page := renderHTML(t, r); !strings.Contains(page, "Finding primes: throughput in events/s over virtual CPUs per real CPU") {
		t.Error("the page has no table of the curve")
	}
}
