package agent

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/host/clock"
)

// scripted is a stream whose agent is the text; it then ends, or stays silent.
func scripted(text string, silent bool) io.ReadWriteCloser {
	r, w := io.Pipe()
	go func() {
		io.WriteString(w, text)
		if !silent {
			w.Close()
		}
	}()
	return struct {
		io.Reader
		io.Writer
		io.Closer
	}{r, io.Discard, r}
}

// greeting is what an agent of the versions says first.
func greeting(oldest, newest int) string {
	h := Hello{Version: newest, MinVersion: oldest, PID: 7, Columns: []string{bench.ColCPUBusy}}
	return string(appendJSON([]byte(magic), typeHello, 0, h))
}

func TestDialSkipsNoise(t *testing.T) {
	for name, noise := range map[string]string{
		"text":           "[    0.000000] Linux version 6.1\r\nWARNING: something\n",
		"half magic":     magic[:9] + magic[:1],
		"almost magic":   strings.Repeat(magic[:len(magic)-1], 3),
		"a frame":        string(appendFrame(nil, typeExit, 9, []byte("{}"))),
		"a lot of it":    strings.Repeat("noise ", maxNoise/6-1),
		"nothing at all": "",
	} {
		t.Run(name, func(t *testing.T) {
			before := clock.Now()
			c, err := Dial(testContext(t), scripted(noise+greeting(Version, Version), true))
			if err != nil {
				t.Fatal(err)
			}
			if c.Hello().PID != 7 || c.GreetedAt() < before || c.GreetedAt() > clock.Now() {
				t.Errorf("hello %+v at %d", c.Hello(), c.GreetedAt())
			}
			c.rw.Close()
		})
	}
}

func TestDialFails(t *testing.T) {
	refusal := string(appendJSON([]byte(magic), typeError, 0, errorReply{Message: "no room", Hint: "make some"}))
	cases := map[string]struct {
		stream   io.ReadWriteCloser
		want     []string
		wrapping error
	}{
		"end at once":       {scripted("", false), []string{"greeting", "not one byte"}, io.EOF},
		"end after words":   {scripted("docker: no such image\n", false), []string{"greeting", `"docker: no such image"`}, io.EOF},
		"silent":            {scripted("", true), []string{"greeting", "not one byte"}, context.DeadlineExceeded},
		"silent after some": {scripted("login:", true), []string{"greeting", `"login:"`}, context.DeadlineExceeded},
		"endless noise":     {scripted(strings.Repeat("noise ", maxNoise/5), true), []string{"none within", "noise"}, nil},
		"no hello":          {scripted(magic, false), []string{"waiting for the hello"}, io.EOF},
		"half a hello":      {scripted(greeting(1, 1)[:40], false), []string{"waiting for the hello"}, io.ErrUnexpectedEOF},
		"not a hello":       {scripted(magic+string(appendFrame(nil, typeReply, 1, nil)), true), []string{"hello", "'r'"}, nil},
		"bad hello":         {scripted(magic+string(appendFrame(nil, typeHello, 0, []byte("{"))), true), []string{`"{"`}, nil},
		"refused":           {scripted(refusal, true), []string{"no room"}, nil},
		"too new":           {scripted(greeting(Version+1, Version+2), true), []string{"versions 2 to 3", "1 to 1"}, nil},
		"too old":           {scripted(greeting(0, 0), true), []string{"versions 0 to 0"}, nil},
		"huge frame":        {scripted(magic+"H\x00\x00\x00\x00\xff\xff\xff\xff", true), []string{"4294967295 bytes"}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
			defer cancel()
			_, err := Dial(ctx, tc.stream)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q, want %q in it", err, want)
				}
			}
			if tc.wrapping != nil && !errors.Is(err, tc.wrapping) {
				t.Errorf("error %v does not wrap %v", err, tc.wrapping)
			}
			if _, err := tc.stream.Read(make([]byte, 1)); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("the stream is still open: %v", err)
			}
		})
	}
	if bench.HintOf(dialError(t, greeting(Version+1, Version+2))) == "" {
		t.Error("no hint about versions")
	}
}

// dialError returns the error of dialling an agent that says the text.
func dialError(t *testing.T, text string) error {
	_, err := Dial(testContext(t), scripted(text, true))
	return err
}

func TestHelloOfTheRealAgent(t *testing.T) {
	c := dialed(t)
	h := c.Hello()
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if h.Kernel != strings.TrimSpace(string(release)) || h.Hostname != host || len(h.CPUs) != runtime.NumCPU() || h.Nice != 0 || h.OwnKernel {
		t.Errorf("hello %+v", h)
	}
	if now := clock.Now(); h.Now <= 0 || h.Now > now {
		t.Errorf("it is %d there and %d here", h.Now, now)
	}
}

// The agent resets its nice value where it may; the commands then have it too.
func TestNiceIsReset(t *testing.T) {
	cmd := exec.Command("nice", "-n", "5", buildAgent(t), "serve")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	c, err := Dial(testContext(t), duplex{out, in, []io.Closer{out}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got, err := c.Exec(testContext(t), bench.Command{Argv: []string{"nice"}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Hello().Nice == 5 {
		t.Skip("this process may not lower a nice value (CAP_SYS_NICE)")
	}
	if s := string(got.Stdout); c.Hello().Nice != 0 || s != "0\n" {
		t.Errorf("the agent's nice value is %d, a command's %q", c.Hello().Nice, s)
	}
}

func TestSilentAgent(t *testing.T) {
	c, err := Dial(testContext(t), scripted(greeting(Version, Version), true))
	if err != nil {
		t.Fatal(err)
	}
	defer c.rw.Close()
	calls := map[string]func(ctx context.Context) error{
		"exec sh": func(ctx context.Context) error { _, err := c.Exec(ctx, shell("true")); return err },
		"exec cat": func(ctx context.Context) error {
			_, err := c.Exec(ctx, bench.Command{Argv: []string{"cat"}, Stdin: make([]byte, 2*window)})
			return err
		},
		"put /f": func(ctx context.Context) error {
			return c.Put(ctx, "/f", 0o644, bytes.NewReader(make([]byte, 2*window)))
		},
		"sample": func(ctx context.Context) error { _, err := c.Sample(ctx, make([]float64, 1)); return err },
		"clock":  func(ctx context.Context) error { _, err := c.Probe(ctx, 3); return err },
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
			defer cancel()
			err := call(ctx)
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "said nothing for") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// The agent dies with a command under way: everything pending and all that
// follows fails at once, with the cause.
func TestAgentKilledMidCommand(t *testing.T) {
	cmd, stream := spawn(t)
	c, err := Dial(testContext(t), stream)
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Start(testContext(t), shell("echo begun; exec sleep 5"), nil)
	if err != nil {
		t.Fatal(err)
	}
	pending := make(chan error)
	go func() { _, err := p.Wait(context.Background()); pending <- err }()
	cmd.Process.Kill()
	if err := <-pending; !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "exec sh: agent: the agent is gone") {
		t.Errorf("pending: %v", err)
	}
	_, err = c.Sample(context.Background(), make([]float64, len(c.Columns())))
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("later: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("close again: %v", err)
	}
	if _, err := c.Exec(context.Background(), shell("true")); err == nil {
		t.Error("exec after close succeeded")
	}
}

func TestBrokenFramesFailEverything(t *testing.T) {
	c, err := Dial(testContext(t), scripted(greeting(Version, Version)+string(appendFrame(nil, typeReply, 0, nil)), true))
	if err != nil {
		t.Fatal(err)
	}
	defer c.rw.Close()
	if _, err := c.Probe(testContext(t), 1); err == nil || !strings.Contains(err.Error(), "id 0") {
		t.Errorf("error %v", err)
	}
}

func TestExitWithoutStart(t *testing.T) {
	p := &Process{what: "exec true"}
	f := frame{kind: typeExit, id: 1, payload: []byte("{}")}
	if over, err := p.receive(f, 0); !over || err == nil {
		t.Errorf("over %v, error %v", over, err)
	}
}
