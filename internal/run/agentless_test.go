package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/host/clock"
	"tare/internal/platform/fake"
)

// mutes starts machines without an agent: a process that does nothing and a server beside it.
type mutes struct {
	after  time.Duration // until the server listens; below 0 it never does
	ends   time.Duration // until the machine ends; 0 is never
	how    error         // what the stream ends with
	given  bench.Launch
	closed bool
}

func (*mutes) Close(context.Context) error { return nil }

func (m *mutes) Start(_ context.Context, l bench.Launch) (bench.Instance, error) {
	m.given = l
	i := &mute{mutes: m, cmd: exec.Command("sleep", "60"), over: make(chan struct{}), launched: clock.Now()}
	if err := i.cmd.Start(); err != nil {
		return nil, err
	}
	if m.after >= 0 {
		time.AfterFunc(m.after, func() {
			if i.server, _ = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", l.Own.Port)); i.server != nil {
				close(i.over)
			}
		})
	}
	return i, nil
}

type mute struct {
	*mutes
	cmd      *exec.Cmd
	server   net.Listener
	over     chan struct{} // closed once the server listens
	launched int64
}

// Read ends with the machine.
func (i *mute) Read([]byte) (int, error) {
	if i.ends == 0 {
		select {}
	}
	time.Sleep(i.ends)
	return 0, i.how
}

func (*mute) Write([]byte) (int, error)    { return 0, io.ErrClosedPipe }
func (i *mute) Stream() io.ReadWriteCloser { return stream{i} }
func (i *mute) Launched() int64            { return i.launched }
func (*mute) Command() []string            { return []string{"monitor"} }
func (*mute) Addr() netip.Addr             { return netip.MustParseAddr("127.0.0.1") }
func (*mute) Log() string                  { return "Linux version 0.0\nhello from inside" }
func (*mute) Unenforced() []string         { return nil }
func (i *mute) Scope() (bench.Scope, error) {
	return bench.Scope{OwnKernel: true, Helpers: []bench.Process{{PID: i.cmd.Process.Pid, Part: "vmm"}}}, nil
}

func (i *mute) Close(context.Context) error {
	i.closed = true
	if i.after >= 0 {
		<-i.over
		i.server.Close()
	}
	_ = i.cmd.Process.Kill()
	_ = i.cmd.Wait() // it was killed
	return nil
}

type stream struct{ io.ReadWriter }

func (stream) Close() error { return nil }

// here is the host itself as a test network.
type here struct{ Testnet }

func (here) Do(f func() error) error { return f() }
func (here) Bridge() string          { return "no-such-bridge" }
func (here) Peer(context.Context, string, float64) (string, netip.Addr, error) {
	return "", netip.MustParseAddr("127.0.0.1"), nil
}

// freePort is one on which nothing listens.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// agentless is a runner of a scene whose subject is a machine without an agent.
func agentless(t *testing.T, m *mutes, sc bench.Scene) (*Runner, *sink) {
	t.Helper()
	for i := range sc.Actors {
		if a := &sc.Actors[i]; a.Role == bench.Subject {
			a.Platform.Options = map[string]string{bench.GuestOption: bench.OwnGuest}
		}
	}
	r, s := newRunner(t, served{}, fake.Options{}, sc)
	r.Engines[PeerEngine] = r.Engines["fake"]
	r.Engines["fake"] = Engine{Engine: m, Availability: bench.Availability{Version: "1", Caveats: []bench.Caveat{bench.Agentless}}, Options: []bench.Option{bench.GuestChoice()}}
	r.Testnet = here{}
	r.Kernel = &bench.OwnKernel{Kernel: bench.BootFile{Path: "/k", Digest: "sha256:0123456789abcdef"}, Port: freePort(t)}
	return r, s
}

// A machine without an agent is measured from its load and from outside, and is up when it accepts.
func TestAMachineWithoutAnAgentIsMeasuredFromOutside(t *testing.T) {
	m := &mutes{after: 300 * time.Millisecond}
	r, s := agentless(t, m, servedScene("serve", bench.Subject, "never run", "sleep 0.5; echo 7"))
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	o := s.outcomes[0]
	if o.Status != bench.Done || len(o.Values) != 1 || o.Values[0].Value != 7 {
		t.Fatalf("%s in %s: %s: values %v", o.Status, o.Phase, o.Error, o.Values)
	}
	a := o.Actors[0]
	if a.ReadyMS < 300 || a.ReadyMS > 3000 || a.Clock != nil || a.Facts[bench.FactReady] != acceptedEvent || a.Facts[bench.FactOwnKernel] != "kernel sha256:0123456789ab" ||
		len(a.Caveats) != 1 || len(a.Command) > 0 {
		t.Errorf("outcome %+v", a)
	}
	if m.given.Own != r.Kernel || !m.closed {
		t.Errorf("started with %+v; closed %t", m.given.Own, m.closed)
	}
	levels := map[bench.Level]int{}
	for _, x := range s.samples[o.Trial] {
		if x.Actor == a.Actor {
			levels[x.Level]++
		}
	}
	if levels[bench.Layer] == 0 || levels[bench.Guest] > 0 {
		t.Errorf("samples of the machine by level: %v", levels)
	}
}

// In a start-up scene that is all there is to time.
func TestTheStartOfAMachineWithoutAnAgent(t *testing.T) {
	sc := scene("start", subjects(1, nil))
	sc.Actors[0].Workload, sc.Kind = "", bench.Startup
	r, s := agentless(t, &mutes{after: 200 * time.Millisecond}, sc)
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	o := s.outcomes[0]
	if o.Status != bench.Done || len(o.Values) != 1 || o.Values[0].Metric != "time_to_ready" || o.Values[0].Value < 200 {
		t.Fatalf("%s: %s: values %v", o.Status, o.Error, o.Values)
	}
	if took := float64(o.Window[1]-o.Window[0]) / 1e6; took < o.Values[0].Value-1 || took > o.Values[0].Value+1 {
		t.Errorf("window of %g ms, %v", took, o.Values)
	}
}

// Whatever keeps such a machine from serving is recorded with its last words and a hint.
func TestAMachineWithoutAnAgentThatFails(t *testing.T) {
	for _, c := range []struct {
		name  string
		m     mutes
		phase string
		says  []string
		hint  string
	}{
		{"panics", mutes{after: -1, ends: 100 * time.Millisecond, how: errors.New("the guest's kernel panicked: no init")}, "launch",
			[]string{"the machine ended before its server accepted", "the guest's kernel panicked: no init", "hello from inside"}, "see its last words"},
		{"ends", mutes{after: -1, ends: 100 * time.Millisecond, how: io.EOF}, "launch", []string{"the machine ended before its server accepted", "hello from inside"}, "see its last words"},
		{"never listens", mutes{after: -1}, "launch", []string{"its server does not accept on 127.0.0.1:", "not up after 3s", "refused", "hello from inside"}, "nothing listens on port"},
		{"dies in the window", mutes{ends: time.Second, how: io.EOF}, "measure", []string{"the machine of subject-0 ended", "after it was up", "hello from inside"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, s := agentless(t, &c.m, servedScene("serve", bench.Subject, "never run", "sleep 30; echo 7"))
			began := time.Now()
			if err := r.Run(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			o := s.outcomes[0]
			if o.Status != bench.Failed || o.Phase != c.phase || !strings.Contains(o.Hint, c.hint) || len(o.Values) > 0 {
				t.Errorf("%s in %q: %q, hint %q", o.Status, o.Phase, o.Error, o.Hint)
			}
			for _, says := range c.says {
				if !strings.Contains(o.Error, says) {
					t.Errorf("%q does not say %q", o.Error, says)
				}
			}
			if !strings.Contains(o.Actors[0].Log, "hello from inside") || !c.m.closed || time.Since(began) > 20*time.Second {
				t.Errorf("log %q, closed %t after %v", o.Actors[0].Log, c.m.closed, time.Since(began))
			}
		})
	}
}
