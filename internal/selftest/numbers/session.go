package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/testnet"
	"tare/internal/host/tree"
	"tare/internal/image"
	"tare/internal/platform/all"
	"tare/internal/state/ledger"
)

// session is a test network of our own with platforms opened in it, as tare run has.
// What it makes is in tare's ledger: tare clean removes it after a crash.
type session struct {
	id        string
	dir       string // on the disk under test
	agent     string
	ledger    *ledger.Ledger
	image     *image.Image
	testnet   *testnet.Network
	platforms map[string]bench.Platform
	engines   map[string]bench.Engine
	launches  int
}

// open makes a session with the platforms. Daemons have data directories of their
// own, so that tare may run at the same time.
func (n *numbers) open(ctx context.Context, names ...string) (*session, error) {
	return n.openWith(ctx, bench.ImageNeeds{}, names...)
}

// openWith makes a session whose image holds what is needed beyond the base.
func (n *numbers) openWith(ctx context.Context, needs bench.ImageNeeds, names ...string) (s *session, err error) {
	id := "numbers-" + strings.ToLower(rand.Text()[:6])
	s = &session{id: id, dir: filepath.Join(n.tare.state, "runs", id), engines: map[string]bench.Engine{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.agent, err = n.tare.agent(); err != nil {
		return s, err
	}
	if s.ledger, err = ledger.Open(n.tare.state, id); err != nil {
		return s, err
	}
	images, err := image.NewWith(n.tare.state, needs)
	if err != nil {
		return s, err
	}
	images.Ledger = s.ledger
	images.Progress = func(line string) { n.say("%s", line) }
	if s.image, err = images.Build(ctx); err != nil {
		return s, err
	}
	if err := s.ledger.Register(bench.KindDir, s.dir); err != nil {
		return s, err
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return s, err
	}
	if s.testnet, err = testnet.New(ctx, id, s.ledger); err != nil {
		return s, err
	}
	env := bench.Env{Run: id, Image: s.image, Testnet: s.testnet, Ledger: s.ledger, Dir: s.dir, AgentPath: s.agent}
	s.platforms = map[string]bench.Platform{}
	for _, p := range all.Platforms(s.dir) {
		name := p.Name()
		if !slices.Contains(names, name) {
			continue
		}
		s.platforms[name] = p
		if _, err := p.Check(ctx); err != nil {
			return s, err
		}
		n.say("  opening %s", name)
		env.Dir = filepath.Join(s.dir, name)
		if err := os.Mkdir(env.Dir, 0o755); err != nil {
			return s, err
		}
		if s.engines[name], err = p.Open(ctx, env); err != nil {
			delete(s.engines, name)
			return s, err
		}
	}
	return s, s.testnet.Settle(ctx)
}

// launch asks for an instance of the platform with its default options.
func (s *session) launch(platform string, shape bench.Shape, cpus []int) (bench.Launch, error) {
	s.launches++
	id := fmt.Sprintf("%s-%d", s.id, s.launches)
	l := bench.Launch{ID: id, Shape: shape, CPUSet: cpus, Options: map[string]string{}, Dir: filepath.Join(s.dir, id)}
	for _, o := range s.platforms[platform].Options() {
		l.Options[o.Name] = o.Default
	}
	return l, os.Mkdir(l.Dir, 0o755)
}

// lastCPU is the one farthest from the observer's, which is the first.
func lastCPU() int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return 0
	}
	last := 0
	for cpu := range len(set) * 64 {
		if set.IsSet(cpu) {
			last = cpu
		}
	}
	return last
}

// socket is that of the session's Docker daemon.
func (s *session) socket() string {
	return "unix://" + filepath.Join(bench.RuntimeDir, s.id, "docker", "docker.sock")
}

// close removes all that the session made, also after it has been interrupted.
func (s *session) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var errs []error
	for _, e := range s.engines {
		errs = append(errs, e.Close(ctx))
	}
	if s.testnet != nil {
		errs = append(errs, s.testnet.Close(ctx))
	}
	if s.image != nil {
		errs = append(errs, s.image.Close())
	}
	if s.ledger != nil {
		err := tree.Remove(s.dir)
		if err == nil {
			err = s.ledger.Release(bench.KindDir, s.dir)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
