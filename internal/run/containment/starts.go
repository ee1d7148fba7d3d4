package containment

import (
	"math"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"tare/internal/bench"
)

// starts times how long the host takes to start a program, from fork to the
// end of a program that does nothing. The program has the ordinary priority of
// a user's.
type starts struct {
	program string

	mu    sync.Mutex
	took  []time.Duration
	began time.Time // of the one under way; zero if none is
	good  time.Time // the last time there was no reason to complain
}

// expected is how many starts are room for from the beginning.
const expected = 4096

// again is the pause before a start that was refused is tried again.
const again = 10 * time.Millisecond

func newStarts(program string) *starts {
	return &starts{program: program, took: make([]time.Duration, 0, expected), good: time.Now()}
}

// loop starts the program at each interval until done; one that is late
// delays the next.
func (s *starts) loop(interval time.Duration, done <-chan struct{}) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		s.one(done)
		select {
		case <-done:
			return
		case <-tick.C:
		}
	}
}

// one starts the program once. What the host refuses is asked for again until
// it is granted: for whoever waits, that is one long start.
func (s *starts) one(done <-chan struct{}) {
	s.mu.Lock()
	s.began = time.Now()
	s.mu.Unlock()
	for {
		p, err := os.StartProcess(s.program, []string{"true"}, &os.ProcAttr{})
		if err == nil {
			_, err = p.Wait()
		}
		if err == nil {
			break
		}
		select {
		case <-done:
			return // it stays under way
		case <-time.After(again):
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took = append(s.took, time.Since(s.began))
	s.began = time.Time{}
}

// overdue is for how long no start has kept the bound: 0 if the last one did
// and none that is under way has exceeded it.
func (s *starts) overdue(bound time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	lastGood := len(s.took) == 0 || s.took[len(s.took)-1] <= bound
	under := s.began.IsZero() || now.Sub(s.began) <= bound
	if lastGood && under {
		s.good = now
	}
	return now.Sub(s.good)
}

// fill puts the distribution into a report. A start that is still under way counts
// with what it has taken so far.
func (s *starts) fill(w *bench.Watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	took := slices.Clone(s.took)
	if !s.began.IsZero() {
		took = append(took, time.Since(s.began))
	}
	for _, t := range took {
		w.Starts = append(w.Starts, milliseconds(t))
	}
	if len(took) == 0 {
		return
	}
	slices.Sort(took)
	w.P50, w.P99, w.Max = milliseconds(rank(took, 0.5)), milliseconds(rank(took, 0.99)), milliseconds(took[len(took)-1])
}

// rank is the smallest value not below the share of all.
func rank(sorted []time.Duration, share float64) time.Duration {
	return sorted[max(0, int(math.Ceil(share*float64(len(sorted))))-1)]
}

func milliseconds(d time.Duration) float64 {
	return math.Round(float64(d.Microseconds())) / 1e3
}
