package agent

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
)

// Columns are what [Client.Sample] fills, in order: those of package bench.
func (c *Client) Columns() []string { return c.hello.Columns }

// Sample reads the instance's counters into values, one per column; what the
// agent could not read is NaN. guestNow is the instance's CLOCK_MONOTONIC at
// the reading, in nanoseconds.
func (c *Client) Sample(ctx context.Context, values []float64) (guestNow int64, err error) {
	if len(values) != len(c.hello.Columns) {
		return 0, fmt.Errorf("agent: sample into %d values: there are %d columns", len(values), len(c.hello.Columns))
	}
	r, err := c.ask(ctx, newCall("sample"), typeSample, nil)
	if err != nil {
		return 0, err
	}
	return parseSample(r.payload, values)
}

// A sample is the instance's time and the values, each 8 bytes; see PROTOCOL.md.
func appendSample(b []byte, now int64, values []float64) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(now))
	for _, v := range values {
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

func parseSample(b []byte, values []float64) (now int64, err error) {
	if len(b) != 8+8*len(values) {
		return 0, fmt.Errorf("agent: sample of %d bytes: %d values take %d", len(b), len(values), 8+8*len(values))
	}
	for i := range values {
		values[i] = math.Float64frombits(binary.BigEndian.Uint64(b[8+8*i:]))
	}
	return int64(binary.BigEndian.Uint64(b)), nil
}

// Offset is the difference of two clocks, in nanoseconds.
type Offset struct {
	At          int64 // the middle of the round trip it was found by, of [clock.Now]
	Offset      int64 // the instance's CLOCK_MONOTONIC minus the host's
	Uncertainty int64 // half the round trip it was found by: the true offset is within this
}

// Probe measures the offset of the instance's clock by n round trips and keeps
// the shortest, whose error is bounded best (the clock filter of RFC 5905,
// section 10, over one burst).
func (c *Client) Probe(ctx context.Context, n int) (Offset, error) {
	best := Offset{Uncertainty: math.MaxInt64}
	for range max(n, 1) {
		k := newCall("clock probe")
		r, err := c.ask(ctx, k, typeClock, nil)
		if err != nil {
			return Offset{}, err
		}
		if len(r.payload) != 16 {
			return Offset{}, fmt.Errorf("agent: clock reply of %d bytes: want 16", len(r.payload))
		}
		received := int64(binary.BigEndian.Uint64(r.payload))
		answered := int64(binary.BigEndian.Uint64(r.payload[8:]))
		if o := offset(k.sent.Load(), received, answered, r.at); o.Uncertainty < best.Uncertainty {
			best = o
		}
	}
	return best, nil
}

// offset works out one round trip: sent and heard by the host's clock, received
// and answered by the instance's.
func offset(sent, received, answered, heard int64) Offset {
	trip := (heard - sent) - (answered - received)
	return Offset{
		At:          sent + (heard-sent)/2,
		Offset:      ((received - sent) + (answered - heard)) / 2,
		Uncertainty: (max(trip, 0) + 1) / 2,
	}
}
