package nest

import (
	"context"
	"fmt"
	"math"
	"time"

	"tare/internal/bench"
	"tare/internal/guest/agent"
	"tare/internal/guest/nested/wire"
)

// sampleWithin bounds a reading in the outer guest: a tick of the sampler.
const sampleWithin = 900 * time.Millisecond

// Readers implements [bench.Metered]: the outer guest as its own kernel sees
// it, and the inner instance's cgroups and helpers there.
func (i *instance) Readers(ctx context.Context) ([]bench.Reader, error) {
	var meters []wire.Meter
	if err := i.control.ask(ctx, wire.Request{Op: wire.OpMeters}, &meters); err != nil {
		return nil, fmt.Errorf("meters in the outer guest: %w", err)
	}
	readers := []bench.Reader{outerReader{i.agent}}
	if len(meters) > 0 {
		readers = append(readers, newInner(i, meters))
	}
	return readers, nil
}

// outerReader reads the outer guest by its own agent.
type outerReader struct{ agent *agent.Client }

func (outerReader) Meter() string       { return "agent" }
func (outerReader) Level() bench.Level  { return bench.Outer }
func (r outerReader) Columns() []string { return r.agent.Columns() }
func (outerReader) Close() error        { return nil }

func (r outerReader) Read(values []float64) error {
	for n := range values {
		values[n] = math.NaN()
	}
	ctx, cancel := context.WithTimeout(context.Background(), sampleWithin)
	defer cancel()
	_, err := r.agent.Sample(ctx, values)
	return err
}

// innerReader reads all meters of the inner instance's layer at once: their
// columns do not overlap but for the resident memory, which only helpers have.
type innerReader struct {
	i       *instance
	meters  []wire.Meter
	columns []string
}

func newInner(i *instance, meters []wire.Meter) innerReader {
	r := innerReader{i: i, meters: meters}
	for _, m := range meters {
		r.columns = append(r.columns, m.Columns...)
	}
	return r
}

func (innerReader) Meter() string       { return "layer" }
func (innerReader) Level() bench.Level  { return bench.Inner }
func (r innerReader) Columns() []string { return r.columns }
func (innerReader) Close() error        { return nil }

func (r innerReader) Read(values []float64) error {
	for n := range values {
		values[n] = math.NaN()
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	var all []wire.Values
	if err := r.i.control.ask(ctx, wire.Request{Op: wire.OpSample}, &all); err != nil {
		return err
	}
	if len(all) != len(r.meters) {
		return fmt.Errorf("readings of %d meters, not %d", len(all), len(r.meters))
	}
	at := 0
	for n, m := range r.meters {
		if err := all[n].Unpack(values[at : at+len(m.Columns)]); err != nil {
			return fmt.Errorf("meter %s: %w", m.Name, err)
		}
		at += len(m.Columns)
	}
	return nil
}
