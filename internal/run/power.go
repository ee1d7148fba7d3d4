package run

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"tare/internal/bench"
	"tare/internal/host/clock"
)

// powerWatch reads one power meter through the whole run, on a goroutine of its
// own: a meter may take seconds to answer, or never do, and no trial waits for it.
type powerWatch struct {
	reader  bench.PowerReader
	source  bench.PowerSource
	columns []string
	values  []float64
	edge    chan struct{} // asks for a reading now
	stop    chan struct{}
	done    chan struct{}

	mu       sync.Mutex
	readings []bench.Sample
	failures []failure
}

// failure is a reading that was not had.
type failure struct {
	at  int64
	err error
}

// keepPower is how far back readings are kept that no trial has asked for: a
// gauge read shortly before a window says what it showed at its beginning.
const keepPower = 5 * time.Second

// afterWindow is how long a trial that is over waits for a counter's reading
// after its window: the longest till one that was asked for at the edge begins,
// and as much again. Counters are the machine's own and answer at once.
const afterWindow = 2 * bench.MinPowerInterval

// powerEnd bounds the wait for a meter that is being read when the run ends.
const powerEnd = 3 * time.Second

// powerWatches are the watches over all meters of a run.
type powerWatches []*powerWatch

// watchPower begins to read the meters, on threads that are kept on the CPUs, if there are any.
func watchPower(meters []bench.PowerReader, cpus []int) powerWatches {
	var ws powerWatches
	for _, p := range meters {
		cols := p.Columns()
		w := &powerWatch{reader: p, source: p.Source(), columns: cols, values: make([]float64, len(cols)),
			edge: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
		ws = append(ws, w)
		go w.loop(cpus)
	}
	return ws
}

// end ends the reading.
func (ws powerWatches) end() {
	for _, w := range ws {
		close(w.stop)
	}
	late := time.After(powerEnd)
	for _, w := range ws {
		select {
		case <-w.done:
		case <-late: // it hangs; its goroutine ends when it lets go
		}
	}
}

func (w *powerWatch) loop(cpus []int) {
	defer close(w.done)
	runtime.LockOSThread() // never unlocked: the thread, where it is kept, ends with the goroutine
	keepOn(cpus)
	every := max(time.Duration(w.source.Every*float64(time.Second)), bench.MinPowerInterval)
	tick := time.NewTicker(every)
	defer tick.Stop()
	last := time.Time{}
	for {
		// The edges of a window are read as well, but never more often than the meter allows.
		if wait := bench.MinPowerInterval - time.Since(last); wait > 0 {
			time.Sleep(wait)
		}
		last = time.Now()
		w.read()
		select {
		case <-w.stop:
			return
		case <-tick.C:
		case <-w.edge:
		}
	}
}

func (w *powerWatch) read() {
	began, cpu := clock.Now(), clock.ThreadCPU()
	err := w.reader.Read(w.values)
	ended := clock.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.failures = append(w.failures, failure{ended, err})
		return
	}
	w.readings = append(w.readings, bench.Sample{At: began, Took: ended - began, CPU: clock.ThreadCPU() - cpu,
		Level: bench.Power, Meter: w.source.Name, Values: named(w.columns, w.values)})
}

// atEdge asks every meter for a reading now and does not wait for it.
func (ws powerWatches) atEdge() {
	for _, w := range ws {
		select {
		case w.edge <- struct{}{}:
		default: // one is due already
		}
	}
}

// awaitCounters waits until each counter was read at the instant or later.
func (ws powerWatches) awaitCounters(at int64) {
	for deadline := time.Now().Add(afterWindow); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if !slices.ContainsFunc(ws, func(w *powerWatch) bool { return w.counts() && !w.readAt(at) }) {
			return
		}
	}
}

func (w *powerWatch) counts() bool { return slices.Contains(w.columns, bench.ColEnergy) }

func (w *powerWatch) readAt(at int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.readings)
	return n > 0 && w.readings[n-1].At >= at
}

// take returns the readings since the instant and those shortly before it, and
// why others were not had. It forgets what is older.
func (w *powerWatch) take(from int64) (readings []bench.Sample, failed []failure) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := from - int64(keepPower)
	w.readings = slices.DeleteFunc(w.readings, func(s bench.Sample) bool { return s.At < before })
	w.failures = slices.DeleteFunc(w.failures, func(f failure) bool { return f.at < from })
	return slices.Clone(w.readings), slices.Clone(w.failures)
}

// putInto puts what the meters said since the trial began among the samples of its account,
// and what they did not say among its warnings.
func (ws powerWatches) putInto(k *account) {
	if k.outcome.Window[1] > 0 {
		ws.awaitCounters(k.outcome.Window[1])
	}
	for _, w := range ws {
		readings, failed := w.take(k.outcome.Origin)
		k.samples = append(k.samples, readings...)
		got := 0
		for _, r := range readings {
			if r.At >= k.outcome.Origin {
				got++
			}
		}
		switch n := len(failed); {
		case n > 0:
			k.warn("power meter %s told nothing %d of %d times, the last time: %v", w.source.Name, n, n+got, failed[n-1].err)
		case got == 0 && clock.Now()-k.outcome.Origin > int64((2*w.source.Every+0.5)*1e9): // else it was too short
			k.warn("power meter %s told nothing while the trial ran: it was still being asked", w.source.Name)
		}
	}
	if len(ws) > 0 {
		slices.SortStableFunc(k.samples, func(a, b bench.Sample) int { return int(min(1, max(-1, a.At-b.At))) })
	}
}
