package figure

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1: "1", 0.87056: "0.8706", 12.5: "12.5", 999.96: "1000", 1234.5: "1\u202f234", -1234567: "-1\u202f234\u202f567",
		1e-5: "0.00001", 2.6e-7: "0.00000026", 11770: "11\u202f770", 1.5e12: "1\u202f500\u202f000\u202f000\u202f000", math.Inf(1): "–",
	} {
		if got := Number(v); got != want {
			t.Errorf("%v: got %q, want %q", v, got, want)
		}
	}
}

// What Go writes as 1.2e+03, 1e+02 and 2.6e-07.
func TestNoExponents(t *testing.T) {
	for got, want := range map[string]string{
		Digits(1177, 3): "1\u202f177", Digits(99.96, 3): "100", Digits(100, 2): "100", Digits(-0.01234, 2): "-0.012", Digits(0, 2): "0", Digits(math.NaN(), 2): "–",
		Share(11.77): "1\u202f177 %", Share(1): "100 %", Share(0.0314159): "3.14 %", Share(0): "0 %", Share(1e-8): "0.000001 %",
		Drift(1): "+100 %", Drift(-0.00052): "-0.052 %", Drift(0.0123): "+1.2 %",
		P(2.6e-7): "p < 0.0005", P(0.0123): "p = 0.012", P(1): "p = 1", Probability(2.6e-7): "<0.0005", Probability(0.0005): "0.0005",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestNoZeroIsNegative(t *testing.T) {
	for v, want := range map[float64]string{-0.0004: "0.000", -0.0006: "-0.001", 0: "0.000", 10: "10.000"} {
		if got := Fixed(v, 3); got != want {
			t.Errorf("%v: got %q, want %q", v, got, want)
		}
	}
}

func TestNumberKeepsFourDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(-1e12, 1e12).Draw(t, "v")
		back, err := strconv.ParseFloat(strings.ReplaceAll(Number(v), "\u202f", ""), 64)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(back-v) > math.Abs(v)*5e-3 {
			t.Fatalf("%v is written %q", v, Number(v))
		}
	})
}

func TestOneRoundIsNoPlural(t *testing.T) {
	for want, v := range map[string]float64{"1 round": 1, "2 rounds": 2} {
		if got := Quantity(v, "rounds"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := Quantity(1, "ms"); got != "1 ms" {
		t.Errorf("%q", got)
	}
}

func TestCountIsInThePluralOfItsNoun(t *testing.T) {
	for want, got := range map[string]string{
		"0 blocks": Count(0, "block"), "1 launch": Count(1, "launch"), "2 launches": Count(2, "launch"), "12 usable CPUs": Count(12, "usable CPU"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
