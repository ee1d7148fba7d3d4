package agent

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"tare/internal/bench"
)

// Columns are what [Client.Sample] fills, in order: those of package bench.
func (c *Client) Columns() []string { return c.hello.Columns }

// Sampling is a sample that was asked for.
type Sampling struct {
	c      *Client
	call   *call
	id     uint32
	queued *outgoing // it could not be sent at once
}

// StartSample asks for a sample. It does not wait.
func (c *Client) StartSample() *Sampling {
	k := newCall("sample")
	s := &Sampling{c: c, call: k, id: c.register(k)}
	o := outgoing{data: appendFrame(nil, typeSample, s.id, nil), sent: &k.sent}
	if !c.direct(o) {
		s.queued = &o
	}
	return s
}

// Wait fills values as [Client.Sample] does, once. heard is when the answer
// arrived, in nanoseconds of [clock.Now].
func (s *Sampling) Wait(ctx context.Context, values []float64) (guestNow, heard int64, err error) {
	if len(values) != len(s.c.hello.Columns) {
		s.c.forget(s.id)
		return 0, 0, fmt.Errorf("agent: sample into %d values: there are %d columns", len(values), len(s.c.hello.Columns))
	}
	if s.queued != nil {
		if err := s.c.send(ctx, s.call.what, *s.queued); err != nil {
			s.c.forget(s.id)
			return 0, 0, err
		}
	}
	r, err := s.c.await(ctx, s.call, s.id)
	if err != nil {
		return 0, 0, err
	}
	guestNow, err = parseSample(r.payload, values)
	return guestNow, r.at, err
}

// Sample reads the instance's counters into values, one per column; what the
// agent could not read is NaN. guestNow is the instance's CLOCK_MONOTONIC at
// the reading, in nanoseconds.
func (c *Client) Sample(ctx context.Context, values []float64) (guestNow int64, err error) {
	guestNow, _, err = c.StartSample().Wait(ctx, values)
	return guestNow, err
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
func (c *Client) Probe(ctx context.Context, n int) (Offset, error) { return c.ProbeUntil(ctx, n, 0) }

// ProbeUntil makes no further round trip once one has an uncertainty of at most
// enough, in nanoseconds.
func (c *Client) ProbeUntil(ctx context.Context, n int, enough int64) (Offset, error) {
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
		if received < 0 || answered < received || answered > bench.MaxInstant {
			return Offset{}, fmt.Errorf("agent: clock reply: received at %d and answered at %d ns is not a time of a monotonic clock", received, answered)
		}
		if o := offset(k.sent.Load(), received, answered, r.at); o.Uncertainty < best.Uncertainty {
			best = o
		}
		if best.Uncertainty <= enough {
			break
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
