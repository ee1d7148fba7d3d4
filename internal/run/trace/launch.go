package trace

import (
	"strconv"

	"tare/internal/bench"
	"tare/internal/guest/agent"
)

// Command is when the first command was asked for, when its end was read and
// when the caller knew, by the host's clock; its zero is none.
type Command struct{ Requested, Ended, Returned int64 }

// Of puts together what is known of an instance's launch: the stamps of its
// driver and of its agent, whose facts and clock the caller has asked for after
// the launch, and the executions the kernel reported.
func Of(i bench.Instance, c *agent.Client, scope bench.Scope, facts map[string]string, clock bench.ClockProbe, found Found, first Command) (*bench.StartUp, error) {
	hello := c.Hello()
	s := Stamps{
		Launched: i.Launched(), Init: found.Init, Executed: found.Agent,
		Began: hello.Began, Serving: hello.Serving, FirstProcess: hello.OwnKernel,
		OwnKernel: scope.OwnKernel, Offset: clock.Offset, Uncertainty: clock.Uncertainty,
		Greeted: c.GreetedAt(), Requested: first.Requested, Ended: first.Ended, Returned: first.Returned,
	}
	if scope.Inner != nil {
		s.OwnKernel = scope.Inner.OwnKernel
	}
	if sent, err := strconv.ParseInt(facts[bench.FactGreetingSent], 10, 64); err == nil && !relayed(i) {
		s.Sent = sent
	}
	if t, ok := i.(bench.Traced); ok {
		s.Own = t.Trace()
	}
	return s.StartUp()
}

func relayed(i bench.Instance) bool {
	r, ok := i.(bench.Relaying)
	return ok && r.Relays()
}
