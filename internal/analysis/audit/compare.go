package audit

import (
	"cmp"
)

// pair is what a check looks at.
type pair struct{ subject, baseline *Side }

// sharedKernel: both sides run on the host's kernel.
func (p *pair) sharedKernel() bool { return !p.subject.ownKernel() && !p.baseline.ownKernel() }

// resource is what the compared case stresses.
func (p *pair) resource() string { return cmp.Or(p.subject.Resource, p.baseline.Resource) }

// checks are all checks in the order they are shown.
var checks = []struct {
	name string
	look func(*pair) Check
}{
	{"image", image},
	{"program versions", programs},
	{"platform version", platformVersion},
	{"kernel", kernel},
	{"CPUs given", cpusGiven},
	{"CPUs usable", cpusUsable},
	{"CPU placement", placement},
	{"memory limit", memoryLimit},
	{"enforcement", enforcement},
	{"disk limit", diskLimit},
	{"disk path", diskPath},
	{"O_DIRECT", direct},
	{"network path", network},
	{"open files", openFiles},
	{"other limits", otherLimits},
	{"privileges", privileges},
	{"mitigations", mitigations},
	{"huge pages", hugePages},
	{"clock source", clockSource},
	{"guest clock", guestClock},
	{"governor", governor},
	{"clock frequency", frequency},
	{"temperature", temperature},
	{"background load", load},
	{"steal", steal},
	{"swap", swap},
	{"readiness event", readiness},
	{"emulation", emulation},
}

// Names are the checks' names, in the order they are shown.
func Names() []string {
	names := make([]string, len(checks))
	for i, c := range checks {
		names[i] = c.name
	}
	return names
}

// Compare looks at everything that must be alike between a platform and the
// baseline for their ratio to be about isolation. It reads nothing but its
// arguments.
func Compare(subject, baseline Side) Audit {
	p := &pair{&subject, &baseline}
	a := Audit{Checks: make([]Check, 0, len(checks))}
	for _, c := range checks {
		found := c.look(p)
		found.Name = c.name
		a.Checks = append(a.Checks, found)
	}
	return a
}

// alike compares two texts: equal ones are the same, different ones get the
// state and the reason, and where one is missing nothing is known.
func alike(subject, baseline string, otherwise State, why string) Check {
	c := Check{State: Same, Subject: subject, Baseline: baseline}
	switch {
	case subject == "" || baseline == "":
		c.State, c.Why = Unknown, "it could not be read on both sides"
	case subject != baseline:
		c.State, c.Why = otherwise, why
	}
	return c
}

// fact compares a fact of the instances.
func (p *pair) fact(name string, otherwise State, why string) Check {
	return alike(join(p.subject.fact(name)), join(p.baseline.fact(name)), otherwise, why)
}

// ofKernel compares a property of the kernel: with a kernel of its own a
// platform may bring its own, on a shared one a difference cannot be.
func (p *pair) ofKernel(subject, baseline, said, wrong string) Check {
	if p.sharedKernel() {
		return alike(subject, baseline, Invalid, wrong)
	}
	return alike(subject, baseline, Differs, said)
}
