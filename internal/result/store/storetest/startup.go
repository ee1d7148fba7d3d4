package storetest

import "tare/internal/bench"

// startUp cuts a launch, with the milliseconds to its ready and to the end of the
// first command, into phases.
func startUp(platform string, launched int64, ready, first float64) *bench.StartUp {
	u := &bench.StartUp{}
	at := launched
	phase := func(name string, whose bench.Whose, ms float64) {
		end := at + int64(ms*1e6)
		u.Phases = append(u.Phases, bench.Span{Name: name, Start: at, End: end, Whose: whose, Source: "synthetic"})
		at = end
	}
	first = max(first, ready)
	if ownKernel(platform) {
		phase(bench.PhaseCreate, bench.OfPlatform, 0.2*ready)
		phase(bench.PhaseKernel, bench.OfPlatform, 0.6*ready)
		phase(bench.PhaseInit, bench.OfAgent, 0.1*ready)
		phase(bench.PhaseAgent, bench.OfAgent, 0.1*ready)
	} else {
		phase(bench.PhaseCreate, bench.OfPlatform, 0.8*ready)
		phase(bench.PhaseAgent, bench.OfAgent, 0.2*ready)
	}
	phase(bench.PhaseCommand, bench.OfPlatform, first-ready)
	own := func(name string, from int64, ms float64) {
		u.Own = append(u.Own, bench.Span{Name: name, Start: from, End: from + int64(ms*1e6), Whose: bench.OfTare, Source: "synthetic"})
	}
	own("start the program", launched, 0.1*ready)
	own("ask for the first command", u.Phases[len(u.Phases)-1].Start, 0.1*(first-ready))
	return u
}
