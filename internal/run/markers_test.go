package run

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/bench"
)

// However the output is cut into pieces, the markers are found, in order.
func TestMarkersInPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		filler := rapid.StringMatching(`[a-z\n]{0,40}`)
		text := filler.Draw(t, "before") + "BEGIN" + filler.Draw(t, "between") + "END" + filler.Draw(t, "after")
		if rapid.Bool().Draw(t, "an end before the beginning") {
			text = "END" + text
		}
		began := 0
		m := markers{begin: []byte("BEGIN"), end: []byte("END"), ended: make(chan struct{}), onBegin: func() { began++ }}
		for rest := text; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			m.feed([]byte(rest[:n]))
			rest = rest[n:]
		}
		ended := false
		select {
		case <-m.ended:
			ended = true
		default:
		}
		if began != 1 || !ended {
			t.Errorf("in %q began %d times, ended %v", text, began, ended)
		}
	})
}

func TestMarkersAbsent(t *testing.T) {
	m := markers{begin: []byte("BEGIN"), end: []byte("END"), ended: make(chan struct{}), onBegin: func() { t.Error("began") }}
	for range 100 {
		m.feed([]byte(strings.Repeat("no such text END ", 10)))
	}
	if len(m.rest) > 1024 {
		t.Errorf("%d bytes kept", len(m.rest))
	}
	select {
	case <-m.ended:
		t.Error("ended without a beginning")
	default:
	}
}

func TestCombine(t *testing.T) {
	var as []*actor
	for _, v := range []float64{1, 2, 6} {
		as = append(as, &actor{outcome: bench.ActorOutcome{Values: []bench.Value{{Metric: "m", Value: v}}}})
	}
	for rule, want := range map[bench.Combine]float64{bench.Sum: 9, bench.Mean: 3, bench.Max: 6} {
		got := combine([]bench.Metric{{Name: "m", Combine: rule}, {Name: "absent", Combine: rule}}, as)
		if len(got) != 1 || got[0].Value != want {
			t.Errorf("%s of 1, 2 and 6 is %v, want %v", rule, got, want)
		}
	}
}
