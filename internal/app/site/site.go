// Package site is where Tare works on this host: the state directory, who alone
// measures meanwhile, and what is kept there or removed.
package site

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tare/internal/bench"
	"tare/internal/image"
	"tare/internal/image/own"
	"tare/internal/result/store"
	"tare/internal/state"
	"tare/internal/state/cache"
	"tare/internal/state/ledger"
)

// Site is a state directory and this process in it.
type Site struct {
	Dir   string    // the state directory
	Notes io.Writer // is told what the user should know meanwhile, by lines
	// Apart is the command by which this program removes one thing in a process of its
	// own; nil to do it in this one.
	Apart []string
	// holds: this process is the one that measures on the host.
	holds bool
}

// Make makes the state directory, and says so if it was open to others and is not any more.
func (s *Site) Make() error {
	found, err := state.Make(s.Dir)
	if found != 0 {
		fmt.Fprintf(s.Notes, "closed %s to other users: it was %v, and holds programs and sockets that are root's\n", s.Dir, found)
	}
	return err
}

// Cleaner removes what the dead have left in the state directory.
func (s *Site) Cleaner() ledger.Cleaner { return ledger.Cleaner{Dir: s.Dir, Apart: s.Apart} }

// Images returns a store of images: what [image.New], [image.NewHosts] or
// [image.NewXenHosts] makes. What a build makes is registered in led.
func (s *Site) Images(of func(dir string) *image.Store, led bench.Ledger) *image.Store {
	images := of(s.Dir)
	images.Ledger = led
	images.Progress = func(line string) { fmt.Fprintln(s.Notes, line) }
	return images
}

// ForImages makes the state directory and returns the ledger of what is done to its images by no run.
func (s *Site) ForImages() (*ledger.Ledger, error) {
	if err := s.Make(); err != nil {
		return nil, err
	}
	return ledger.Open(s.Dir, "image")
}

// Begin remembers the run as one that may be resumed here.
func (s *Site) Begin(r *store.Run) error {
	digest, err := r.Digest()
	if err != nil {
		return err
	}
	return cache.Begin(s.Dir, r.Header().Run, digest)
}

// Extend exchanges the plan of a run that began here and is open for resume.
func (s *Site) Extend(r *store.Run, p *bench.Plan) error {
	return r.Extend(p, func(digest string) error { return cache.Extend(s.Dir, r.Header().Run, digest) })
}

// CheckBegun is an error unless the run began here and is as it was then. What a
// folder says is believed for no other reason: its plan is run as root, and its
// meters are asked with secrets of this host.
func (s *Site) CheckBegun(r *store.Run) error {
	digest, err := r.Digest()
	if err != nil {
		return err
	}
	err = cache.CheckBegun(s.Dir, r.Header().Run, digest)
	if errors.Is(err, bench.ErrInvalid) {
		err = fmt.Errorf("%w%w", err, bench.Hint("measure its experiment anew: tare run --from "+r.Dir()+"; or see what there is: tare report "+r.Dir()))
	}
	return err
}

// CertificateDir is where the self-test's findings are kept.
func (s *Site) CertificateDir() string { return filepath.Join(s.Dir, "selftest") }

// Program is where a saved image has this program, with the agent beside it.
const Program = "/.tare/tare"

// Programs are this program and the agent, by their places in a saved image.
func Programs() (map[string]string, error) {
	agent, err := Agent()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return map[string]string{own.AgentPlace: agent, Program: self, filepath.Join(filepath.Dir(Program), filepath.Base(agent)): agent}, nil
}

// Agent is the agent's program, beside this one.
func Agent() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	path := filepath.Join(filepath.Dir(self), "tare-agent")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("find the agent: %w%w", err,
			bench.Hint("tare-agent is built with tare and must lie beside it: go build ./cmd/tare-agent"))
	}
	return path, nil
}
