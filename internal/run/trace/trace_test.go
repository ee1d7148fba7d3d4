package trace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/bench"
)

// lengths writes the phases as "create 10, agent 5".
func lengths(spans []bench.Span) string {
	var parts []string
	for _, s := range spans {
		parts = append(parts, fmt.Sprintf("%s %d", s.Name, s.End-s.Start))
	}
	return strings.Join(parts, ", ")
}

func own(name string, from, to int64) bench.Span {
	return bench.Span{Name: name, Start: from, End: to, Whose: bench.OfTare}
}

func TestStartUp(t *testing.T) {
	const guest = 5000 // the host's time at which the guests' clocks begin
	for _, c := range []struct {
		name        string
		s           Stamps
		phases, own string
	}{
		{"a container, by the kernel's report",
			Stamps{Launched: 1000, Executed: 1100, Began: 1110, Sent: 1190, Greeted: 1200, Requested: 1203, Ended: 1300, Returned: 1301, Uncertainty: 4},
			"create 100, agent 100, first command 101", "hear the greeting 10, ask for the first command 3, hear of its end 1"},
		{"without the report", Stamps{Launched: 1000, Began: 1110, Sent: 1190, Greeted: 1200, Offset: 3, Uncertainty: 4}, "create 110, agent 90", "hear the greeting 10"},
		{"an agent that says nothing of itself", Stamps{Launched: 1000, Greeted: 1200, Requested: 1203, Ended: 1300, Returned: 1300}, "create 200, first command 100", "ask for the first command 3"},
		{"a system container", Stamps{Launched: 1000, Init: 1050, Executed: 1150, Began: 1151, Greeted: 1200}, "create 50, init 100, agent 50", ""},
		{"an init from before the launch", Stamps{Launched: 1000, Init: 10, Executed: 1150, Greeted: 1200}, "create 150, agent 50", ""},
		{"a virtual machine",
			Stamps{Launched: 4000, Began: 700, Serving: 900, Sent: 940, Greeted: 5950, Requested: 5960, Ended: 6000, Returned: 6002,
				FirstProcess: true, OwnKernel: true, Offset: -guest, Uncertainty: 5},
			"create 1000, kernel 700, init 200, agent 50, first command 52", "hear the greeting 10, ask for the first command 10, hear of its end 2"},
		{"a sandbox with a kernel", Stamps{Launched: 4000, Began: 700, Greeted: 5950, OwnKernel: true, Offset: -guest, Uncertainty: 5}, "create 1000, kernel 700, agent 250", ""},
		{"a clock that began before the launch", Stamps{Launched: 6000, Began: 1700, Greeted: 6800, OwnKernel: true, Offset: -guest, Uncertainty: 5}, "create 700, agent 100", ""},
		{"stamps that touch within what they are known to", Stamps{Launched: 4000, Began: 952, Greeted: 5950, Offset: -guest, Uncertainty: 5}, "create 1952, agent 0", ""},
		{"a driver at work", Stamps{Launched: 1000, Executed: 1100, Greeted: 1200,
			Own: []bench.Span{own("pin", 1040, 1060), own("start", 1000, 1050), own("late", 1190, 1300), own("before", 900, 1001)}},
			"create 100, agent 100", "before 1, start 49, pin 10, late 10"},
	} {
		u, err := c.s.StartUp()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if d := cmp.Diff(c.phases, lengths(u.Phases)); d != "" {
			t.Errorf("%s: phases %s", c.name, d)
		}
		if d := cmp.Diff(c.own, lengths(u.Own)); d != "" {
			t.Errorf("%s: Tare's own %s", c.name, d)
		}
		for _, p := range u.Phases {
			if p.Source == "" || p.Whose == "" {
				t.Errorf("%s: phase %+v does not say whose it is, or how it is known", c.name, p)
			}
		}
	}
}

func TestStartUpRefusesWhatContradictsItself(t *testing.T) {
	for name, s := range map[string]Stamps{
		"greeted before the launch":    {Launched: 1000, Greeted: 900},
		"executed after the greeting":  {Launched: 1000, Executed: 1300, Greeted: 1200},
		"began after the greeting":     {Launched: 4000, Began: 970, Greeted: 5950, Offset: -5000, Uncertainty: 5},
		"returned before the greeting": {Launched: 1000, Executed: 1100, Greeted: 1200, Returned: 1150},
	} {
		if u, err := s.StartUp(); err == nil {
			t.Errorf("%s: %+v", name, u)
		}
	}
}

func TestKnown(t *testing.T) {
	u, err := Stamps{Launched: 4000, Began: 700, Serving: 900, Greeted: 5950, FirstProcess: true, OwnKernel: true, Offset: -5000, Uncertainty: 5}.StartUp()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range u.Phases {
		if p.Known != 5 {
			t.Errorf("phase %s, between a guest's stamps, is known to %d ns, want 5", p.Name, p.Known)
		}
	}
}
