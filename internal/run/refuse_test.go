package run

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/guest/agent"
	"tare/internal/host/clock"
	"tare/internal/platform/fake"
)

const ms = int64(time.Millisecond)

// host makes a reading of the host at the second, that took 1 ms.
func host(second int, values map[string]float64) reading {
	at := int64(second) * 1000 * ms
	return reading{asked: at, received: at + ms,
		Sample: bench.Sample{At: at, Took: ms, Level: bench.Host, Meter: "proc", Values: values}}
}

// inside makes one of the actor "a" whose clock is guest at it.
func inside(second int, guest int64, values map[string]float64) reading {
	r := host(second, values)
	r.Level, r.Actor, r.Meter, r.Guest = bench.Guest, "a", "agent", guest
	return r
}

func one(column string, v float64) map[string]float64 { return map[string]float64{column: v} }

// readings are those of one column at the seconds from 1.
func readings(column string, vs ...float64) []reading {
	var rs []reading
	for i, v := range vs {
		rs = append(rs, host(i+1, one(column, v)))
	}
	return rs
}

func altered(r reading, f func(*reading)) []reading {
	f(&r)
	return []reading{r}
}

func atLayer(rs []reading) []reading {
	for i := range rs {
		rs[i].Level, rs[i].Actor = bench.Layer, "a"
	}
	return rs
}

func TestRefuse(t *testing.T) {
	// The guest's clock is 500 s ahead, known to 2 ms; launched at 0.5 s.
	ahead := &bench.ClockFit{Offset: 500_000 * ms, Uncertainty: 2 * ms}
	stopped := &bench.ClockFit{Fault: "it moved"}
	sound := limits{launched: 500 * ms, clock: ahead, cpus: 2, inside: 1, ownKernel: true, wire: 1e6, memory: 9e9}
	guestAt := func(second float64) int64 { return 500_000*ms + int64(second*1e3)*ms }
	busy := one(bench.ColCPUBusy, 1)
	for _, c := range []struct {
		name   string
		rs     []reading
		limits *limits
		kept   int
		want   []string // one text of each refusal
	}{
		{name: "sound host", rs: readings(bench.ColCPUBusy, 1, 3, 5), kept: 3},
		{name: "sound guest", rs: []reading{inside(1, guestAt(1), busy), inside(2, guestAt(2), busy)}, kept: 2},
		{name: "within the clock's bound", rs: []reading{inside(1, guestAt(0.9985), busy)}, kept: 1},
		{name: "before it was asked for", rs: []reading{inside(1, guestAt(0.9), busy)}, want: []string{"100000000 ns before it was asked for"}},
		{name: "before the launch", rs: []reading{inside(1, guestAt(0.4), busy)}, want: []string{"100000000 ns before the launch"}},
		{name: "after it was received", rs: []reading{inside(1, guestAt(1.1), busy)}, want: []string{"ns after it was received"}},
		{name: "asked for before the launch", rs: altered(inside(0, guestAt(1), busy), func(*reading) {}), want: []string{"before the launch"}},
		{name: "time going back", rs: []reading{inside(1, guestAt(1), busy), inside(2, guestAt(0.9), busy)}, kept: 1, want: []string{"clock went back"}},
		{name: "faulty clock", limits: &limits{clock: stopped}, rs: []reading{inside(1, 7, busy)}, want: []string{"at 7 ns, cannot be trusted: it moved"}},
		{name: "unknown clock", limits: &limits{}, rs: []reading{inside(1, 7, busy)}, want: []string{"never compared"}},
		{name: "took less than nothing", rs: altered(host(1, busy), func(r *reading) { r.Took = -5 }), want: []string{"received 5 ns before"}},
		{name: "answered before it was asked", rs: altered(host(1, busy), func(r *reading) { r.received = r.asked - 9 }), want: []string{"received 9 ns before"}},
		{name: "cost less than nothing", rs: altered(host(1, busy), func(r *reading) { r.CPU = -3 }), want: []string{"-3 ns of CPU"}},
		{name: "early", rs: altered(host(1, busy), func(r *reading) { r.Late = -4 }), want: []string{"4 ns before it was due"}},
		{name: "no number", rs: readings(bench.ColNetRx, math.NaN(), math.Inf(1)), want: []string{"NaN", "+Inf"}},
		{name: "negative", rs: readings(bench.ColMemUsed, -1), want: []string{"mem_used_bytes: -1 is negative"}},
		{name: "busy time counts from anywhere", rs: readings(bench.ColCPUBusy, -100, -99), kept: 2},
		{name: "memory may fall", rs: readings(bench.ColMemUsed, 2, 1), kept: 2},
		{name: "waiting for I/O may fall", rs: readings(bench.ColCPUIOWait, 2, 1), kept: 2},
		{name: "busy time wavers by ticks", rs: readings(bench.ColCPUBusy, 2, 1.97, 2), kept: 3},
		{name: "busy time falls", rs: readings(bench.ColCPUBusy, 2, 1.9), kept: 1, want: []string{"fell from 2 to 1.9"}},
		{name: "a counter started anew", rs: readings(bench.ColDiskRead, 100, 5, 200, 300), kept: 1,
			want: []string{"fell from 100 to 5; 2 later readings"}},
		{name: "all CPUs and two ticks of each", rs: readings(bench.ColCPUUser, 1, 3.04), kept: 2},
		{name: "more than all CPUs", rs: readings(bench.ColCPUUser, 1, 3.1), kept: 1, want: []string{"grew by 2.100 s in 1.000 s, of 2 CPUs"}},
		{name: "more than all CPUs in the long run", rs: readings(bench.ColCPUUser, 1, 3.04, 5.08, 7.12), kept: 2,
			want: []string{"4.080 s in 2.000 s", "4.080 s in 2.000 s"}},
		{name: "more than the instance's CPUs", rs: []reading{inside(1, guestAt(1), one(bench.ColCPUUser, 1)), inside(2, guestAt(2), one(bench.ColCPUUser, 2.5))},
			kept: 1, want: []string{"of 1 CPUs"}},
		// The second reading missed a process that ended.
		{name: "a sum over processes catches up", rs: atLayer(readings(bench.ColCPUUser, 2, 2, 6)), kept: 3},
		{name: "a sum over processes beyond that", rs: atLayer(readings(bench.ColCPUUser, 2, 2, 6.2)), kept: 2, want: []string{"of 2 CPUs"}},
		{name: "the wire full", rs: atLayer(readings(bench.ColNetRx, 0, 1e6)), kept: 2},
		{name: "above the wire", rs: atLayer(readings(bench.ColNetRx, 0, 1e9)), kept: 1, want: []string{"above the wire's 1e+06"}},
		{name: "more memory than there is", rs: readings(bench.ColMemUsed, 1.7e308, 5e-324, 2e15), want: []string{"1.7e+308", "5e-324", "2e+15 is more than a host has of memory, in bytes"}},
		{name: "more memory than the host has", rs: []reading{inside(1, guestAt(1), one(bench.ColMemCache, 8e9)), inside(2, guestAt(2), one(bench.ColMemCache, 9.1e9))},
			kept: 1, want: []string{"more than the host has: 9e+09"}},
		{name: "shared memory is counted by each process", rs: []reading{inside(1, guestAt(1), one(bench.ColMemRSS, 2e10))}, kept: 1},
		{name: "faster than a disk", rs: readings(bench.ColDiskRead, 0, 1e11, 2e13), kept: 2, want: []string{"no disk carries more"}},
		{name: "a time of no clock", rs: []reading{inside(1, math.MinInt64, busy)}, want: []string{"not a time of a monotonic clock"}},
		{name: "no wire is known", rs: readings(bench.ColNetRx, 0, 1e12), kept: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := sound
			if c.limits != nil {
				l = *c.limits
			}
			kept, refused := refuse(c.rs, map[string]limits{"": {cpus: 2}, "a": l})
			if len(kept) != c.kept || len(refused) != len(c.want) {
				t.Fatalf("kept %d of %d, want %d; refused %+v", len(kept), len(c.rs), c.kept, refused)
			}
			for i, r := range refused {
				if !strings.Contains(r.What, c.want[i]) || r.Meter == "" || r.Level == "" {
					t.Errorf("refused %+v, want %q", r, c.want[i])
				}
			}
		})
	}
}

// A guest that lies without end is told of, and fills nothing.
func TestRefusalsAreBounded(t *testing.T) {
	lies := slices.Repeat([]float64{math.Inf(1)}, 5000)
	_, refused := refuse(readings(bench.ColMemUsed, lies...), nil)
	if len(refused) != mostRefused+1 || !strings.Contains(refused[mostRefused].What, "4000 more readings were refused than these 1000; the last: mem_used_bytes: +Inf") {
		t.Errorf("%d refusals, the last %+v", len(refused), refused[len(refused)-1])
	}
}

// What is wrong with one column costs no other.
func TestRefusedValueLeavesTheOthers(t *testing.T) {
	kept, refused := refuse([]reading{host(1, map[string]float64{bench.ColNetRx: -1, bench.ColNetTx: 5})}, map[string]limits{"": {cpus: 2}})
	if len(kept) != 1 || len(refused) != 1 || !maps.Equal(kept[0].Values, one(bench.ColNetTx, 5)) {
		t.Errorf("kept %+v, refused %+v", kept, refused)
	}
}

// A guest sample lies on the host's line where its clock puts it, and never
// outside its round trip.
func TestGuestSamplesArePlaced(t *testing.T) {
	fit := &bench.ClockFit{Offset: 500_000 * ms, Uncertainty: 2 * ms}
	for guest, want := range map[int64]int64{ms / 2: ms / 2, -ms: 0, 2 * ms: ms} {
		kept, refused := refuse([]reading{inside(1, 501_000*ms+guest, one("x", 1))}, map[string]limits{"a": {clock: fit}})
		if len(refused) > 0 || kept[0].Late != want || kept[0].Guest != 501_000*ms+guest {
			t.Errorf("%d ns after: %+v, refused %+v", guest, kept, refused)
		}
	}
}

func TestClocksAreKnownOfASoundTrial(t *testing.T) {
	r, s := newRunner(t, counter{}, fake.Options{}, scene("a", subjects(2, nil)))
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for _, a := range s.outcomes[0].Actors {
		c := a.Clock
		if c == nil || c.Fault != "" || a.ClockOffset != c.Offset || a.ClockUncertainty != c.Uncertainty {
			t.Fatalf("%s: %+v", a.Actor, a)
		}
		// It is the host's own clock.
		if c.Offset < -c.Uncertainty || c.Offset > c.Uncertainty {
			t.Errorf("%s: the offset from itself is %d ± %d ns", a.Actor, c.Offset, c.Uncertainty)
		}
		var phases []string
		for _, p := range c.Probes {
			phases = append(phases, p.Phase)
		}
		if phases = slices.Compact(phases); !slices.Equal(phases, []string{"prepare", "measure", "collect"}) {
			t.Errorf("%s was compared in %v", a.Actor, phases)
		}
	}
	if n := len(s.outcomes[0].Refused); n > 0 {
		t.Errorf("refused %+v", s.outcomes[0].Refused)
	}
}

// A clock that is stepped while the program runs is found out, and nothing that
// was read by it is left.
func TestClockSteppedInMidTrial(t *testing.T) {
	for _, step := range []time.Duration{time.Second, -time.Second} {
		fault := func(bench.Launch) fake.Fault { return fake.Fault{Step: step, StepAfter: 300 * time.Millisecond} }
		r, s := newRunner(t, counter{}, fake.Options{Fault: fault}, scene("a", subjects(1, bench.Params{"script": "sleep 0.6; echo 7"})))
		if err := r.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		o := s.outcomes[0]
		c := o.Actors[0].Clock
		if o.Status != bench.Done || c == nil || !strings.Contains(c.Fault, "moved by") {
			t.Fatalf("step of %v: %s: %s, %+v", step, o.Status, o.Error, c)
		}
		if len(o.Warnings) == 0 || !strings.Contains(o.Warnings[0], "cannot be trusted") {
			t.Errorf("warnings %q", o.Warnings)
		}
		for _, x := range s.samples[o.Trial] {
			if x.Level == bench.Guest {
				t.Fatalf("kept %+v", x)
			}
		}
		if len(o.Refused) < 5 || o.Refused[0].Level != bench.Guest {
			t.Errorf("refused %+v", o.Refused)
		}
	}
}

// An agent that is up before it was launched ends the trial, on record.
func TestReadyBeforeTheLaunchIsRefused(t *testing.T) {
	r, s := newRunner(t, counter{}, fake.Options{}, scene("a", subjects(1, nil)))
	e := r.Engines["fake"]
	e.Engine = early{e.Engine}
	r.Engines["fake"] = e
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	o := s.outcomes[0]
	if o.Status != bench.Failed || o.Phase != "launch" || !strings.Contains(o.Error, "clock cannot be trusted") || o.Actors[0].ReadyMS != 0 {
		t.Errorf("%s in %s: %s; ready after %v ms", o.Status, o.Phase, o.Error, o.Actors[0].ReadyMS)
	}
	if len(o.Refused) != 1 || o.Refused[0].Actor != "subject-0" || !strings.HasPrefix(o.Refused[0].What, "ready: the agent greeted -") {
		t.Errorf("refused %+v", o.Refused)
	}
}

// early is an engine whose instances claim a launch that is yet to come.
type early struct{ bench.Engine }

func (e early) Start(ctx context.Context, l bench.Launch) (bench.Instance, error) {
	i, err := e.Engine.Start(ctx, l)
	return launched{i, clock.Now() + int64(time.Hour)}, err
}

func TestClockThatIsLostAfterTheMeasurementIsAtFault(t *testing.T) {
	r, _ := newRunner(t, counter{}, fake.Options{})
	i, err := r.Engines["fake"].Start(t.Context(), bench.Launch{ID: "a", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close(t.Context())
	a := &actor{Actor: bench.Actor{Name: "a"}, instance: launched{at: 0}}
	if a.client, err = agent.Dial(t.Context(), i.Stream()); err != nil {
		t.Fatal(err)
	}
	if err := a.probe(t.Context(), "prepare", 1); err != nil {
		t.Fatal(err)
	}
	a.client.Close()
	k, actors := &account{}, cast{a}
	actors.probeAfter(t.Context())
	settle(k, actors, []reading{inside(1, 1000*ms, one("x", 1))}, 0)
	if f := a.outcome.Clock; f == nil || !strings.Contains(f.Fault, "not known after the measurement: compare the clock of a") || len(k.samples) > 0 || len(k.outcome.Refused) != 1 {
		t.Errorf("%+v, samples %v, refused %+v", f, k.samples, k.outcome.Refused)
	}
}

// launched is an instance that says when it was launched.
type launched struct {
	bench.Instance
	at int64
}

func (l launched) Launched() int64 { return l.at }
