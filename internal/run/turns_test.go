package run

import (
	"errors"
	"math"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/run/containment"
)

// The seconds of a stretch in which a side was not frozen.
func TestWorked(t *testing.T) {
	s := side{spans: []thawed{{0, 100e6}, {200e6, 250e6}, {300e6, math.MaxInt64}}}
	for _, c := range []struct {
		from, to int64
		want     float64
	}{
		{0, 100e6, 0.1},
		{50e6, 220e6, 0.07},
		{100e6, 200e6, 0},
		{120e6, 180e6, 0},
		{0, 400e6, 0.25},
		{210e6, 240e6, 0.03},
		{1000e6, 3000e6, 2},
		{300e6, 300e6, 0},
	} {
		if got := s.worked(c.from, c.to); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("worked from %d to %d: %v s, want %v", c.from, c.to, got, c.want)
		}
	}
}

// counts is a counter whose program prints its work and its time in ms.
type counts struct{ counter }

func (counts) Countless(bench.Params) error { return nil }

func (counts) Counted(_ bench.Params, out bench.Output) (float64, time.Duration, error) {
	if len(out.Stdout) == 0 {
		return 0, 0, errors.New("nothing was printed")
	}
	return float64(out.Stdout[0] - '0'), 100 * time.Millisecond, nil
}

// The value is of rates, each by the side's own time: equal counts in half the time are twice the rate.
func TestTurnsCollect(t *testing.T) {
	j := &jobs{workloads: map[string]bench.Workload{"counter": counts{}, "mute": counter{}}, account: &account{}}
	of := func(role bench.Role, printed string, spans ...thawed) *side {
		a := &actor{Actor: bench.Actor{Name: string(role), Role: role, Workload: "counter"}, ended: 200e6}
		a.outcome.Output = &bench.Output{Stdout: []byte(printed)}
		return &side{actor: a, spans: spans}
	}
	x := &turns{sides: [2]*side{
		of(bench.Partner, "6", thawed{0, 140e6}), // 40 ms of its 100
		of(bench.Subject, "9", thawed{140e6, math.MaxInt64}),
	}}
	if err := x.collect(j); err != nil {
		t.Fatal(err)
	}
	if v := x.sides[1].actor.outcome.Values; len(v) != 1 || v[0].Metric != "rate_in_turns" || math.Abs(v[0].Value-1) > 1e-12 {
		t.Errorf("9 in 60 ms over 6 in 40 ms: %v", v)
	}
	if o := j.account.outcome.Turns; o == nil || len(o.Sides) != 2 || o.Sides[0].Actor != "partner" || o.Sides[0].Work != 6 || math.Abs(o.Sides[0].Seconds-0.04) > 1e-12 {
		t.Errorf("kept: %+v", o)
	}
	for name, s := range map[string]*side{
		"frozen all the time": of(bench.Subject, "9", thawed{0, 90e6}),
		"nothing counted":     of(bench.Subject, "0", thawed{0, math.MaxInt64}),
		"nothing printed":     of(bench.Subject, "", thawed{0, math.MaxInt64}),
	} {
		if got, err := s.count(j); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	mute := of(bench.Subject, "9", thawed{0, math.MaxInt64})
	mute.actor.Workload = "mute"
	if _, err := mute.count(j); !errors.Is(err, bench.ErrInvalid) {
		t.Errorf("a workload that does not count: %v", err)
	}
}

// A plan whose scene has no pair to take turns, or that nothing here can freeze, is refused.
func TestNoTurns(t *testing.T) {
	one := cast{{Actor: bench.Actor{Name: "subject", Role: bench.Subject}}}
	if _, err := newTurns(&containment.Guard{Run: "test"}, time.Second, 1, one); !errors.Is(err, bench.ErrInvalid) || bench.HintOf(err) == "" {
		t.Errorf("without a partner: %v", err)
	}
	if _, err := newTurns(nil, time.Second, 1, one); !errors.Is(err, bench.ErrUnavailable) {
		t.Errorf("without a guard: %v", err)
	}
}
