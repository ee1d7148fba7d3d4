package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/internal/analysis/stop"
	"tare/internal/app/planning"
	"tare/internal/app/site"
	"tare/internal/bench"
	"tare/internal/host"
	"tare/internal/host/testnet"
	"tare/internal/host/tool"
	"tare/internal/image"
	"tare/internal/image/own"
	"tare/internal/result/store"
	"tare/internal/run"
	"tare/internal/run/containment"
	"tare/internal/state"
	"tare/internal/state/ledger"
	"tare/internal/workload"
)

// errTimeUp ends a run whose time limit, of --max-time or the specification, is over.
var errTimeUp = errors.New("the time limit is over")

// attempt is one go at a run, begun or resumed.
type attempt struct {
	*Runs
	run      *store.Run
	found    []planning.Checked
	image    *image.Image // what the instances run
	golden   *image.Image // what the machines that load them run
	ledger   *ledger.Ledger
	power    powerMeters
	limit    time.Duration   // 0 for none
	finished map[string]bool // trials that have their outcome
	mixed    []string        // what is not as when the run began
}

// carryOut measures what is not finished and concludes, also when the run was
// stopped before its end.
func (a *attempt) carryOut(ctx context.Context) error {
	if a.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, a.limit, errTimeUp)
		defer cancel()
	}
	stopped := func(format string, args ...any) *Stopped {
		return &Stopped{fmt.Errorf(format, args...), context.Cause(ctx) == errTimeUp}
	}
	goOn := bench.Hint("tare resume " + a.run.Dir())
	if a.ID != "" { // the folder goes to whoever has the run carried out
		goOn = ""
	}
	s, err := a.open(ctx)
	if err != nil && ctx.Err() != nil {
		return stopped("stopped before the first trial: %w%w: %w", context.Cause(ctx), goOn, err)
	}
	if err != nil {
		return err
	}
	err = a.measure(ctx, s)
	e := Ending{Unclosed: s.close()}
	switch {
	case err == nil:
	case ctx.Err() == nil:
		e.Failed = err
	default:
		e.Stopped = stopped("%w%w", err, goOn)
	}
	return a.Conclude(a.run, e)
}

// open makes ready everything the plan's platforms need.
func (a *attempt) open(ctx context.Context) (s *Session, err error) {
	id := a.run.Header().Run
	s = &Session{ID: id, Ledger: a.ledger, engines: map[string]run.Engine{}, hosts: map[string]run.FurtherHost{}, remove: a.Site.Cleaner().RemoveDirs}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.agent, err = site.Agent(); err != nil {
		return s, err
	}
	dir := filepath.Join(a.Site.Dir, "runs", id)
	if err := a.ledger.Register(bench.KindDir, dir); err != nil {
		return s, err
	}
	if err := os.MkdirAll(dir, state.Mode); err != nil {
		return s, fmt.Errorf("make the run's directory: %w", err)
	}
	s.Dir = dir
	if s.testnet, err = testnet.New(ctx, id, a.ledger); err != nil {
		return s, err
	}
	used := map[string]bool{}
	for _, scene := range a.run.Plan().Scenes {
		for _, actor := range scene.Actors {
			used[actor.Platform.Driver()] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		if err := a.openPlatform(ctx, s, name); err != nil {
			return s, err
		}
	}
	if a.golden != a.image {
		if err := a.openPeers(ctx, s); err != nil {
			return s, err
		}
	}
	if err := a.openHosts(ctx, s); err != nil {
		return s, err
	}
	if k := a.run.Plan().Image.Kernel; k != nil {
		at := filepath.Join(dir, "own")
		if err := os.Mkdir(at, state.Mode); err != nil {
			return s, fmt.Errorf("make the directory of your kernel: %w", err)
		}
		if s.kernel, err = own.Keep(ctx, *k, at); err != nil {
			return s, err
		}
	}
	return s, s.testnet.Settle(ctx)
}

// openPlatform opens a platform in the session. One that cannot be opened is an error
// only if the others are compared with it.
func (a *attempt) openPlatform(ctx context.Context, s *Session, name string) error {
	i := slices.IndexFunc(a.found, func(c planning.Checked) bool { return c.Name() == name })
	if i < 0 {
		return fmt.Errorf("platform %q is not known: %w", name, bench.ErrInvalid)
	}
	c := a.found[i]
	if c.Err != nil {
		return fmt.Errorf("platform %s: %w", name, c.Err)
	}
	dir := filepath.Join(s.Dir, name)
	if err := os.MkdirAll(dir, state.Mode); err != nil {
		return fmt.Errorf("make the directory of %s: %w", name, err)
	}
	a.say("opening %s", strings.TrimSpace(name+" "+c.Version))
	e, err := c.Open(ctx, bench.Env{Run: s.ID, Image: a.image, Testnet: s.testnet, Ledger: s.Ledger, AgentPath: s.agent, Dir: dir,
		Programs: planning.ProgramsOf(a.run.Plan(), name)})
	if err != nil {
		err = fmt.Errorf("open platform %s: %w", name, err)
		if ctx.Err() != nil || name == baselineOf(a.run.Plan()) {
			return err
		}
		a.say("! %v; its trials will fail", err)
		if h := bench.HintOf(err); h != "" {
			a.say("  hint: %s", h)
		}
		e = unopened{err}
	}
	s.engines[name] = run.Engine{Engine: e, Availability: c.Availability, Options: c.Options(), Chosen: map[string]string{}}
	for _, p := range a.run.Header().Chosen {
		if p.Option == "" { // a kernel's release is not the platform's version
			s.engines[name].Chosen[p.Platform] = p.Version
		}
	}
	return nil
}

// openPeers opens the engine of the machines that load instances of the user's own image.
func (a *attempt) openPeers(ctx context.Context, s *Session) error {
	if !slices.ContainsFunc(a.run.Plan().Scenes, func(sc bench.Scene) bool {
		return slices.ContainsFunc(sc.Actors, func(x bench.Actor) bool { return x.Role == bench.Peer })
	}) {
		return nil
	}
	native, ok := s.engines[bench.Native]
	dir := filepath.Join(s.Dir, run.PeerEngine)
	if err := os.MkdirAll(dir, state.Mode); err != nil {
		return fmt.Errorf("make the directory of peers: %w", err)
	}
	i := slices.IndexFunc(a.found, func(c planning.Checked) bool { return c.Name() == bench.Native })
	if !ok || i < 0 {
		return fmt.Errorf("peers run natively, and native is not open: %w", bench.ErrUnavailable)
	}
	e, err := a.found[i].Open(ctx, bench.Env{Run: s.ID, Image: a.golden, Testnet: s.testnet, Ledger: s.Ledger, AgentPath: s.agent, Dir: dir})
	if err != nil {
		return fmt.Errorf("open peers: %w", err)
	}
	native.Engine = e
	s.engines[run.PeerEngine] = native
	return nil
}

// baselineOf is the driver of the platform that all others are compared with.
func baselineOf(p *bench.Plan) string {
	for _, s := range p.Scenes {
		if s.Platform.String() == p.Baseline {
			return s.Platform.Driver()
		}
	}
	return ""
}

// measure carries out what of the plan is not finished.
func (a *attempt) measure(ctx context.Context, s *Session) error {
	ws := map[string]bench.Workload{}
	for _, w := range workload.All() {
		ws[w.Name()] = w
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	r := a.run
	spent, err := stop.Spent(r.Plan(), r.Outcomes())
	if err != nil {
		return err
	}
	notify, end := a.Watch(r.Plan(), finishedTrials(r.Plan(), a.finished), spent)
	defer end()
	runner := &run.Runner{
		ID: s.ID, AgentPath: s.agent, Plan: r.Plan(), Engines: s.engines, Workloads: ws, Testnet: s.testnet, Hosts: s.hosts, Shared: s.testnet.Addr(), Sink: r, Remove: s.remove,
		Image: a.image.Manifest().Config, Kernel: s.kernel,
		Dir: s.Dir, LLC: r.Host().LLC, Observer: r.Header().ObserverCPUs,
		Interval: time.Second, Notify: notify, Before: r.Outcomes(), Power: a.power, Mixed: a.mixed,
		QuietWait:  a.QuietWait,
		Conditions: func(wanted map[string]string) (func() error, error) { return host.Set("/", s.Dir, s.Ledger, wanted) },
		Guard:      &containment.Guard{Run: s.ID, Ledger: s.Ledger, Watchdog: []string{self, a.Watchdog}, Rules: containment.DefaultRules()},
	}
	if rule := stop.NewWatch(r.Plan()); rule != nil {
		runner.Rule = rule
	}
	if a.Beside != nil {
		runner.Beside = func(ctx context.Context, scene *bench.Scene) ([]bench.Process, func(), error) {
			return a.Beside(ctx, s, scene)
		}
	}
	return runner.Run(ctx, a.finished)
}

// finishedTrials counts the plan's trials that have an outcome; stretches of
// rest are none of them.
func finishedTrials(p *bench.Plan, finished map[string]bool) int {
	n := 0
	for _, t := range p.Trials {
		if finished[t.ID] {
			n++
		}
	}
	return n
}

// Session is what one run holds on the host: its ledger, test network and open
// engines. Closing it leaves nothing behind.
type Session struct {
	ID      string // of the run
	Dir     string // the run's directory on the disk under test
	Ledger  *ledger.Ledger
	agent   string // the agent's program
	testnet *testnet.Network
	engines map[string]run.Engine
	hosts   map[string]run.FurtherHost
	kernel  *bench.OwnKernel // the run's own copy of the user's kernel; nil for none
	// remove removes directories of the run, as [ledger.Cleaner.RemoveDirs] does.
	remove func(ctx context.Context, dirs ...string) error
}

// The end of a session.
const (
	closeDeadline = time.Minute
	// closeGrace is how much longer an engine may take that waits for what it has
	// killed; then it hangs in the kernel and is given up.
	closeGrace = 30 * time.Second
)

// close stops the engines and removes what the session made. It does so even
// if the run was cancelled.
func (s *Session) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeDeadline)
	defer cancel()
	var errs []error
	for name, e := range s.engines {
		if err := tool.Call(ctx, closeGrace, e.Close); err != nil {
			errs = append(errs, fmt.Errorf("close platform %s: %w", name, err))
		}
	}
	for _, h := range s.hosts { // their connections have sockets in the test network's directory
		errs = append(errs, h.Close(ctx))
	}
	if s.testnet != nil {
		if err := tool.Call(ctx, closeGrace, s.testnet.Close); err != nil {
			errs = append(errs, err)
		}
	}
	if s.Dir != "" {
		err := s.remove(context.Background(), s.Dir)
		if err == nil {
			err = s.Ledger.Release(bench.KindDir, s.Dir)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("remove the run's directory: %w", err))
		}
	}
	return errors.Join(errs...)
}

// unopened is the engine of a platform that could not be opened: what it would
// have run is recorded as failed, and the other platforms are measured.
type unopened struct{ err error }

func (u unopened) Start(context.Context, bench.Launch) (bench.Instance, error) { return nil, u.err }
func (unopened) Close(context.Context) error                                   { return nil }

// Reads implements [bench.Reading], so that a cold launch fails for the reason there is.
func (unopened) Reads() []string { return nil }
