package ssh_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/guest/agent"
	"tare/internal/host/ssh"
	"tare/internal/host/ssh/sshtest"
	"tare/internal/host/testnet"
	"tare/internal/platform/platformtest"
	"tare/internal/state/ledger"
)

// site is a state directory with its ledger, in the network of further hosts.
type site struct {
	*sshtest.Net
	state, sockets string
	ledger         *ledger.Ledger
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{Net: sshtest.New(t), state: t.TempDir()}
	must(t, os.Chmod(s.state, 0o700))
	var err error
	s.sockets, err = os.MkdirTemp("/tmp", "s") // the path of a socket is short
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(s.sockets) })
	s.ledger, err = ledger.Open(s.state, "ssh-test")
	must(t, err)
	return s
}

// connect connects from the network that stands for this host's.
func (s *site) connect(t *testing.T, to bench.FurtherHost) (h *ssh.Host, err error) {
	t.Helper()
	at := testnet.Inside(s.NetNS, func() error {
		h, err = ssh.Connect(t.Context(), to, platformtest.Agent(t), s.sockets, s.ledger)
		return nil
	})
	must(t, at)
	return h, err
}

func (s *site) inside(t *testing.T, f func() error) {
	t.Helper()
	must(t, testnet.Inside(s.NetNS, f))
}

// held are the kinds of things that the ledger holds.
func (s *site) held(t *testing.T) string {
	t.Helper()
	all, err := s.ledger.Held()
	must(t, err)
	var kinds []string
	for _, e := range all {
		kinds = append(kinds, e.Kind)
	}
	return strings.Join(kinds, " ")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// left lists what lies in the directory of a host where agents are put.
func left(t *testing.T, h *sshtest.Host) []string {
	t.Helper()
	found, err := filepath.Glob(h.Root() + "/var/tmp/tare-*")
	must(t, err)
	return found
}

// The agent runs on the other host, as root of it with scratch space of its own; its clock is known to
// be days ahead; and nothing is left of it.
func TestAgentOnAFurtherHost(t *testing.T) {
	s := newSite(t)
	to := s.Add(t, "load1")
	h, err := s.connect(t, to.FurtherHost)
	must(t, err)
	if got := s.held(t); got != "process remote" {
		t.Errorf("the ledger holds %q", got)
	}
	for range 2 { // the copy serves several launches
		var i bench.Instance
		s.inside(t, func() (err error) {
			i, err = h.Start(t.Context(), bench.Launch{ID: "a", Shape: bench.Shape{CPUs: 1}})
			return err
		})
		c, err := agent.Dial(t.Context(), i.Stream())
		must(t, err)
		if hello := c.Hello(); hello.Hostname != "load1" || hello.PID != 1 || !hello.OwnKernel {
			t.Errorf("hello %+v", hello)
		}
		o, err := c.ProbeUntil(t.Context(), 8, 0)
		must(t, err)
		if ahead := time.Duration(o.Offset); ahead < sshtest.Ahead-time.Minute || ahead > sshtest.Ahead+time.Minute || o.Uncertainty <= 0 || o.Uncertainty > int64(100*time.Millisecond) {
			t.Errorf("its clock is %v ahead, known to %v", ahead, time.Duration(o.Uncertainty))
		}
		must(t, c.Put(t.Context(), bench.ScratchDir+"/hello", 0o644, strings.NewReader("hello\n")))
		out, err := c.Exec(t.Context(), bench.Command{Argv: []string{"sh", "-c", "cat /scratch/hello; id -u; hostname; sleep 1000 & echo $$"}, Timeout: time.Minute})
		must(t, err)
		if !strings.HasPrefix(string(out.Stdout), "hello\n0\nload1\n") {
			t.Errorf("it says %q, %q", out.Stdout, out.Stderr)
		}
		must(t, c.Close())
		must(t, i.Close(t.Context()))
	}
	if _, err := os.Stat(to.Root() + "/scratch/hello"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the scratch space is the host's own: %v", err)
	}
	must(t, h.Close(t.Context()))
	if got := left(t, to); len(got) > 0 {
		t.Errorf("left there: %v", got)
	}
	if got := s.held(t); got != "" {
		t.Errorf("the ledger still holds %q", got)
	}
}

// What keeps a host from being used is said with advice, and leaves nothing.
func TestHostsThatCannotBeUsed(t *testing.T) {
	s := newSite(t)
	to := s.Add(t, "load1")
	s.Know(t, "locked", to.Addr, "  IdentityFile "+s.Stranger()+"\n")
	s.Know(t, "unknown", to.Addr, "  UserKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n")
	s.Know(t, "nowhere", "no-such-host.invalid", "")
	s.Know(t, "closed", to.Addr, "  Port 9\n")
	s.Know(t, "nobody", to.Addr, "  User nobody\n")
	for name, want := range map[string][2]string{
		"locked":  {"Permission denied", "ssh-copy-id locked"},
		"unknown": {"Host key verification failed", "connect once by hand"},
		"nowhere": {"Could not resolve hostname", "~/.ssh/config"},
		"closed":  {"Connection refused", "is sshd up"},
		"absent":  {"Could not resolve hostname", "Host absent"},
	} {
		other := to.FurtherHost
		other.Name = name
		_, err := s.connect(t, other)
		if err == nil || !strings.Contains(err.Error(), want[0]) || !strings.Contains(bench.HintOf(err), want[1]) || !errors.Is(err, bench.ErrUnavailable) {
			t.Errorf("%s: %v, hint %q; want %q", name, err, bench.HintOf(err), want)
		}
	}
	if got := s.held(t); got != "" || len(left(t, to)) > 0 {
		t.Errorf("the ledger holds %q; left there: %v", got, left(t, to))
	}
}

// A connection that is lost ends what waits for the agent, and the next start makes another.
func TestLostConnection(t *testing.T) {
	s := newSite(t)
	to := s.Add(t, "load1")
	h, err := s.connect(t, to.FurtherHost)
	must(t, err)
	var i bench.Instance
	start := func() error {
		i, err = h.Start(t.Context(), bench.Launch{ID: "a", Shape: bench.Shape{CPUs: 1}})
		return err
	}
	s.inside(t, start)
	c, err := agent.Dial(t.Context(), i.Stream())
	must(t, err)
	go func() {
		time.Sleep(100 * time.Millisecond)
		for _, pid := range marked(t, "ssh-tare-") {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}()
	_, err = c.Exec(t.Context(), bench.Command{Argv: []string{"sleep", "1000"}, Timeout: time.Hour})
	if err == nil || !strings.Contains(err.Error(), "the connection to load1 is lost") {
		t.Errorf("it says %v", err)
	}
	_ = c.Close()
	must(t, i.Close(t.Context()))
	s.inside(t, start)
	c, err = agent.Dial(t.Context(), i.Stream())
	must(t, err)
	must(t, c.Close())
	must(t, i.Close(t.Context()))
	must(t, h.Close(t.Context()))
	if got := left(t, to); len(got) > 0 || s.held(t) != "" {
		t.Errorf("left there: %v; the ledger holds %q", got, s.held(t))
	}
}

// marked lists the processes here whose mark begins so.
func marked(t *testing.T, prefix string) (pids []int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	must(t, err)
	for _, f := range files {
		text, _ := os.ReadFile(f)
		for v := range strings.SplitSeq(string(text), "\x00") {
			if strings.HasPrefix(v, bench.ProcessMark+"="+prefix) {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// What a process that was killed has left on the host is removed by the ledger's word; a host that does
// not answer is said, and what is there stays in the ledger.
func TestCleanReachesFurtherHosts(t *testing.T) {
	s := newSite(t)
	to, gone := s.Add(t, "load1"), s.Add(t, "load2")
	for _, h := range []*sshtest.Host{to, gone} {
		cmd := exec.Command("nsenter", "--net="+s.NetNS, os.Args[0], "-test.run=^TestLeaves$")
		cmd.Env = append(os.Environ(), "LEAVE_ON="+h.Name, "LEAVE_CONFIG="+h.Config, "LEAVE_STATE="+s.state, "LEAVE_SOCKETS="+s.sockets, "LEAVE_AGENT="+platformtest.Agent(t))
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("%v\n%s", err, out)
		}
		if got := left(t, h); len(got) != 1 {
			t.Fatalf("on %s: %v", h.Name, got)
		}
	}
	must(t, syscall.Kill(gone.PID, syscall.SIGKILL))
	cmd := exec.Command("nsenter", "--net="+s.NetNS, os.Args[0], "-test.run=^TestCleans$")
	cmd.Env = append(os.Environ(), "CLEAN_STATE="+s.state)
	out, err := cmd.CombinedOutput()
	must(t, err)
	for _, want := range []string{"remote load2 false", "remote load1 true", "host load2: ", "; if the host is gone for good"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("cleaning does not say %q:\n%s", want, out)
		}
	}
	if got := left(t, to); len(got) > 0 {
		t.Errorf("left on load1: %v", got)
	}
	if got := s.held(t); got != "remote" {
		t.Errorf("the ledger holds %q", got)
	}
	if pids := marked(t, "tare-"); len(pids) > 0 {
		t.Errorf("processes %v are left", pids)
	}
}

// TestLeaves is the process that is killed.
func TestLeaves(t *testing.T) {
	if os.Getenv("LEAVE_ON") == "" {
		return
	}
	led, err := ledger.Open(os.Getenv("LEAVE_STATE"), "killed")
	must(t, err)
	to := bench.FurtherHost{Name: os.Getenv("LEAVE_ON"), Config: os.Getenv("LEAVE_CONFIG"), Reach: netip.MustParsePrefix("10.77.0.99/24")}
	h, err := ssh.Connect(t.Context(), to, os.Getenv("LEAVE_AGENT"), os.Getenv("LEAVE_SOCKETS"), led)
	must(t, err)
	i, err := h.Start(t.Context(), bench.Launch{ID: "a", Shape: bench.Shape{CPUs: 1}})
	must(t, err)
	c, err := agent.Dial(t.Context(), i.Stream())
	must(t, err)
	_, err = c.Start(t.Context(), bench.Command{Argv: []string{"sleep", "1000"}, Timeout: time.Hour}, nil)
	must(t, err)
	must(t, syscall.Kill(os.Getpid(), syscall.SIGKILL))
}

// TestCleans is the process that cleans.
func TestCleans(t *testing.T) {
	if os.Getenv("CLEAN_STATE") == "" {
		return
	}
	err := ledger.Clean(t.Context(), os.Getenv("CLEAN_STATE"), false, func(r ledger.Removed) {
		fmt.Printf("%s %.5s %v\n", r.Kind, r.Name, r.Err == nil)
	})
	fmt.Printf("%v\nhint: %s\n", err, bench.HintOf(err))
}
