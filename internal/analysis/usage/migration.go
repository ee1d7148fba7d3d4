package usage

import "tare/internal/bench"

// total is a sum that is known if every term is.
type total struct {
	sum         float64
	terms, lack int
}

func (t *total) add(v *float64) {
	if v == nil {
		t.lack++
		return
	}
	t.sum += *v
	t.terms++
}

func (t *total) known() bool { return t.terms > 0 && t.lack == 0 }

// migrationBytes is the memory in bytes that a migration of the instance would have to
// move, as in table 2 of sharma2016; nil if it is not known. Memory is that at its
// most in the window: at its end the program that had it may be gone.
//
//   - of processes on the host's kernel what their control group holds in
//     anonymous and in shared memory: CRIU saves both, and page cache is read
//     from the files again;
//   - of a virtual machine all that its monitor has of the guest's memory, the
//     guest's kernel and page cache with it: the monitor cannot tell them apart.
func (s *Launch) migrationBytes(a *bench.ActorOutcome, held float64, lack bool) *float64 {
	if a.Scope.Inner != nil || a.Scope.Domain != 0 {
		return nil // the figures are of the outer guest, or of the control domain
	}
	if CountsItself(a.Scope) {
		if lack {
			return nil
		}
		return &held
	}
	src := Source{Level: bench.Layer, Actor: a.Actor, Meter: "cgroup"}
	private, why := s.counters[src].most(bench.ColMemUsed)
	shared, whyShared := s.counters[src].most(bench.ColMemShared)
	if why != "" || whyShared != "" {
		return nil
	}
	private += shared
	return &private
}

// memoryOfSubjects is the memory that a scene's subjects are given, in bytes.
func memoryOfSubjects(sc *bench.Scene) float64 {
	sum := 0.0
	for _, a := range sc.Actors {
		if a.Role == bench.Subject {
			sum += float64(a.Shape.Memory)
		}
	}
	return sum
}
