package qemu

import (
	"math"
	"testing"
)

// Two measurements agree, and say what a counter can be like.
func TestTSC(t *testing.T) {
	if !hasTSC {
		t.Skip("no time-stamp counter")
	}
	a, err := tscKHz()
	if err != nil {
		t.Fatal(err)
	}
	b, err := tscKHz()
	if err != nil {
		t.Fatal(err)
	}
	if a < 100_000 || a > 20_000_000 || math.Abs(float64(a-b)) > 0.01*float64(a) {
		t.Errorf("the host's counter runs at %d and %d kHz", a, b)
	}
}
