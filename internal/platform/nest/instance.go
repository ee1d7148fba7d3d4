package nest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"tare/internal/bench"
	"tare/internal/guest/agent"
	"tare/internal/guest/nested/wire"
	"tare/internal/platform/launch"
)

// answerWithin bounds a small question to an outer guest. Under emulation on a
// busy host an answer takes its time.
const answerWithin = 20 * time.Second

// instance is an inner instance in its outer guest.
type instance struct {
	name    string
	outer   bench.Instance
	agent   *agent.Client // of the outer guest
	control *control
	half    process // tare in the outer guest
	said    *tail   // what it prints
	stream  io.ReadWriteCloser
	undo    launch.Undo

	started             wire.Started
	launched, uncertain int64 // host's clock, and how well it is known; nanoseconds
	boot                time.Duration

	mu   sync.Mutex
	addr netip.Addr
}

// Stream implements [bench.Instance]. Once the half in the outer guest has ended, it fails
// with what that said, such as that the inner guest's kernel panicked.
func (i *instance) Stream() io.ReadWriteCloser { return inner{i.stream, i.control} }

// inner is the stream to the inner agent.
type inner struct {
	io.ReadWriteCloser
	control *control
}

// Read implements [io.Reader].
func (s inner) Read(p []byte) (int, error) {
	n, err := s.ReadWriteCloser.Read(p)
	if err == nil {
		return n, nil
	}
	if why := s.control.gone(); why != nil {
		err = why
	}
	return n, err
}

// Launched implements [bench.Instance]: the inner platform's start command, in
// an outer guest that has long been up.
func (i *instance) Launched() int64 { return i.launched }

// Trace implements [bench.Traced]: of the inner driver, put on the host's clock.
func (i *instance) Trace() []bench.Span {
	spans := slices.Clone(i.started.Trace)
	for k := range spans {
		spans[k].Start += i.launched - i.started.Launched
		spans[k].End += i.launched - i.started.Launched
		spans[k].Source, spans[k].Known = "the outer guest's clock", i.uncertain
	}
	return spans
}

// Command implements [bench.Instance]: the inner platform's start command.
func (i *instance) Command() []string { return slices.Clone(i.started.Command) }

// Unenforced implements [bench.Instance]: of the inner platform in the outer
// guest, and what the outer one lets that guest exceed.
func (i *instance) Unenforced() []string {
	list := slices.Clone(i.started.Unenforced)
	for _, what := range i.outer.Unenforced() {
		list = append(list, "outer guest: "+what)
	}
	return list
}

// Cautions implements [bench.Cautioned]: what the inner platform says in the
// outer guest, where alone it could be asked.
func (i *instance) Cautions() (label string, caveats []string) {
	label, _ = strings.CutPrefix(i.started.Label, nested) // of an inner nesting: this is one as well
	return strings.TrimPrefix(label, ", "), slices.Clone(i.started.Caveats)
}

// Facts implements [bench.Described]: what is known of the way to the inner
// launch, and the limit that holds in the outer guest.
func (i *instance) Facts() map[string]string {
	f := map[string]string{
		"outer_launch":       strings.Join(i.outer.Command(), " "),
		"outer_kernel":       i.agent.Hello().Kernel,
		"outer_boot_ms":      fmt.Sprintf("%.1f", float64(i.boot)/1e6),
		"inner_open_ms":      fmt.Sprintf("%.1f", float64(i.started.Opened)/1e6),
		"inner_version":      i.started.Version,
		"launch_known_to_ms": fmt.Sprintf("%.3f", float64(i.uncertain)/1e6),
	}
	var inner wire.Scope
	if err := i.ask(wire.OpScope, &inner); err != nil {
		return f
	}
	for name, v := range inner.Facts { // of an inner nesting
		if name != bench.FactHostMemoryLimit {
			f["inner "+name] = v
		}
	}
	if limit := cmp.Or(inner.MemoryLimit, inner.Facts[bench.FactHostMemoryLimit]); limit != "" {
		f[bench.FactHostMemoryLimit] = limit
	}
	return f
}

// ask asks the outer guest a small question.
func (i *instance) ask(op string, result any) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), answerWithin, fmt.Errorf("no answer within %v", answerWithin))
	defer cancel()
	return i.control.ask(ctx, wire.Request{Op: op}, result)
}

// Scope implements [bench.Instance]: the outer instance's on the host, with
// the inner one's in the outer guest.
func (i *instance) Scope() (bench.Scope, error) {
	s, err := i.outer.Scope()
	if err != nil {
		return bench.Scope{}, err
	}
	var inner wire.Scope
	if err := i.ask(wire.OpScope, &inner); err != nil {
		return bench.Scope{}, fmt.Errorf("scope in the outer guest: %w", err)
	}
	s.Inner = &inner.Scope
	return s, nil
}

// Addr implements [bench.Instance]: the outer guest's address, on which the
// inner instance is published with all its ports. It is none if the inner
// instance has none.
func (i *instance) Addr() netip.Addr {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.addr.IsValid() {
		var inner string
		if err := i.ask(wire.OpAddr, &inner); err == nil && inner != "" {
			i.addr = i.outer.Addr()
		}
	}
	return i.addr
}

// Log implements [bench.Instance]: the outer instance's, and of the inner one
// what can be asked.
func (i *instance) Log() string {
	parts := []string{i.outer.Log()}
	if said := i.said.String(); said != "" {
		parts = append(parts, "tare in the outer guest: "+said)
	}
	var inner string
	if i.control != nil && i.started.Launched != 0 && i.ask(wire.OpLog, &inner) == nil && inner != "" {
		parts = append(parts, "in the outer guest: "+inner)
	}
	return strings.TrimSpace(strings.Join(parts, "\n"))
}

// Close implements [bench.Instance]: the outer guest is thrown away with all
// that is in it.
func (i *instance) Close(ctx context.Context) error {
	if err := i.undo.Run(ctx); err != nil {
		return fmt.Errorf("close %s: %w", i.name, err)
	}
	return nil
}
