package analysis

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
)

// A report says how many trials are not of the host that the run began on, and
// in what they differ.
func TestMixedTrialsAreSaid(t *testing.T) {
	kernel, program := "kernel: 6.1 when the run began, 6.12 now", "tare: 0.1.0 when the run began, 0.2.0 now"
	c := crafted{metric: throughput, platform: []string{"native", "lxc"}, blocks: 3,
		values: map[string][]float64{"native": {10, 10, 10}, "lxc": {9, 9, 9}}}
	says := func(text string) bool { return strings.HasPrefix(text, "trials are mixed: ") }
	if r := analyze(t, c.write(t)); r.Mixed != nil || slices.ContainsFunc(r.Warnings, says) {
		t.Errorf("of one host: %+v, %q", r.Mixed, r.Warnings)
	}
	c.edit = func(o *bench.Outcome) {
		switch o.Block {
		case 2:
			o.Mixed = []string{kernel}
		case 3:
			o.Mixed = []string{kernel, program}
		}
	}
	c.blocks = 9 // of which six are not measured yet, and count for nothing here
	r := analyze(t, c.write(t))
	if want := (&result.Mixed{Trials: 4, Differs: []string{kernel, program}}); !reflect.DeepEqual(r.Mixed, want) {
		t.Errorf("%+v, want %+v", r.Mixed, want)
	}
	i := slices.IndexFunc(r.Warnings, says)
	if i < 0 || !strings.Contains(r.Warnings[i], "4 of 6") || !strings.Contains(r.Warnings[i], kernel+"; "+program) {
		t.Errorf("%q", r.Warnings)
	}
}
