package platformtest

import "testing"

// together are the cases, by their names in [Options], that are run one after the other in one instance of the
// suite's shape: what they do to it is no matter to the next, but for the last, which closes it.
var together = []struct {
	name string
	f    func(*testing.T, *suite, *box)
}{
	{"greeting", testGreeting},
	{"commands", testCommands},
	{"environment", testEnvironment},
	{"scope", testScope},
	{"scratch", testScratch},
	{"network", testNetwork},
	{"cpus", testCPUs},
	{"pids limit", testPidsLimit},
	{"closed to others", testClosed},
	{"flood of words", testFlood},
	{"image", testImage},
}

// cases are those that start instances of their own, in the order they are run.
var cases = []struct {
	name string
	f    func(*testing.T, *suite)
}{
	{"launch phases", testPhases},
	{"cpu quota", testCPUQuota},
	{"memory limit", testMemoryLimit},
	{"disk rate", testDiskRate},
	{"turns", testTurns},
	{"two at once", func(t *testing.T, s *suite) { testSeveral(t, s, 2) }},
	{"four at once", func(t *testing.T, s *suite) { testSeveral(t, s, 4) }},
	{"refused cpu set", testRefusedCPUSet},
	{"cancelled start", testCancelledStart},
	{"missing image", testMissingImage},
	{"launched again", testAgain},
	{"crash", testCrash},
}

// names are those of all cases, and what else Lacks may name.
func names() []string {
	list := []string{"lab", "killed run"}
	for _, c := range together {
		list = append(list, c.name)
	}
	for _, c := range cases {
		list = append(list, c.name)
	}
	return list
}

// runTogether runs the cases that share an instance. It reports whether the suite can go on.
func (s *suite) runTogether(t *testing.T) bool {
	var b *box
	last, ok := "", true
	for _, c := range together {
		if !s.o.runs(t, c.name) {
			continue
		}
		if b == nil {
			b = s.start(t)
		}
		ok = t.Run(c.name, func(t *testing.T) { c.f(t, s, b) }) && ok
		last = c.name
	}
	if b == nil {
		return true
	}
	s.close(t, b)
	return s.nothingLeft(t, last, ok)
}

// nothingLeft looks for leftovers after a case. It reports whether the suite can go on:
// not if a case that passed left something, for what follows could not be told apart.
func (s *suite) nothingLeft(t *testing.T, after string, passed bool) bool {
	t.Helper()
	left := s.leftovers()
	if len(left) > 0 {
		t.Errorf("after %q there is left behind: %q", after, left)
	}
	return len(left) == 0 || !passed
}
