// Package wire is what the two halves of a nesting say to each other: the
// driver on the host, and tare's own half in the outer guest, which runs the
// inner platform's driver there.
//
// It goes over two ports of the outer machine. [Control] carries requests and
// answers, a line of JSON each, in turn: one request is answered before the
// next is sent. [Stream] carries nothing but the bytes between the host and the
// agent inside the inner instance. The end of either ends the inner instance.
package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"tare/internal/bench"
)

// The names of the ports.
const (
	Control = "tare.nest"
	Stream  = "tare.inner"
)

// Where the outer guest has the two disks that are not its own, read-only: the
// golden image, and Tare itself with the golden image's kernel. They are known
// by their volume labels, whatever bus they are on.
const (
	Golden      = "/mnt/golden"
	GoldenLabel = "tare"
	Tools       = "/mnt/tools"
	ToolsLabel  = "tare-tools"
	// HostsLabel is that of a third disk, which the guest has in whose instances
	// other platforms run again: the image that these boot from.
	HostsLabel = "tare-hosts"
	// Versions is a file of the tools: what [bench.Availability] calls programs, of
	// all images of outer guests, as JSON.
	Versions = Tools + "/versions.json"
	// Carried is the directory of the tools with programs of the host's own.
	Carried = Tools + "/bin"
)

// What a request asks for.
const (
	OpStart  = "start"  // check, open and start the inner platform: [Start], [Started]
	OpScope  = "scope"  // where in the outer guest its cost is paid: [Scope]
	OpAddr   = "addr"   // its address there, published on the outer guest's own: a text
	OpMeters = "meters" // open the meters of that scope: a list of [Meter]
	OpSample = "sample" // read them: a list of [Values], in the list's order
	OpLog    = "log"    // what the platform printed last: a text
)

// Request is a line to the outer guest.
type Request struct {
	Op    string `json:"op"`
	Start *Start `json:"start,omitempty"`
}

// Answer is a line from it. Error and Hint say why there is no result; Kind
// tells the errors apart that callers do.
type Answer struct {
	Error  string          `json:"error,omitempty"`
	Hint   string          `json:"hint,omitempty"`
	Kind   string          `json:"kind,omitempty"` // "unavailable", "invalid"
	Result json.RawMessage `json:"result,omitempty"`
}

// Start asks for the inner instance.
type Start struct {
	Run      string            `json:"run"`
	ID       string            `json:"id"`
	Platform string            `json:"platform"`
	Options  map[string]string `json:"options"`
	Shape    bench.Shape       `json:"shape"`
	CPUs     []int             `json:"cpus"` // the outer guest's, by its own numbers
	Digest   string            `json:"digest"`
	Slow     float64           `json:"slow"` // as in [bench.Env]
}

// Started is the inner instance.
type Started struct {
	// Launched is when its platform's start command was issued, in nanoseconds
	// of the outer guest's CLOCK_MONOTONIC.
	Launched   int64             `json:"launched"`
	Command    []string          `json:"command"`
	Unenforced []string          `json:"unenforced,omitempty"`
	Version    string            `json:"version"`
	Programs   map[string]string `json:"programs,omitempty"`
	// Label and Caveats are what the inner platform says there of its figures.
	Label   string   `json:"label,omitempty"`
	Caveats []string `json:"caveats,omitempty"`
	// Opened is how long the platform's opening took there (a daemon, an image), in nanoseconds.
	Opened int64 `json:"opened"`
	// Trace is when the platform's driver was at work itself after the start command, by the same clock.
	Trace []bench.Span `json:"trace,omitempty"`
}

// Scope is where in the outer guest the inner instance's cost is paid.
type Scope struct {
	bench.Scope
	// MemoryLimit is what its cgroup there is limited to: bytes, or "max". It is
	// "" of an instance with a kernel of its own.
	MemoryLimit string `json:"memory_limit,omitempty"`
	// Facts are what its driver there knows of it: of an inner nesting.
	Facts map[string]string `json:"facts,omitempty"`
}

// Meter is a reader in the outer guest.
type Meter struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
}

// Values are a reading's, one per column. What could not be read is null.
type Values []*float64

// Pack makes values of a reader's.
func Pack(values []float64) Values {
	list := make(Values, len(values))
	for i, v := range values {
		if !math.IsNaN(v) {
			list[i] = &v
		}
	}
	return list
}

// Unpack fills values with the reading.
func (list Values) Unpack(values []float64) error {
	if len(list) != len(values) {
		return fmt.Errorf("%d values of %d columns", len(list), len(values))
	}
	for i, v := range list {
		values[i] = math.NaN()
		if v != nil {
			values[i] = *v
		}
	}
	return nil
}

// Fail makes the answer of an error.
func Fail(err error) Answer {
	a := Answer{Error: err.Error(), Hint: bench.HintOf(err)}
	switch {
	case errors.Is(err, bench.ErrUnavailable):
		a.Kind = "unavailable"
	case errors.Is(err, bench.ErrInvalid):
		a.Kind = "invalid"
	}
	return a
}

// Err makes the error of an answer again, nil if it has none.
func (a Answer) Err() error {
	if a.Error == "" {
		return nil
	}
	err := &remote{text: a.Error}
	switch a.Kind {
	case "unavailable":
		err.cause = bench.ErrUnavailable
	case "invalid":
		err.cause = bench.ErrInvalid
	}
	if a.Hint == "" {
		return err
	}
	return fmt.Errorf("%w%w", err, bench.Hint(a.Hint))
}

// remote is an error of the outer guest. Its text names its cause already.
type remote struct {
	text  string
	cause error
}

func (e *remote) Error() string { return e.text }
func (e *remote) Unwrap() error { return e.cause }
