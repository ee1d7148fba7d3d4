package agent

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
)

// converse serves the input and returns what the agent said after its hello.
func converse(t *testing.T, input []byte) (said []frame, served error) {
	t.Helper()
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(testContext(t), bytes.NewReader(input), w, Options{})
		w.Close()
	}()
	defer func() { served = <-ended }()
	src := &stampedReader{r: r}
	buffered := bufio.NewReader(src)
	if _, err := awaitMagic(buffered, src, new(noiseLog)); err != nil {
		t.Fatal(err)
	}
	d := &frameReader{r: buffered}
	for {
		f, err := d.next()
		if err == io.EOF {
			return said[1:], nil
		}
		if err != nil {
			t.Fatal(err)
		}
		f.payload = bytes.Clone(f.payload)
		said = append(said, f)
	}
}

func TestServeRefuses(t *testing.T) {
	begin := string(appendJSON([]byte("noise"+magic), typeHello, 0, clientHello{Version: Version}))
	send := func(kind byte, id uint32, payload string) string {
		return string(appendFrame([]byte(begin), kind, id, []byte(payload)))
	}
	for name, tc := range map[string]struct {
		input string
		id    uint32 // of the error frame; 0 ends the stream
		want  string
	}{
		"unknown type":   {send('?', 5, "x"), 5, "unknown frame type '?'"},
		"id 0":           {send(typeClock, 0, ""), 0, "id 0"},
		"not a hello":    {magic + string(appendFrame(nil, typeClock, 1, nil)), 0, "want a hello"},
		"wrong version":  {string(appendJSON([]byte(magic), typeHello, 0, clientHello{Version: 99})), 0, "version 99"},
		"bad json":       {send(typeExec, 1, "{"), 0, `payload "{"`},
		"no arguments":   {send(typeExec, 1, "{}"), 1, "not a command"},
		"negative stdin": {send(typeExec, 1, `{"argv":["true"],"stdin":-1}`), 1, "not a command"},
		"relative put":   {send(typePut, 1, `{"path":"x","mode":420}`), 1, "absolute"},
		"short window":   {send(typeWindow, 1, "x"), 0, "window frame"},
		"huge frame":     {begin + "C\x00\x00\x00\x01\x7f\xff\xff\xff", 0, "more than"},
		"cut frame":      {begin + "C\x00\x00\x00\x01\x00\x00\x00\x09abc", 0, "unexpected EOF"},
		"used id":        {send(typeExec, 1, `{"argv":["true"],"stdin":1}`) + send(typeExec, 1, `{}`)[len(begin):] + send(typePut, 1, `{"path":"/x"}`)[len(begin):], 0, "still under way"},
	} {
		t.Run(name, func(t *testing.T) {
			said, err := converse(t, []byte(tc.input))
			if tc.id == 0 && err == nil {
				t.Error("the stream did not end with an error")
			}
			for _, f := range said {
				var e errorReply
				if f.kind == typeError && f.id == tc.id && f.decode(&e) == nil && strings.Contains(e.Message, tc.want) {
					return
				}
			}
			t.Errorf("said %+v, want an error frame with id %d and %q", said, tc.id, tc.want)
		})
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Serve(ctx, r, io.Discard, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestBinaryEndsOnSignalAndOnLostClient(t *testing.T) {
	for name, leave := range map[string]func(c *Client, p *os.Process){
		"SIGTERM": func(c *Client, p *os.Process) { p.Signal(syscall.SIGTERM) },
		// The client goes away while the command floods it.
		"lost client": func(c *Client, p *os.Process) { c.rw.(duplex).Reader.(io.Closer).Close() },
	} {
		t.Run(name, func(t *testing.T) {
			cmd, stream := spawn(t)
			cmd.Stderr = nil
			c, err := Dial(testContext(t), stream)
			if err != nil {
				t.Fatal(err)
			}
			defer c.rw.Close()
			seconds := unique()
			if _, err := c.Start(testContext(t), shell(daemonize(seconds)+"echo begun; exec yes "+seconds), nil); err != nil {
				t.Fatal(err)
			}
			leave(c, cmd.Process)
			cmd.Wait()
			if cmd.ProcessState.ExitCode() != 1 {
				t.Errorf("the agent ended with %v", cmd.ProcessState)
			}
			if pids := running(t, seconds); len(pids) > 0 {
				t.Errorf("commands still run as %v", pids)
			}
		})
	}
}

func TestPut(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789abcde\n"), 200_000)
	bothWays(t, func(t *testing.T, c *Client) {
		for name, content := range map[string][]byte{"empty": nil, "small": []byte("x"), "large": large} {
			path := filepath.Join(t.TempDir(), "new/dir", name)
			if err := c.Put(testContext(t), path, 0o750, bytes.NewReader(content)); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(got, content) {
				t.Errorf("%s: %d bytes arrived of %d, %v", name, len(got), len(content), err)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o750 {
				t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
			}
		}
	})
}

func TestPutThatFails(t *testing.T) {
	c := inProcess(t)
	if err := c.Put(testContext(t), "/dev/null/file", 0o644, strings.NewReader(strings.Repeat("x", 4*window))); err == nil || !strings.Contains(err.Error(), "put /dev/null/file") {
		t.Errorf("below a file: %v", err)
	}
	if err := c.Put(testContext(t), "relative", 0o644, strings.NewReader("x")); err == nil || !strings.Contains(err.Error(), "absolute") {
		t.Errorf("relative path: %v", err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	broken := io.MultiReader(strings.NewReader(strings.Repeat("x", 2*window)), iotest.ErrReader(errors.New("disk on fire")))
	if err := c.Put(testContext(t), path, 0o644, broken); err == nil || !strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("broken content: %v", err)
	}
	// The agent learns of it in its own time and leaves nothing.
	for {
		left, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(left) == 0 {
			break
		}
	}
	// A directory that is in the way.
	if err := c.Put(testContext(t), dir, 0o644, strings.NewReader("x")); err == nil {
		t.Error("a directory was replaced")
	}
}
