package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"tare/internal/result"
)

// withPower gives the first case of a result what a PDU and a model told of it.
func withPower(r *result.Result) *result.Result {
	of := func(v float64) *float64 { return &v }
	pdu, model := "snmp://pdu/raritan?outlet=3", "model:idle=100,core=55"
	r.Power = []result.Power{
		{Meter: pdu, Of: "outlet 3 of the PDU pdu (Raritan PX2)", StepW: 0.1, Update: 1, Idle: of(100.2),
			Idles:  []result.IdlePower{{Block: 1, Before: of(100), After: of(100.4), Watts: 100.2, Bound: 0.25}, {Block: 2, After: of(100.2), Watts: 100.2, Bound: 0.05}},
			Fit:    &result.PowerFit{Idle: 100.1, Core: 55.2, Residual: 0.41, Points: 22},
			Shares: []result.PowerShare{{Resource: "cpu", Case: r.Cases[0].Name, Net: 59.8, Bound: 0.3, Share: 0.374}, {Resource: "disk", Case: "disk", Net: 7.1, Bound: 0.3, Share: 0.066}},
			Curves: []result.PowerCurve{{Name: "load", Platform: "native", Proportionality: 0.41, Points: []result.PowerPoint{
				{Cores: 0.01, Watts: 100.2, OfPeak: 0.63}, {Case: "load[shape.cpu_quota=0.5]", Cores: 0.51, Watts: 135, OfPeak: 0.84, OfDynamic: 0.58}, {Case: "load[shape.cpu_quota=1]", Cores: 1.02, Watts: 160, OfPeak: 1, OfDynamic: 1}}}},
			Notes: []string{"the machine was not at rest when it should have been: other work kept up to 0.40 cores busy"}},
		{Meter: model, Of: "a straight line over the CPU time: 100 W at rest and 55 W for each busy core", Modelled: true, StepJ: 0.55, Idle: of(100)},
	}
	c := &r.Cases[0]
	row := func(meter, platform string, watts float64, e *result.Effect) result.Energy {
		return result.Energy{Meter: meter, Platform: platform, Baseline: e == nil, Modelled: meter == model, N: 5, Points: []result.Point{}, Watts: watts, Bound: 0.05, Joules: 10 * watts,
			NetWatts: of(watts - 100.2), NetJoules: of(10 * (watts - 100.2)), NetBound: 0.3, Unit: "event", PerUnit: of(watts / 1000), NetPerUnit: of((watts - 100.2) / 1000), Effect: e}
	}
	refused := func() *result.Effect {
		return &result.Effect{Verdict: result.Refused, Why: "modelled from CPU time, not measured", Words: "not compared: modelled from CPU time, not measured"}
	}
	silent := result.Energy{Meter: pdu, Platform: "lxc", Points: []result.Point{}, Notes: []string{"the power of 5 of 5 launches is not known: the meter was silent for a part of the window"},
		Effect: &result.Effect{Verdict: result.Refused, Why: "no pair of launches of known power; an interval needs at least 3", Words: "not compared"}}
	c.Energy = []result.Energy{
		row(pdu, "native", 160, nil),
		row(pdu, "docker", 161.5, &result.Effect{Verdict: result.Equivalent, Ratio: 1.0094, Low: 1.006, High: 1.013, Words: "no difference within 3 %"}),
		silent,
		row(model, "native", 155, nil), row(model, "docker", 156, refused()),
	}
	return r
}

func TestPowerText(t *testing.T) {
	var b bytes.Buffer
	if err := Text(&b, withPower(synthetic(t))); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"POWER BY snmp://pdu/raritan?outlet=3\n", "POWER BY model:idle=100,core=55 (MODELLED)\n", "native [modelled]", "docker [modelled]",
		"161.50\u00a0±\u00a00.05\u00a0W", "MODELLED, not measured", "model:idle=100.1,core=55.2", "proportionality 0.41", "silent for a part", "100.00 W"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q", want)
		}
	}
	if !regexp.MustCompile(`lxc +not known +–`).MatchString(b.String()) {
		t.Error("the launches without power are not said to be")
	}
	for line := range strings.Lines(b.String()) {
		modelled := strings.Contains(line, "155.0") || strings.Contains(line, "156.0")
		if modelled && !strings.Contains(line, "[modelled]") {
			t.Errorf("a modelled figure without its label: %s", line)
		}
	}
}

func TestPowerPage(t *testing.T) {
	page := renderHTML(t, withPower(synthetic(t)))
	for _, want := range []string{`id="power"`, "What it drew", "modelled, not measured", "at rest: 100.2 W", `class="stack"`, "cpu kept busy", "Power over busy cores", "not known"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if without := renderHTML(t, synthetic(t)); strings.Contains(without, `id="power"`) || strings.Contains(without, "What it drew") {
		t.Error("a page without a meter speaks of power")
	}
}
