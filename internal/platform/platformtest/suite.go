// Package platformtest is the one conformance suite that every platform passes,
// run for real on this host.
package platformtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/host/testnet"
	"tare/internal/state"
	"tare/internal/state/ledger"
)

// Options adapt the suite to a platform.
type Options struct {
	// Image to run; nil is [Image].
	Image bench.Image
	// Options of the platform that differ from their defaults.
	Options map[string]string
	// Slow multiplies every deadline, for emulated machines; 0 is 1.
	Slow float64
	// Shape of an instance; its zero is one CPU and 256 MiB of memory and disk.
	Shape bench.Shape
	// MostCPUs is how many CPUs an instance can have; 0 is any number.
	MostCPUs int
	// Console is where a program in a guest prints on what is kept of its console; "" of a guest with one line only,
	// and of what shares the host's kernel.
	Console string
	// Lacks are the suite's cases that the platform does not claim to pass, with
	// the reason. "test network" is for one that is given no network, and one that lacks
	// "missing image" is given none. Limits it does not enforce are not listed here: they are found
	// in what its instances call unenforced.
	Lacks map[string]string
	// Only, if not empty, are the cases to run: a reduced set, for what is slow
	// and shares its driver with a platform that passes all of them.
	Only []string
}

// runs reports whether a case is run, and logs why not.
func (o Options) runs(t *testing.T, name string) bool {
	t.Helper()
	reason := o.skips(name)
	if reason != "" {
		t.Logf("%s is left out: %s", name, reason)
	}
	return reason == ""
}

// skips says why a case is not run, "" if it is.
func (o Options) skips(name string) string {
	if reason, lacks := o.Lacks[name]; lacks {
		return "it is not claimed: " + reason
	}
	if len(o.Only) > 0 && !slices.Contains(o.Only, name) {
		return "the set is reduced to " + strings.Join(o.Only, ", ")
	}
	return ""
}

// Run tests the platform. It skips the test when the platform is unavailable
// here, with its reason.
func Run(t *testing.T, p bench.Platform, o Options) {
	if os.Getenv(abandonEnv) != "" {
		abandon(t, p, o)
		return
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(o.Lacks)), o.Only) {
		if !slices.Contains(names(), name) {
			t.Errorf("Lacks or Only names %q, which is not a case of the suite", name)
		}
	}
	ref := bench.PlatformRef{Name: p.Name(), Options: o.Options}
	found, err := p.Check(t.Context())
	measured := cmp.Or(found.Label, "real")
	if len(o.Only) > 0 {
		measured += ", reduced set"
	}
	t.Logf("conformance of %s; %s; %s", ref, cmp.Or(found.Version, "-"), measured) // read by testsum
	if found.Untried {
		if err = decide(t, p); err != nil && !errors.Is(err, bench.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	if errors.Is(err, bench.ErrUnavailable) {
		t.Skipf("%s is unavailable here: %v", p.Name(), err)
	}
	t.Run("check", func(t *testing.T) { testCheck(t, p) })
	if o.runs(t, "killed run") {
		t.Run("killed run", func(t *testing.T) { testKilledRun(t, p, o) })
	}
	s := open(t, p, o, newRun(p), stateDir(t))
	if !s.runTogether(t) {
		return
	}
	for _, c := range cases {
		if o.runs(t, c.name) && !s.nothingLeft(t, c.name, t.Run(c.name, func(t *testing.T) { c.f(t, s) })) {
			return
		}
	}
}

// decide lets a platform make its trial in a run of its own, and returns what came of it.
func decide(t *testing.T, p bench.Platform) (err error) {
	t.Helper()
	try, ok := p.(interface {
		Probe(ctx context.Context, e bench.Env) error
	})
	if !ok {
		return errors.New("it is yet to be tried, and has no way to be")
	}
	dir, run := stateDir(t), newRun(p)
	led, err := ledger.Open(dir, run)
	if err != nil {
		t.Fatal(err)
	}
	net, err := testnet.New(t.Context(), run, led)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { err = errors.Join(err, net.Close(context.WithoutCancel(t.Context()))) }()
	return try.Probe(t.Context(), bench.Env{Run: run, Image: Image(t), Ledger: led, Testnet: net, Dir: dir, AgentPath: Agent(t)})
}

// suite is one run of a platform.
type suite struct {
	p        bench.Platform
	o        Options
	env      bench.Env
	engine   bench.Engine
	testnet  *testnet.Network // nil for a platform that lacks "lab"
	ledger   *ledger.Ledger
	state    string
	peer     string // the network namespace of a further machine, and its address
	peerAddr netip.Addr
	baseline map[string]bool // what belongs to the engine and the test network
	count    atomic.Int64
	// unenforced is what an instance of the suite's shape said, if one was started.
	unenforced []string
	started    bool
}

// newRun returns a run id that is unique on the host.
func newRun(p bench.Platform) string {
	return fmt.Sprintf("pt-%s-%d", strings.ReplaceAll(p.Name(), "@", "-"), os.Getpid())
}

// open makes the run and opens the platform; all is closed when the test ends,
// and nothing must be left then.
func open(t *testing.T, p bench.Platform, o Options, run, dir string) *suite {
	t.Helper()
	if o.Shape == (bench.Shape{}) {
		o.Shape = bench.Shape{CPUs: 1, Memory: 256 * bench.MiB, Disk: 256 * bench.MiB}
	}
	if _, lacks := o.Lacks["missing image"]; lacks {
		o.Image = noImage{}
	} else if o.Image == nil {
		o.Image = Image(t)
	}
	s := &suite{p: p, o: o, state: dir}
	var err error
	if s.ledger, err = ledger.Open(s.state, run); err != nil {
		t.Fatal(err)
	}
	s.env = bench.Env{Run: run, Image: o.Image, Ledger: s.ledger, Dir: filepath.Join(s.state, "run"), AgentPath: Agent(t)}
	if err := os.Mkdir(s.env.Dir, state.Mode); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left := s.leftovers(); len(left) > 0 {
			t.Errorf("after the run was closed there is left behind: %q", left)
		}
	})
	if _, lacks := o.Lacks["lab"]; !lacks {
		if s.testnet, err = testnet.New(t.Context(), run, s.ledger); err != nil {
			t.Fatal(err)
		}
		s.env.Testnet = s.testnet
		t.Cleanup(func() {
			if err := s.testnet.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	if s.testnet != nil {
		if s.peer, s.peerAddr, err = s.testnet.Peer(t.Context(), "peer", 0); err != nil {
			t.Fatal(err)
		}
	}
	if s.engine, err = p.Open(t.Context(), s.env); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), s.slow(time.Minute))
		defer cancel()
		if err := s.engine.Close(ctx); err != nil {
			t.Error(err)
		}
		s.baseline = nil // from here on all must go
	})
	_, noImage := o.Lacks["missing image"]
	if _, reads := s.engine.(bench.Reading); !reads && !noImage && !strings.Contains(p.Name(), "@") {
		t.Error("the engine does not say which files its launches read: no start-up is cold")
	}
	s.baseline = s.present()
	return s
}

// stateDir is a state directory on a disk, which the usual directory for tests
// need not be on.
func stateDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "tare-platformtest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// slow stretches a deadline for the platform.
func (s *suite) slow(d time.Duration) time.Duration { return s.o.slow(d) }

func (o Options) slow(d time.Duration) time.Duration {
	if o.Slow == 0 {
		return d
	}
	return time.Duration(float64(d) * o.Slow)
}
