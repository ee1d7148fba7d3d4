package report

import (
	"bytes"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
)

// The column of others is there only where there are others.
func TestUsageOfOthers(t *testing.T) {
	native := result.Usage{Platform: "native", GuestCPU: result.Known(0.5), LayerCPU: result.Known(0)}
	lxc := result.Usage{Platform: "lxc", GuestCPU: result.Known(0.5), LayerCPU: result.Known(0), Others: map[bench.Role]float64{bench.Peer: 0.25, bench.Neighbour: 0.125}}
	alone, beside := result.Case{Usage: []result.Usage{native}}, result.Case{Usage: []result.Usage{native, lxc}}
	var without, with bytes.Buffer
	usageText(&without, alone, false)
	usageText(&with, beside, false)
	if strings.Contains(strings.ToUpper(without.String()), "OTHERS") {
		t.Errorf("without others:\n%s", without.String())
	}
	for _, want := range []string{"LAYER  OTHERS  REST", "0.500  0.000  –  ", "0.500  0.000  0.375  ", othersNote} {
		if !strings.Contains(with.String(), want) {
			t.Errorf("%q is not in\n%s", want, with.String())
		}
	}
}

func TestConditionsSayWhatSwapThereWas(t *testing.T) {
	c := result.Case{Conditions: map[string]string{bench.CondSwap: "1GiB"}, SwapSpaces: "/dev/sda2 8 GiB"}
	if got, want := conditionsOf(c), "swap 1GiB (swap spaces there: /dev/sda2 8 GiB)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
