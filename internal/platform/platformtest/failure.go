package platformtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
)

// testRefusedCPUSet asks for a CPU that no host has.
func testRefusedCPUSet(t *testing.T, s *suite) {
	if !s.started {
		s.close(t, s.start(t))
	}
	enforced(t, s.unenforced, "cpu set")
	s.mustFail(t, t.Context(), s.launch(t, s.o.Shape, []int{4095}))
}

// testCancelledStart starts with no time left, and with little.
func testCancelledStart(t *testing.T, s *suite) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.mustFail(t, ctx, s.launch(t, s.o.Shape, CPUs(t)[:1]))
	ctx, cancel = context.WithTimeout(t.Context(), 2*time.Millisecond)
	defer cancel()
	l := s.launch(t, s.o.Shape, CPUs(t)[:1])
	if in, err := s.engine.Start(ctx, l); err == nil { // it was quick, or takes no notice once begun
		s.close(t, &box{Instance: in, id: l.ID})
	}
}

func (s *suite) mustFail(t *testing.T, ctx context.Context, l bench.Launch) {
	t.Helper()
	in, err := s.engine.Start(ctx, l)
	if err == nil {
		s.close(t, &box{Instance: in, id: l.ID})
		t.Errorf("started with CPUs %v, context error %v", l.CPUSet, ctx.Err())
		return
	}
	t.Logf("as it should: %v (hint: %s)", err, bench.HintOf(err))
	if left := s.leftovers(); len(left) > 0 {
		t.Errorf("the failed start left behind: %q", left)
	}
}

// noImage is one that cannot be had.
type noImage struct{}

var errNoImage = errors.New("there is no image")

func (noImage) Digest() string                                        { return "sha256:0" }
func (noImage) Root(context.Context) (string, error)                  { return "", errNoImage }
func (noImage) Tar(context.Context) (string, error)                   { return "", errNoImage }
func (noImage) Disk(context.Context) (string, error)                  { return "", errNoImage }
func (noImage) Kernel(context.Context) (kernel, mods string, _ error) { return "", "", errNoImage }

// testMissingImage opens the platform without an image, or starts without if it
// opens.
func testMissingImage(t *testing.T, s *suite) {
	env := s.env
	env.Image = noImage{}
	env.Run += "-noimage"
	engine, err := s.p.Open(t.Context(), env)
	if err == nil {
		var in bench.Instance
		if in, err = engine.Start(t.Context(), s.launch(t, s.o.Shape, CPUs(t)[:1])); err == nil {
			s.close(t, &box{Instance: in})
		}
		if err := engine.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	if !errors.Is(err, errNoImage) {
		t.Errorf("without an image: %v", err)
	}
}

// testAgain: a trial that is repeated launches under the same name.
func testAgain(t *testing.T, s *suite) {
	l := s.launch(t, s.o.Shape, CPUs(t)[:1])
	s.close(t, s.startAs(t, l))
	s.succeed(t, s.startAs(t, s.again(t, l)), "true")
}

// testCrash kills everything that makes up the instance from outside: calls
// fail, and it can still be closed.
func testCrash(t *testing.T, s *suite) {
	l := s.launch(t, s.o.Shape, CPUs(t)[:1])
	b := s.startAs(t, l)
	pids, err := victims(s.scope(t, b), b.id)
	if err != nil {
		t.Fatal(err)
	}
	if len(pids) == 0 {
		t.Fatal("nothing found to kill")
	}
	for _, pid := range pids {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), s.slow(20*time.Second))
	defer cancel()
	out, err := b.agent.Exec(ctx, bench.Command{Argv: []string{"true"}, Timeout: s.slow(10 * time.Second)})
	if err == nil {
		t.Errorf("a command ran after the crash: %+v", out)
	}
	if ctx.Err() != nil {
		t.Error("a call after the crash hangs")
	}
	_ = b.Log() // must not panic or hang
	s.close(t, b)
	s.succeed(t, s.startAs(t, s.again(t, l)), "true") // the next one is fine
}

// victims are the processes that make up an instance: its helpers, those in its
// cgroups and those with its mark.
func victims(scope bench.Scope, id string) ([]int, error) {
	pids, err := marked(id)
	if err != nil {
		return nil, err
	}
	for _, p := range scope.Helpers {
		pids = append(pids, p.PID)
	}
	host, err := cgroup.Detect()
	if errors.Is(err, bench.ErrUnavailable) {
		return pids, nil
	}
	if err != nil {
		return nil, err
	}
	for _, pid := range processes() {
		in, err := host.Of(pid)
		if err != nil {
			continue // it ended
		}
		for c, dir := range scope.Cgroups {
			if within(in[c], dir) {
				pids = append(pids, pid)
			}
		}
	}
	return pids, nil
}

func within(path, dir string) bool {
	return path == dir || len(path) > len(dir) && path[:len(dir)+1] == dir+"/"
}
