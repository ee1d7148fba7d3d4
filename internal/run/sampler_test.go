package run

import (
	"strings"
	"sync"
	"testing"
	"time"

	"tare/internal/bench"
)

// stuckReader is a source that does not answer until it is let go.
type stuckReader struct {
	asked, letGo chan struct{}
	once         sync.Once
}

func (*stuckReader) Meter() string      { return "cgroup" }
func (*stuckReader) Level() bench.Level { return bench.Layer }
func (*stuckReader) Columns() []string  { return []string{"x"} }
func (*stuckReader) Close() error       { return nil }

func (r *stuckReader) Read([]float64) error {
	r.once.Do(func() { close(r.asked) })
	<-r.letGo
	return nil
}

// A sampler that hangs in a source ends the trial with what it hangs in, and holds up neither an edge nor a
// further instance for longer than its patience.
func TestStuckSampler(t *testing.T) {
	o := &observer{interval: 20 * time.Millisecond}
	s := newSampler()
	s.patience = 100 * time.Millisecond
	r := &stuckReader{asked: make(chan struct{}), letGo: make(chan struct{})}
	s.add("victim", r)
	if err := o.begin(s); err != nil {
		t.Fatal(err)
	}
	<-r.asked
	began := time.Now()
	s.edge(1)
	s.add("late", &stuckReader{})
	err := o.stop()
	const want = "the sampler did not end within 100ms: it hangs in meter cgroup of level layer, victim"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v; want %q", err, want)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	if o.readings != nil || o.stop() != nil {
		t.Errorf("%d readings of a sampler that is left behind", len(o.readings))
	}
	close(r.letGo)
	<-s.done
}
