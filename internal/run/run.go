// Package run carries out a plan: it launches the actors of each trial, warms
// up, measures while every level is sampled, and stores what became of it
// (tesfatsion2018 section 3.3). Drivers, workloads and the store are handed in.
//
// A trial has these phases, which are stored with their times:
//
//  1. setup: directories on the disk under test, an address or a peer's namespace
//  2. launch: peers, idle instances, neighbours, then subjects; each is up when its agent greets
//  3. prepare: clocks are compared a first time; meters are opened, files placed, preparing
//     commands run, services started; then what serves the neighbours begins, then the
//     neighbours; adversaries last, under the watchdog
//  4. warmup: X; it is a run of its own, or the ramp of the measured program
//  5. measure: Y; the window opens when the last subject begins and closes when the first ends
//  6. collect: clocks are compared a last time, and samples placed by them; what cannot be true
//     is refused; programs' output is parsed into values; a missing value is an error
//  7. close, then cooldown: Z; the outcome is on disk before the next trial begins
//
// A ramp of instances goes through launch, warmup and measure once for each of its steps.
// Nothing is asked inside its instances but the first command.
package run

import (
	"context"
	"iter"
	"net/netip"
	"time"

	"tare/internal/bench"
	"tare/internal/meter"
	"tare/internal/run/containment"
)

// Testnet is the run's network, with namespaces for peers beside it.
type Testnet interface {
	bench.Testnet
	// Peer returns the network namespace of a further machine, made at first
	// use, and its address. Peers of a rate in bit/s share one wire of it; 0 is no limit.
	Peer(ctx context.Context, name string, rate float64) (netns string, addr netip.Addr, err error)
}

// Engine is a platform that is open for this run.
type Engine struct {
	bench.Engine
	bench.Availability
	// Options are the platform's, with their defaults.
	Options []bench.Option
	// Chosen are the versions of programs that platforms choose by an option, by the
	// platform's name with its options.
	Chosen map[string]string
}

// FurtherHost is another host that is connected.
type FurtherHost struct {
	bench.Engine
	Kernel string     // the release of its kernel
	CPUs   int        // that it has
	Reach  netip.Addr // at which it finds the subjects
}

// Sink stores the outcome of a trial, durably, before it returns.
type Sink interface {
	Append(ctx context.Context, o *bench.Outcome, samples []bench.Sample, outputs map[string][]byte) error
}

// Rule ends scenes, or the whole run, before the plan's last block. It depends on
// nothing but the outcomes of the run, so a resumed run hears the same.
type Rule interface {
	// Learn takes note of an outcome, also of those before a resume.
	Learn(o *bench.Outcome)
	// Enough says at the end of a block whether a scene needs no further ones.
	Enough(scene string, block int) bool
	// Over says before a trial, by its place in the plan, whether no further ones are run.
	Over(place int) bool
}

// Runner carries out one plan.
type Runner struct {
	ID        string // of the run, prefix of every launch's id
	Plan      *bench.Plan
	Engines   map[string]Engine // by the platform's [bench.PlatformRef.Driver], and perhaps [PeerEngine]
	Workloads map[string]bench.Workload
	// Image is how the instances' image says its programs are run; nil for the golden one.
	Image *bench.ImageConfig
	// Kernel is what machines without an agent boot; nil where there are none.
	Kernel  *bench.OwnKernel
	Testnet Testnet
	Hosts   map[string]FurtherHost // that peers run on, by name
	// Shared is the address of what shares the test network's namespace: the only subjects that further
	// hosts reach.
	Shared    netip.Addr
	Sink      Sink
	AgentPath string // the agent's program on the host
	Dir       string // on the disk under test; a directory per launch is made in it
	LLC       bench.Bytes
	// Wire is how much one direction of the network under test carries, in bytes
	// per second; 0 if nothing bounds it, as between devices made of software.
	Wire     float64
	Observer []int // the CPUs the sampling thread is kept on; empty for any
	// Interval between samples.
	Interval time.Duration
	// Remove removes the directories of launches, within a deadline of its own and so that
	// this process need not wait for a disk that does not answer; its error wraps
	// tool.ErrLate then. Nil: this process removes them, and waits.
	Remove func(ctx context.Context, dirs ...string) error
	// Notify is told of progress. It must not block.
	Notify func(Event)
	// Beside, if set, starts what is to run beside a metered trial, once its
	// instances are up, and says which processes that is. Their CPU time is read
	// with the rest, by a source of its own (meter.OpenBeside). stop, if not nil,
	// ends them.
	Beside func(ctx context.Context, s *bench.Scene) (processes []bench.Process, stop func(), err error)
	// Guard keeps adversaries from harming the host; a scene with a containment
	// cannot run without it.
	Guard *containment.Guard
	// Rule says which trials are not needed; nil: all are.
	Rule Rule

	// OtherWork returns what held the host besides the run since it was last asked. It is asked
	// around every launch where the plan says what disturbs one. Nil: the host's processes tell.
	OtherWork func() (bench.OtherWork, error)
	// QuietWait is how long the run waits before each block, at most, until other work is below the
	// plan's bound; 0 not to wait.
	QuietWait time.Duration

	// Before are the outcomes of the run until it was stopped, in order; nil for none. They
	// decide which platforms are given up, with those of its further trials.
	Before iter.Seq2[*bench.Outcome, error]

	// Power are the meters of what the machine draws, read through the whole run;
	// where there are any, the plan says how long the machine rests around a block.
	Power []bench.PowerReader
	// Mixed, if not empty, is what is otherwise than when the run began; every outcome tells it.
	Mixed []string
	// Conditions sets the host's conditions of a scene, such as a governor, and
	// returns what puts back what was there. Nil where no scene has any.
	Conditions func(wanted map[string]string) (restore func() error, err error)
}

// PeerEngine is the engine of peers where the instances' image is the user's own: their programs are
// the golden image's.
const PeerEngine = "peer"

// Event is progress, for people to watch.
type Event struct {
	Trial   bench.Trial
	Scene   *bench.Scene
	Index   int // of the trial in the plan, from 0
	Phase   string
	Outcome *bench.Outcome // set when the trial has ended
	// Again: the outcome is of a launch that other work disturbed, and the trial is launched once
	// more at the end of its block.
	Again bool
	// Waits, set alone, is the other work that the run waits for to end, in words.
	Waits string
	// Ended, set alone, is a scene that needs no more than the blocks it had.
	Ended string
}

// Deadlines for what has no natural end.
const (
	// startDeadline bounds a launch. A VM under emulation on a busy machine
	// needs most of it; a dead instance is noticed at once, by its stream.
	startDeadline = 90 * time.Second
	// nestedDeadline bounds that of a nesting: two launches, and the opening of
	// the inner platform, in a guest that may be emulated.
	nestedDeadline = 5 * time.Minute
	answerDeadline = 5 * time.Second  // an agent's answer to a small question
	listenDeadline = 10 * time.Second // a service opening its port
	closeDeadline  = 30 * time.Second
	closeEach      = 5 * time.Second // more for each further actor
)

// Run executes every trial that is not finished and whose scene is not enough
// yet. It returns early when ctx is done, after closing what runs, or when an
// outcome cannot be stored. A trial that fails is recorded and the run goes on.
func (r *Runner) Run(ctx context.Context, finished map[string]bool) error {
	s := &session{Runner: r, finished: finished, daemons: daemons{},
		dirs: &dirs{in: r.Dir, remover: r.Remove}, cache: &pageCache{agentPath: r.AgentPath, launched: map[string]bool{}, opened: map[string][]string{}},
		due: map[string]int{}, around: &surroundings{bound: r.Plan.Disturbed, since: r.OtherWork}}
	if s.around.since == nil && (s.around.bound != nil || r.QuietWait > 0) {
		outside, err := meter.OpenOutside("/proc", r.ID)
		if err != nil {
			return err
		}
		s.around.since, s.around.include = outside.Since, outside.Include
	}
	if err := s.recall(); err != nil {
		return err
	}
	s.around.begin()
	s.power = watchPower(r.Power, r.Observer)
	defer s.power.end()
	return s.run(ctx)
}

func (r *Runner) notify(e Event) {
	if r.Notify != nil {
		r.Notify(e)
	}
}
