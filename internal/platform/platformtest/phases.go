package platformtest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/guest/agent"
	"tare/internal/host/clock"
	"tare/internal/run/trace"
)

// testPhases traces a launch: its phases must follow each other from the start
// command to the end of the first command, and Tare's own spans lie within.
func testPhases(t *testing.T, s *suite) {
	events, err := trace.Listen()
	if err != nil && !errors.Is(err, bench.ErrUnavailable) {
		t.Fatal(err)
	}
	if events != nil {
		defer events.Close()
	}
	b := s.start(t)
	p, err := b.agent.Start(t.Context(), bench.Command{Argv: []string{"/bin/true"}, Timeout: s.slow(time.Minute), Bare: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Wait(t.Context())
	done := clock.Now()
	if err != nil || out.Exit != 0 {
		t.Fatalf("first command: %v, exit %d", err, out.Exit)
	}
	facts, err := b.agent.Facts(t.Context(), agent.FactsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	o, err := b.agent.Probe(t.Context(), 8)
	if err != nil {
		t.Fatal(err)
	}
	scope, err := b.Scope()
	if err != nil {
		t.Fatal(err)
	}
	var found trace.Found
	if events != nil {
		seen, err := events.Read()
		if err != nil {
			t.Logf("some executions may be missing, so none is used: %v", err)
		}
		found = trace.Find(seen.Execs, s.env.AgentPath, b.Launched(), b.agent.GreetedAt())
	}
	u, err := trace.Of(b.Instance, b.agent, scope, facts, bench.ClockProbe{Offset: o.Offset, Uncertainty: o.Uncertainty}, found,
		trace.Command{Requested: p.Requested(), Ended: p.Ended(), Returned: done})
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	var words []string
	for _, p := range u.Phases {
		sum += p.End - p.Start
		words = append(words, fmt.Sprintf("%s %.2f", p.Name, float64(p.End-p.Start)/1e6))
	}
	if whole := done - b.Launched(); sum != whole {
		t.Errorf("the phases sum to %d ns, and the launch took %d", sum, whole)
	}
	if u.Phase(bench.PhaseCommand) <= 0 || u.Phase(bench.PhaseAgent) <= 0 {
		t.Errorf("no time from the agent's start to its greeting, or to the end of the first command: %v", words)
	}
	if own := u.OwnTime(); own <= 0 || own >= sum {
		t.Errorf("Tare's own share is %d ns of %d", own, sum)
	}
	for _, o := range u.Own {
		words = append(words, fmt.Sprintf("%q %.2f", o.Name, float64(o.End-o.Start)/1e6))
	}
	t.Logf("%s ms; known to %.3f ms", strings.Join(words, ", "), float64(o.Uncertainty)/1e6)
}
