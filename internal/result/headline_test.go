package result

import (
	"testing"

	"tare/internal/bench"
)

// The hint after an undecided run says each override once.
func TestMoreBlocksReplaceThoseThatWereAsked(t *testing.T) {
	for want, r := range map[string]*Result{
		"tare run quick --set timing.measure=1s --set blocks=10": {Blocks: 3, Repeat: "tare run quick --set blocks=3 --set timing.measure=1s"},
		"tare run quick --set until.interval=1.5% --set until.max=60": {Until: &bench.Until{Interval: 0.03, Max: 20},
			Repeat: "tare run quick --set 'until.interval=3%' --set until.max=20"},
		"tare selftest aa --comparisons 60": {Blocks: 3, Repeat: "tare selftest aa --comparisons 60"},
	} {
		if got := r.WithMore(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
