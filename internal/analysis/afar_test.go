package analysis

import (
	"net/netip"
	"testing"

	"tare/internal/bench"
)

// Of a host that loads from afar the result says where it finds subjects, the speed of the wire and the worst bound of
// its clock; what is not known is left out.
func TestFurtherHostsAreFacts(t *testing.T) {
	p := &bench.Plan{Hosts: []bench.FurtherHost{{Name: "load1", Reach: netip.MustParsePrefix("10.0.0.7/24")}, {Name: "load2", Reach: netip.MustParsePrefix("10.0.0.8/24")}}}
	trial := func(wire string, bound int64) launch {
		return launch{outcome: &bench.Outcome{Actors: []bench.ActorOutcome{
			{Actor: "subject", ClockUncertainty: 9e6},
			{Actor: "peer", Host: "load1", Version: "6.1.0", ClockUncertainty: bound, Facts: map[string]string{bench.FactWire: wire}},
		}}}
	}
	got := furtherHosts(p, []launch{{}, trial("941000000", 150_000), trial("941000000", 250_000)})
	want := []string{"loads from afar, and finds subjects at 10.0.0.7; Linux 6.1.0; one connection to it carried 941 Mbit/s; its clock is known to 0.25 ms", "loads from afar, and finds subjects at 10.0.0.8"}
	for i, f := range got {
		if f.Name != "host "+p.Hosts[i].Name || f.Value != want[i] {
			t.Errorf("%s: %q, want %q", f.Name, f.Value, want[i])
		}
	}
	if len(got) != 2 {
		t.Errorf("%d facts", len(got))
	}
}

// A load side on a further host is kept on as many CPUs as it sees.
func TestLoadBusyAfar(t *testing.T) {
	o := under(0)
	o.Actors[1].CPUSet, o.Actors[1].CPUsSeen = nil, 2
	o.Actors[1].Output.User, o.Actors[1].Output.System = o.Actors[1].Output.Wall, 0
	if got := (&launches{done: []*bench.Outcome{o}}).loadBusy(); got != 0.5 {
		t.Errorf("%v", got)
	}
}
