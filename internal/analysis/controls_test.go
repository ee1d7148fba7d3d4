package analysis

import (
	"math"
	"strings"
	"testing"

	"tare/internal/analysis/stats"
	"tare/internal/result"
)

// The baseline measured twice is a row of its own, apart from the platforms'.
func TestControlsStandApart(t *testing.T) {
	run := crafted{metric: throughput, platform: []string{"native", "lxc", "twin"}, control: "twin", blocks: 5,
		values: map[string][]float64{"native": {100, 101, 99, 100, 102}, "lxc": {90, 91, 89, 90, 92}, "twin": {101, 100, 100, 99, 102}}}
	r := analyze(t, run.write(t))
	if len(r.Cases) != 1 || len(r.Cases[0].Rows) != 2 || strings.Contains(r.Cases[0].Answer, "twin") || len(r.Cases[0].Usage) != 2 {
		t.Errorf("%+v", r.Cases)
	}
	for _, p := range r.Platforms {
		if p.Name == "twin" {
			t.Errorf("the control is listed among the platforms: %+v", r.Platforms)
		}
	}
	if r.Trials.Done != 15 || !r.Complete {
		t.Errorf("%+v", r.Trials)
	}
	c := r.Controls
	if c == nil || c.Baseline != "native" || c.Of != 1 || c.Hold != 1 || len(c.Rows) != 1 {
		t.Fatalf("%+v", c)
	}
	row := c.Rows[0]
	lxc := r.Cases[0].Rows[1].Effect
	want, err := stats.Detectable(stats.Interval{Mid: lxc.Ratio, Low: lxc.Low, High: lxc.High}, result.Values(lxc.Ratios), 0.9)
	if err != nil || row.Detectable != want || row.Platform != "lxc" || row.Case != "cpu" || row.Effect.N != 5 {
		t.Errorf("%+v, want %g, %v", row, want, err)
	}
	if got := strings.Join(c.Words, " "); got != "native against itself: 1 of 1 interval holds 1. What every row of a case would have found nine times in ten, by the row that scatters most: 1.8 % in cpu (lxc)." {
		t.Error(got)
	}
	if !strings.Contains(r.Method, "the geometric mean of both launches of native in the block") {
		t.Error(r.Method)
	}
	// A platform is compared with both launches, the control with one.
	for i, p := range r.Cases[0].Rows[1].Effect.Ratios {
		own, both := run.values["lxc"][i], math.Sqrt(run.values["native"][i]*run.values["twin"][i])
		if math.Abs(p.Value-own/both) > 1e-12 || math.Abs(row.Effect.Ratios[i].Value-run.values["twin"][i]/run.values["native"][i]) > 1e-12 {
			t.Errorf("block %d: %g against both, %g against itself", i+1, p.Value, row.Effect.Ratios[i].Value)
		}
	}
	// The corrections of the tests are over the platforms' rows alone.
	if e := r.Cases[0].Rows[1].Effect; e.Holm == nil || *e.Holm != *e.P || row.Effect.Holm != nil {
		t.Errorf("%+v", e)
	}
}

// A change that a run says it would have found is never less than its rows leave open, however
// quiet the control was.
func TestWhatARunWouldHaveFoundIsOfItsRows(t *testing.T) {
	quiet := []float64{100, 101, 100, 101, 100}
	for _, c := range []struct {
		name   string
		values map[string][]float64
		of     string // the platform; "" if no row has an interval
	}{
		{"3 blocks", map[string][]float64{"lxc": {90, 91, 89}, "docker": {60, 150, 95}}, "docker"},
		{"2 blocks", map[string][]float64{"lxc": {90, 60}, "docker": {90, 91}}, "lxc"},
		{"a long tail", map[string][]float64{"lxc": {99, 100, 98, 100, 30}, "docker": {90, 91, 90, 91, 90}}, "lxc"},
		{"no pair of one", map[string][]float64{"lxc": {90}, "docker": {90, 95, 91}}, "docker"},
		{"no pairs", map[string][]float64{"lxc": {90}, "docker": {90}}, ""},
	} {
		run := crafted{metric: throughput, platform: []string{"native", "lxc", "docker", "twin"}, control: "twin", blocks: 5, values: c.values}
		run.values["native"], run.values["twin"] = quiet, quiet
		r := analyze(t, run.write(t))
		found := r.Controls.Rows[0]
		if found.Platform != c.of || (found.Detectable > 0) != (c.of != "") || strings.Contains(strings.Join(r.Controls.Words, " "), "nine times in ten") != (c.of != "") {
			t.Errorf("%s: %+v, %q", c.name, found, r.Controls.Words)
		}
		for _, row := range r.Cases[0].Rows {
			if e := row.Effect; e != nil && e.HasRatio() && found.Detectable < max(e.High/e.Ratio-1, 1-e.Low/e.Ratio) {
				t.Errorf("%s: %g beside %s's %g to %g", c.name, found.Detectable, row.Platform, e.Low, e.High)
			}
		}
	}
}

func TestControlsThatFail(t *testing.T) {
	run := crafted{metric: throughput, platform: []string{"native", "lxc", "twin"}, control: "twin", blocks: 5,
		values: map[string][]float64{"native": {100, 101, 99, 100, 102}, "lxc": {90, 91, 89, 90, 92}, "twin": {90, 91, 89.5, 90, 92}}}
	c := analyze(t, run.write(t)).Controls
	if c.Hold != 0 || c.Of != 1 || !strings.HasPrefix(c.Words[0], "native against itself: 0 of 1 interval holds 1. Without it, by chance or by what the audit cannot see: cpu: 9.9 % slower (") {
		t.Errorf("%+v", c)
	}
	run.values["twin"] = []float64{100, math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	c = analyze(t, run.write(t)).Controls
	if c.Of != 0 || c.Rows[0].Effect.Verdict != result.Refused || len(c.Words) != 2 ||
		c.Words[1] != "native against itself, not compared: cpu: only 1 pair of finished launches; an interval needs at least 2." {
		t.Errorf("%+v", c)
	}
	run.control = ""
	if r := analyze(t, run.write(t)); r.Controls != nil || len(r.Cases[0].Rows) != 3 {
		t.Errorf("without a control: %+v", r.Controls)
	}
}

// The rule compares with what the report compares with, and waits for the control's launches.
func TestARuleCountsControls(t *testing.T) {
	run := ruled(t, 0.900, 0.901, 0.899)
	run.platform, run.control = append(run.platform, "twin"), "twin"
	run.values["twin"] = []float64{100, 101, 102}
	found := analyze(t, run.write(t))
	if s := found.Stops[0]; !s.Ended || s.Blocks != 3 {
		t.Errorf("%+v", s)
	}
	if why := found.Controls.Rows[0].Effect.Why; strings.Contains(why, "blocks have both") {
		t.Errorf("of a control that ended with its case: %s", why)
	}
	run.values["twin"] = []float64{100, 110, 90}
	r := analyze(t, run.write(t))
	e, s := r.Cases[0].Rows[1].Effect, r.Stops[0]
	if width := (e.High - e.Low) / 2 / e.Ratio; s.Ended || math.Abs(width-s.Looks[0].Widths["lxc"]) > 1e-9 || width < 0.03 {
		t.Errorf("width %g shown, %+v", width, s)
	}
	run.values["twin"] = []float64{100, 101}
	if s := analyze(t, run.write(t)).Stops[0]; s.Ended || s.Blocks != 2 || len(s.Looks) != 0 {
		t.Errorf("a look without the control's outcome: %+v", s)
	}
}
