package run

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tare/internal/bench"
	"tare/internal/platform/fake"
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
	if len(m.other) > 1024 {
		t.Errorf("%d bytes kept", len(m.other))
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
		got, err := combine([]bench.Metric{{Name: "m", Combine: rule}, {Name: "absent", Combine: rule}}, as)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 || got[0].Value != want {
			t.Errorf("%s of 1, 2 and 6 is %v, want %v", rule, got, want)
		}
	}
}

// The percentile of two instances is that of all their requests, neither the
// worst of the two nor a mean.
func TestCombineMergesHistograms(t *testing.T) {
	instance := func(p99 float64, bins ...bench.Bin) *actor {
		return &actor{outcome: bench.ActorOutcome{Values: []bench.Value{{Metric: "p99_latency", Value: p99}},
			Histograms: []bench.Histogram{{Name: "latency", Grid: "g", Bins: bins,
				Min: [2]int64{bins[0].Low, bins[0].Low}, Max: [2]int64{bins[len(bins)-1].High, bins[len(bins)-1].High}}}}}
	}
	m := bench.Metric{Name: "p99_latency", Unit: "us", Combine: bench.Merge, Histogram: "latency", Quantile: 0.99}
	quick := instance(1.5, bench.Bin{Low: 1000, High: 2000, Count: 9900})
	slow := instance(9.5, bench.Bin{Low: 1000, High: 2000, Count: 50}, bench.Bin{Low: 9000, High: 10000, Count: 50})
	got, err := combine([]bench.Metric{m}, []*actor{quick, slow})
	if err != nil || len(got) != 1 || got[0].Value != 1.5 {
		t.Errorf("of 10000 requests 50 were slow: p99 %v, %v, want 1.5", got, err)
	}
	if got, err = combine([]bench.Metric{m}, []*actor{slow}); err != nil || got[0].Value != 9.5 {
		t.Errorf("one instance: %v, %v, want its own value", got, err)
	}
	slow.outcome.Histograms = nil
	if got, err = combine([]bench.Metric{m}, []*actor{quick, slow}); err == nil || !strings.Contains(err.Error(), "1 of 2 subjects") {
		t.Errorf("one histogram is missing: %v, %v", got, err)
	}
}

// checked is a workload that checks its result after the window.
type checked struct{ counter }

func (c checked) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	steps, err := c.counter.Steps(part, p, s)
	steps.GoesOn = true
	return steps, err
}

// A program that goes on after its window is waited for, and may still fail.
func TestAProgramGoesOnAfterItsWindow(t *testing.T) {
	for script, fails := range map[string]string{
		"echo 7; echo begin; sleep 0.1; echo end; sleep 0.6":                  "",
		"echo 7; echo begin; sleep 0.1; echo end; echo wrong sum >&2; exit 3": `exit status 3: "wrong sum"`,
		"echo 7; echo begin; echo too few records >&2; exit 4":                `ended without printing "end": "too few records"`,
		"echo 7; echo begin; echo end; exec sleep 60":                         "no end after 5s",
	} {
		r, s := newRunner(t, checked{counter{begin: "begin", end: "end"}}, fake.Options{}, scene("checks", subjects(1, bench.Params{"script": script})))
		if err := r.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		o := s.outcomes[0]
		if fails != "" {
			if o.Status != bench.Failed || !strings.Contains(o.Error, fails) || len(o.Values) > 0 {
				t.Errorf("%s: %s: %q, values %v", script, o.Status, o.Error, o.Values)
			}
			continue
		}
		if o.Status != bench.Done || len(o.Values) != 1 {
			t.Fatalf("%s: %s: %s", script, o.Status, o.Error)
		}
		if width, wall := time.Duration(o.Window[1]-o.Window[0]), o.Actors[0].Output.Wall; wall < 600*time.Millisecond || wall-width < 500*time.Millisecond {
			t.Errorf("a window of %v in a run of %v", width, wall)
		}
	}
}
