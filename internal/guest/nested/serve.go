// Package nested is the half of a nesting that runs in the outer guest: it
// starts the inner platform there with the very driver that starts it on a
// host, joins the agent inside with the host, and reads the meters that only
// the outer guest has. See package wire for what is said.
package nested

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/guest"
	"tare/internal/guest/nested/wire"
	"tare/internal/host/cgroup"
	"tare/internal/host/clock"
	"tare/internal/host/testnet"
	"tare/internal/host/tool"
	"tare/internal/meter"
	"tare/internal/state/ledger"
)

// Drivers are those a host has, with their lasting files in the directory.
type Drivers func(state string) []bench.Platform

// Serve answers the host's requests until it closes the control port, or until
// the inner instance has ended; the outer guest is thrown away then, so nothing
// is taken back.
func Serve(ctx context.Context, drivers Drivers) error {
	control, err := guest.OpenPort(wire.Control)
	if err != nil {
		return err
	}
	defer control.Close()
	stream, err := guest.OpenPort(wire.Stream)
	if err != nil {
		return err
	}
	defer stream.Close()
	s := &server{drivers: drivers, stream: stream, ended: make(chan error, 2)}
	go func() { s.ended <- s.answer(ctx, control, control) }()
	return <-s.ended
}

// server serves one inner instance.
type server struct {
	drivers Drivers
	stream  io.ReadWriter
	ended   chan error

	testnet  *testnet.Network
	instance bench.Instance
	addr     string
	readers  []bench.Reader
	values   [][]float64
}

// answer serves requests in turn.
func (s *server) answer(ctx context.Context, from io.Reader, to io.Writer) error {
	requests, answers := json.NewDecoder(from), json.NewEncoder(to)
	for {
		var r wire.Request
		if err := requests.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read request: %w", err)
		}
		result, err := s.do(ctx, r)
		var a wire.Answer
		if err == nil {
			a.Result, err = json.Marshal(result)
		}
		if err != nil {
			a = wire.Fail(err)
		}
		if err := answers.Encode(a); err != nil {
			return fmt.Errorf("answer request: %w", err)
		}
	}
}

func (s *server) do(ctx context.Context, r wire.Request) (any, error) {
	switch {
	case r.Op == wire.OpStart && r.Start != nil && s.instance == nil:
		return s.start(ctx, *r.Start)
	case s.instance == nil:
		return nil, fmt.Errorf("request %q: no instance is started: %w", r.Op, bench.ErrInvalid)
	}
	switch r.Op {
	case wire.OpScope:
		return s.scope()
	case wire.OpAddr:
		return s.publish(ctx)
	case wire.OpMeters:
		return s.meters(ctx)
	case wire.OpSample:
		return s.sample(), nil
	case wire.OpLog:
		return s.instance.Log(), nil
	}
	return nil, fmt.Errorf("request %q: %w", r.Op, bench.ErrInvalid)
}

// start makes this guest a host and starts the inner instance on it.
func (s *server) start(ctx context.Context, r wire.Start) (*wire.Started, error) {
	i := slices.IndexFunc(s.drivers(stateDir), func(p bench.Platform) bool { return p.Name() == r.Platform })
	if i < 0 {
		return nil, fmt.Errorf("platform %q is not known: %w", r.Platform, bench.ErrInvalid)
	}
	p := s.drivers(stateDir)[i]
	asked := bench.Nesting{}
	if n := p.Traits().Nesting; n != nil {
		asked = *n
	}
	loadModules(ctx, asked.Modules)
	if asked.Prepare != nil {
		if err := asked.Prepare(ctx, run); err != nil {
			return nil, fmt.Errorf("set up the outer guest: %w", err)
		}
	}
	if err := configure(r.Options, r.Shape.Memory); err != nil {
		return nil, err
	}
	env, err := s.env(ctx, r)
	if err != nil {
		return nil, err
	}
	began := clock.Now()
	if t, ok := p.(prober); ok {
		if err := t.Probe(ctx, env); err != nil {
			return nil, err
		}
	}
	found, err := p.Check(ctx)
	if err == nil {
		err = found.Lacking(r.Options)
	}
	if err != nil {
		return nil, err
	}
	engine, err := p.Open(ctx, env)
	if err != nil {
		return nil, err
	}
	if asked.Seat != nil {
		if err := asked.Seat(ctx, run, env, wire.Golden); err != nil {
			return nil, err
		}
	}
	opened := clock.Now() - began
	l := bench.Launch{ID: r.ID, Shape: r.Shape, CPUSet: r.CPUs, Options: r.Options, Dir: launchDir}
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		return nil, err
	}
	in, err := engine.Start(ctx, l)
	if err != nil {
		return nil, err
	}
	s.instance = in
	s.join(in.Stream())
	return s.started(found, r.Options, opened), nil
}

// started tells of the instance what the host cannot find out.
func (s *server) started(found bench.Availability, options map[string]string, opened int64) *wire.Started {
	in := s.instance
	w := &wire.Started{
		Launched: in.Launched(), Command: in.Command(), Unenforced: in.Unenforced(),
		Version: found.Version, Programs: found.Programs, Opened: opened,
		Label: found.Label, Caveats: found.CaveatsOf(options),
	}
	if t, ok := in.(bench.Traced); ok {
		w.Trace = t.Trace()
	}
	if c, ok := in.(bench.Cautioned); ok {
		label, caveats := c.Cautions()
		w.Label = strings.Trim(w.Label+", "+label, ", ")
		w.Caveats = append(w.Caveats, caveats...)
	}
	return w
}

// prober is a platform whose check alone cannot decide.
type prober interface {
	Probe(ctx context.Context, e bench.Env) error
}

// env is what a run on a host would lend the platform.
func (s *server) env(ctx context.Context, r wire.Start) (bench.Env, error) {
	led, err := ledger.Open(stateDir, r.Run)
	if err != nil {
		return bench.Env{}, err
	}
	if err := os.MkdirAll(runDir, 0o700); err != nil {
		return bench.Env{}, err
	}
	device, err := guest.Device()
	if err != nil {
		return bench.Env{}, err
	}
	network, err := networkBeside(device)
	if err != nil {
		return bench.Env{}, err
	}
	if s.testnet, err = testnet.NewAt(ctx, r.Run, led, network); err != nil {
		return bench.Env{}, err
	}
	if _, err := s.testnet.Adopt(ctx, device); err != nil {
		return bench.Env{}, err
	}
	return bench.Env{Run: r.Run, Image: golden{r.Digest}, Testnet: s.testnet, Ledger: led, Dir: runDir, AgentPath: agentPath, Slow: r.Slow}, nil
}

// join splices the inner agent's stream with the host's, until either ends.
func (s *server) join(in io.ReadWriter) {
	copyTo := func(to io.Writer, from io.Reader) {
		_, err := io.Copy(to, from)
		s.ended <- fmt.Errorf("the inner instance's stream ended: %w", errors.Join(err, errors.New(s.instance.Log())))
	}
	go copyTo(s.stream, in)
	go copyTo(in, s.stream)
}

// scope is the instance's, with the memory limit that only a look at the files
// of this guest's cgroups tells.
func (s *server) scope() (wire.Scope, error) {
	scope, err := s.instance.Scope()
	w := wire.Scope{Scope: scope}
	if d, ok := s.instance.(bench.Described); ok && err == nil {
		w.Facts = d.Facts()
	}
	if err != nil || scope.OwnKernel {
		return w, err
	}
	limit, _ := os.ReadFile(filepath.Join(scope.Cgroups[cgroup.Unified], "memory.max")) // unknown is ""
	w.MemoryLimit = strings.TrimSpace(string(limit))
	return w, nil
}

// publish makes the instance reachable by the outer guest's address.
func (s *server) publish(ctx context.Context) (string, error) {
	addr := s.instance.Addr()
	if !addr.IsValid() || s.addr != "" {
		return s.addr, nil
	}
	if err := s.testnet.Publish(ctx, addr); err != nil {
		return "", err
	}
	s.addr = addr.String()
	return s.addr, nil
}

// meters opens the meters of the instance's scope, once.
func (s *server) meters(ctx context.Context) ([]wire.Meter, error) {
	if s.readers == nil {
		scope, err := s.instance.Scope()
		if err != nil {
			return nil, err
		}
		if s.readers, err = meter.OpenLayer(scope, s.testnet); err != nil {
			return nil, err
		}
		if m, ok := s.instance.(bench.Metered); ok {
			deeper, err := m.Readers(ctx)
			if err != nil {
				return nil, err
			}
			s.readers = beneath(deeper, s.readers)
		}
	}
	var list []wire.Meter
	s.values = nil
	for _, r := range s.readers {
		list = append(list, wire.Meter{Name: r.Meter(), Columns: r.Columns()})
		s.values = append(s.values, make([]float64, len(r.Columns())))
	}
	return list, nil
}

// sample reads every meter. What cannot be read is missing.
func (s *server) sample() []wire.Values {
	list := make([]wire.Values, len(s.readers))
	for i, r := range s.readers {
		_ = r.Read(s.values[i])
		list[i] = wire.Pack(s.values[i])
	}
	return list
}

// run runs a program of the guest's; what it says is part of the error.
func run(ctx context.Context, name string, args ...string) error {
	if err := tool.Run(ctx, 3*tool.Deadline, exec.Command(name, args...)); err != nil { // the guest may be emulated
		return fmt.Errorf("%s %v: %w", name, args, err)
	}
	return nil
}
