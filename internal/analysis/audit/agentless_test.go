package audit

import (
	"testing"

	"tare/internal/bench"
)

// agentless is a side whose subject is a machine without an agent that booted the files.
func agentless(platform, files string) Side {
	s := clean(platform)
	each(0, func(a *bench.ActorOutcome) {
		a.Scope, a.Kernel, a.CPUsSeen, a.Clock = &bench.Scope{OwnKernel: true}, "", 0, nil
		a.Facts = map[string]string{bench.FactOwnKernel: files, bench.FactReady: "accepted"}
	})(&s)
	return s
}

// What is not known of a machine without an agent is said, and its load's figures are compared. Start-up
// times are only with another such machine, of the same files.
func TestMachinesWithoutAnAgent(t *testing.T) {
	const files = "kernel sha256:01"
	for name, c := range map[string]struct {
		baseline Side
		startup  bool
		want     map[string]State
	}{
		"a load's figures": {clean("native"), false, map[string]State{"image": Differs, "program versions": Unknown, "kernel": Unknown,
			"CPUs usable": Unknown, "guest clock": Unknown, "readiness event": Differs, "CPUs given": Same, "CPU placement": Same}},
		"start-up times":          {clean("native"), true, map[string]State{"image": Differs, "readiness event": Invalid}},
		"two of the same files":   {agentless("firecracker[guest=own]", files), true, map[string]State{"image": Same, "readiness event": Same}},
		"two of different files":  {agentless("firecracker[guest=own]", "kernel sha256:02"), false, map[string]State{"image": Invalid}},
		"against its own machine": {agentless("kvm[guest=own,pin=on]", files), false, map[string]State{"image": Same, "program versions": Same}},
	} {
		subject := agentless("kvm[guest=own]", files)
		subject.Startup, c.baseline.Startup = c.startup, c.startup
		a := Compare(subject, c.baseline)
		for _, check := range a.Checks {
			if want, ok := c.want[check.Name]; ok && check.State != want {
				t.Errorf("%s: %+v, want %s", name, check, want)
			}
			if check.State == Invalid && c.want[check.Name] != Invalid {
				t.Errorf("%s: %+v", name, check)
			}
		}
	}
}
