package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/internal/platform/launch"
	"tare/internal/selftest"
)

// wrapper stands in the PATH for a platform's program: a symbolic link that leads
// either to the program or to ours, which then starts it in its place and is the
// stopwatch. So all that a driver prepares is the same, and what is timed is
// timed by another process that does nothing else.
type wrapper struct {
	dir, name string
	Real      string `json:"real"` // the program
}

const (
	wrapperFile = "wrapped.json"
	readingFile = "reading"
)

// newWrapper makes a directory with the link, for the head of the PATH.
func newWrapper(dir, name string) (*wrapper, error) {
	path, err := launch.Program(name)
	if err != nil {
		return nil, err
	}
	w := &wrapper{dir: dir, name: name, Real: path}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	text, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	return w, errors.Join(os.WriteFile(filepath.Join(dir, wrapperFile), text, 0o644), w.point(path))
}

// point leads the link there.
func (w *wrapper) point(to string) error {
	link := filepath.Join(w.dir, w.name)
	if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Symlink(to, link)
}

// reset forgets the reading.
func (w *wrapper) reset() error {
	if err := os.Remove(filepath.Join(w.dir, readingFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// time lets the link lead to the stopwatch, or to the program.
func (w *wrapper) time(on bool) error {
	if err := w.reset(); err != nil {
		return err
	}
	if !on {
		return w.point(w.Real)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return w.point(self)
}

// reading is what the stopwatch has read, in milliseconds.
func (w *wrapper) reading() (ms float64, err error) {
	text, err := os.ReadFile(filepath.Join(w.dir, readingFile))
	if err == nil {
		_, err = fmt.Sscan(string(text), &ms)
	}
	return ms, err
}

// wrapping says whether this process was started in place of a program.
func wrapping() (*wrapper, bool) {
	w := &wrapper{dir: filepath.Dir(os.Args[0]), name: filepath.Base(os.Args[0])}
	text, err := os.ReadFile(filepath.Join(w.dir, wrapperFile))
	if err != nil || !filepath.IsAbs(w.dir) || json.Unmarshal(text, w) != nil {
		return nil, false
	}
	return w, true
}

// agentSocket is how QEMU is told of the agent's socket.
const agentSocket = "socket,id=agent,path="

// relayWithin bounds how long the last bytes of a program that has ended may take.
const relayWithin = 2 * time.Second

// run starts the program, times it to the first byte it prints, or of QEMU's
// agent, and passes everything on. It returns the program's exit status.
func (w *wrapper) run() int {
	args := slices.Clone(os.Args)
	// A Go program's first start of another tries out the kernel by a fork (pidfd).
	exec.Command("/bin/true").Run()
	in, out := io.Reader(os.Stdin), io.Writer(os.Stdout)
	cmd := &exec.Cmd{Path: w.Real, Args: args, Stderr: os.Stderr}
	for _, v := range os.Environ() { // its children find the real programs
		cmd.Env = append(cmd.Env, strings.Replace(v, "PATH="+w.dir+":", "PATH=", 1))
	}
	first, err := w.connect(cmd, &in, &out)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return selftest.ExitBroken
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return selftest.ExitBroken
	}
	relayed := make(chan struct{})
	go func() {
		w.relay(first, in, out, began)
		close(relayed)
	}()
	err = cmd.Wait()
	select {
	case <-relayed:
	case <-time.After(relayWithin):
	}
	if err != nil && cmd.ProcessState == nil {
		return selftest.ExitBroken
	}
	return max(0, cmd.ProcessState.ExitCode())
}

// connect gives the command its streams, and returns what makes its end of them
// ready once it runs.
func (w *wrapper) connect(cmd *exec.Cmd, in *io.Reader, out *io.Writer) (func() (io.ReadWriter, error), error) {
	i := slices.IndexFunc(cmd.Args, func(a string) bool { return strings.HasPrefix(a, agentSocket) })
	if i < 0 {
		stdin, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		r, child, err := os.Pipe() // not cmd's own, which Wait would close too early
		if err != nil {
			return nil, err
		}
		cmd.Stdout = child
		return func() (io.ReadWriter, error) {
			child.Close()
			return struct {
				io.Reader
				io.Writer
			}{r, stdin}, nil
		}, nil
	}
	theirs := strings.TrimPrefix(cmd.Args[i], agentSocket)
	conn, err := net.Dial("unix", theirs)
	if err != nil {
		return nil, err
	}
	*in, *out = conn, conn
	const ours = "watched"
	cmd.Args[i] = agentSocket + ours
	cmd.Stdout = os.Stdout
	l, err := net.Listen("unix", ours)
	return func() (io.ReadWriter, error) {
		defer l.Close()
		return l.Accept()
	}, err
}

// relay writes down when the first byte came and passes it and all others on.
func (w *wrapper) relay(first func() (io.ReadWriter, error), in io.Reader, out io.Writer, began time.Time) {
	program, err := first()
	if err != nil {
		return
	}
	go func() {
		io.Copy(program, in)
		if c, ok := program.(interface{ CloseWrite() error }); ok {
			c.CloseWrite()
		} else if pair, ok := program.(struct {
			io.Reader
			io.Writer
		}); ok {
			pair.Writer.(io.Closer).Close()
		}
	}()
	buf := make([]byte, 64<<10)
	n, err := program.Read(buf)
	took := time.Since(began)
	if err != nil {
		return
	}
	os.WriteFile(filepath.Join(w.dir, readingFile), fmt.Append(nil, took.Seconds()*1000), 0o644)
	out.Write(buf[:n])
	io.Copy(out, program)
	if c, ok := out.(io.Closer); ok {
		c.Close()
	}
}
