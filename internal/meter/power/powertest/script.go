// Package powertest runs real peers of the power meters' protocols, whose power
// follows a script: snmpd, ipmi_sim and a controller with DCMI by pyghmi, all of
// the distribution, and a Redfish service by net/http over TLS. All listen on
// the loopback device alone.
package powertest

import (
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"tare/internal/host/clock"
)

// Script is what the machine of the peers draws, changed as a test goes on.
type Script struct {
	mu      sync.Mutex
	history []step
	publish []func(watts int) error
}

type step struct {
	at    int64 // host's CLOCK_MONOTONIC
	watts int
}

// NewScript begins at some watts.
func NewScript(watts int) *Script {
	return &Script{history: []step{{clock.Now(), watts}}}
}

// Set changes the power of every peer.
func (s *Script) Set(t *testing.T, watts int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.publish {
		if err := p(watts); err != nil {
			t.Error(err)
		}
	}
	s.history = append(s.history, step{clock.Now(), watts})
}

func (s *Script) now() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history[len(s.history)-1].watts
}

// Joules is the energy of a stretch.
func (s *Script) Joules(from, to int64) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := 0.0
	for i, h := range s.history {
		begin, end := max(from, h.at), to
		if i == 0 {
			begin = from
		}
		if i+1 < len(s.history) {
			end = min(to, s.history[i+1].at)
		}
		if end > begin {
			sum += float64(h.watts) * float64(end-begin) / 1e9
		}
	}
	return sum
}

// follow lets a peer follow the script by a file's content.
func (s *Script) follow(t *testing.T, path string, content func(watts int) string) {
	t.Helper()
	put := func(watts int) error { return replace(path, content(watts)) }
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := put(s.history[len(s.history)-1].watts); err != nil {
		t.Fatal(err)
	}
	s.publish = append(s.publish, put)
}

// replace gives a file a new content all at once.
func replace(path, content string) error {
	if err := os.WriteFile(path+".new", []byte(content), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// need skips the test where a program or file of the peer is not installed.
func need(t *testing.T, what, pkg string) string {
	t.Helper()
	if path, err := exec.LookPath(what); err == nil {
		return path
	}
	for _, dir := range []string{"/usr/sbin", "/sbin", ""} {
		if path := filepath.Join(dir, what); filepath.IsAbs(path) {
			if _, err := os.Stat(path); err == nil {
				return path
			}
		}
	}
	t.Fatalf("%s is not installed (package %s): ./test installs it", what, pkg)
	return ""
}

// freePort is a UDP port of the loopback device that nobody uses, below those
// the kernel gives to whoever asks for any.
func freePort(t *testing.T) int {
	t.Helper()
	var err error
	for range 100 {
		var c *net.UDPConn
		c, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 20_000 + rand.N(10_000)})
		if err == nil {
			defer c.Close()
			return c.LocalAddr().(*net.UDPAddr).Port
		}
	}
	t.Fatal(err)
	return 0
}

// run starts a peer, which ends with the test at the latest. stop freezes it, so
// that it answers no more but is still there.
func run(t *testing.T, dir string, env []string, program string, args ...string) (stop func()) {
	t.Helper()
	c := exec.Command(program, args...)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout, c.Stderr = log, log
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		c.Wait()
		log.Close()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("%s said: %s", program, text)
		}
	})
	return func() { syscall.Kill(-c.Process.Pid, syscall.SIGSTOP) }
}

// ready waits until a peer answers.
func ready(t *testing.T, what string, ask func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if err = ask(); err == nil {
			return
		}
	}
	t.Fatalf("%s does not answer: %v", what, err)
}
