package agent

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/moby/sys/user"
	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/clock"
)

// commandMark is the environment variable that identifies the descendants of a command, even
// outside its session: TARE_COMMAND=id.
const commandMark = "TARE_COMMAND"

// command is a running exec.
type command struct {
	id      uint32
	request execRequest
	stdin   *inbox
	credit  [3]*credit    // by stream; none for streamIn
	dead    chan struct{} // closed once it is killed
	expired bool          // its timeout killed it

	mu     sync.Mutex
	killed bool // dead is closed
	pid    int  // 0 before the start
}

// exec begins a command. An error ends the stream; a command that cannot run
// is an error frame.
func (s *server) exec(id uint32, r execRequest) error {
	c := &command{id: id, request: r, stdin: newInbox(), dead: make(chan struct{})}
	c.credit[streamOut], c.credit[streamErr] = newCredit(window), newCredit(window)
	if len(r.Argv) == 0 || r.Stdin < 0 || r.Stdin > MaxStdin || r.Timeout < 0 {
		s.sendError(id, fmt.Errorf("not a command: %d arguments, %d bytes of input, timeout %s", len(r.Argv), r.Stdin, r.Timeout))
		return nil
	}
	if err := s.begin(id, c, c.stdin); err != nil {
		return err
	}
	go s.run(c)
	return nil
}

// begin lists an operation; its id must be free.
func (s *server) begin(id uint32, c *command, b *inbox) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.commands[id] != nil || s.inboxes[id] != nil {
		return fmt.Errorf("operation %d is still under way", id)
	}
	if len(s.inboxes) >= maxOperations {
		return fmt.Errorf("more than %d operations under way", maxOperations)
	}
	if c != nil {
		s.commands[id] = c
	}
	s.inboxes[id] = b
	return nil
}

func (s *server) end(id uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.commands, id)
	delete(s.inboxes, id)
}

// run runs a command to its end and reports the result.
func (s *server) run(c *command) {
	exit, err := s.runProcess(c)
	s.end(c.id)
	if err != nil {
		s.sendError(c.id, err)
		return
	}
	s.send(appendJSON(nil, typeExit, c.id, exit))
}

func (s *server) runProcess(c *command) (exitReply, error) {
	stdin, err := s.input(c)
	if err != nil {
		return exitReply{}, fmt.Errorf("standard input: %w", err)
	}
	defer stdin.Close()
	stdout, outEnd, err := pipe()
	if err != nil {
		return exitReply{}, err
	}
	stderr, errEnd, err := pipe()
	if err != nil {
		stdout.Close()
		unix.Close(outEnd)
		return exitReply{}, err
	}
	if !c.request.Bare {
		s.reserve()
	}
	began := clock.Now()
	ended, err := s.fork(c, []uintptr{stdin.Fd(), uintptr(outEnd), uintptr(errEnd)})
	unix.Close(outEnd)
	unix.Close(errEnd)
	if err != nil {
		stdout.Close()
		stderr.Close()
		return exitReply{}, err
	}
	s.send(appendJSON(nil, typeStarted, c.id, startedReply{PID: c.pid}))
	var deadline <-chan time.Time
	if c.request.Timeout > 0 {
		t := time.NewTimer(c.request.Timeout - time.Duration(clock.Now()-began))
		defer t.Stop()
		deadline = t.C
	}
	pumps := make(chan struct{}, 2)
	go s.pump(c, streamOut, typeStdout, stdout, pumps)
	go s.pump(c, streamErr, typeStderr, stderr, pumps)

	var e ending
	select {
	case e = <-ended:
	case <-deadline:
		c.expired = true
		if err := s.kill(c.id); err != nil {
			return exitReply{}, fmt.Errorf("timeout of %s: %w", c.request.Timeout, err)
		}
		e = <-ended
	}
	for _, f := range []*os.File{stdout, stderr} {
		_ = f.SetReadDeadline(time.Now().Add(lingerTime)) // it fails only on a closed file
	}
	<-pumps
	<-pumps
	return c.exit(e, began), nil
}

// exit describes how the command ended.
func (c *command) exit(e ending, began int64) exitReply {
	x := exitReply{Exit: e.status.ExitStatus(), TimedOut: c.expired,
		Wall: time.Duration(e.at - began), User: e.user, System: e.system}
	if e.status.Signaled() {
		x.Exit = 128 + int(e.status.Signal())
		x.Signal = e.status.Signal().String()
	}
	return x
}

// input returns a file that holds the command's whole standard input, so that
// neither end ever waits for the other.
func (s *server) input(c *command) (*os.File, error) {
	if c.request.Stdin == 0 {
		return os.Open(os.DevNull)
	}
	fd, err := unix.MemfdCreate("stdin", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), "stdin")
	if err := s.receive(c.id, c.stdin, c.request.Stdin, f, c.dead); err != nil {
		f.Close()
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// fork starts the command's process, the leader of a new session.
func (s *server) fork(c *command, files []uintptr) (<-chan ending, error) {
	who, home, err := credential(c.request.User)
	if err != nil {
		return nil, err
	}
	env := commandEnv(c, home)
	program, err := lookPath(c.request.Argv[0], c.request.Dir, env)
	if err != nil {
		return nil, err
	}
	dir := c.request.Dir
	if dir == "" {
		dir = "/"
	}
	ended := make(chan ending, 1)
	// The lock is held over the fork, so that a kill finds either no process or its id.
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.killed {
		return nil, errors.New("killed before it started")
	}
	c.pid, err = s.reaper.start(func() (int, error) {
		return s.forker.fork(func() (int, error) {
			return syscall.ForkExec(program, c.request.Argv, &syscall.ProcAttr{
				Dir: dir, Env: env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true, Credential: who},
			})
		})
	}, ended)
	if err != nil {
		return nil, startError(program, dir, err)
	}
	return ended, nil
}

// credential is whom a command runs as, and that one's home. A name is looked for in the instance's
// own files, as Docker does: USER, UID, USER:GROUP and so on; "" is the agent's own user, root.
func credential(name string) (*syscall.Credential, string, error) {
	const root = "/root"
	if name == "" {
		return nil, root, nil
	}
	who, err := user.GetExecUserPath(name, &user.ExecUser{Home: "/"}, "/etc/passwd", "/etc/group")
	if err != nil {
		return nil, "", fmt.Errorf("user %q of the image: %w", name, err)
	}
	c := &syscall.Credential{Uid: uint32(who.Uid), Gid: uint32(who.Gid)}
	for _, g := range who.Sgids {
		c.Groups = append(c.Groups, uint32(g))
	}
	return c, who.Home, nil
}

// startError returns why an existing program did not start.
func startError(program, dir string, err error) error {
	var st unix.Stat_t
	switch {
	case unix.Stat(dir, &st) != nil:
		return fmt.Errorf("start %s: working directory %s: %w", program, dir, unix.Stat(dir, &st))
	case errors.Is(err, syscall.ENOENT):
		return fmt.Errorf("start %s: its interpreter or dynamic loader is missing: %w", program, err)
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("start %s: %w%w", program, err, bench.Hint("a script needs a first line such as #!/bin/sh, a program must be built for this machine"))
	}
	return fmt.Errorf("start %s: %w", program, err)
}

// commandEnv returns a minimal environment with the command's additions and the marks: the same, in
// the same order and of the same size, wherever the command runs.
func commandEnv(c *command, home string) []string {
	env := []string{"HOME=" + home, "LANG=C.UTF-8"}
	if _, ok := c.request.Env["PATH"]; !ok {
		env = append(env, "PATH="+bench.CommandPath)
	}
	kept := env[:0]
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if _, ok := c.request.Env[name]; !ok {
			kept = append(kept, kv)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.request.Env)) {
		kept = append(kept, name+"="+c.request.Env[name])
	}
	if id := os.Getenv(bench.ProcessMark); id != "" && c.request.Env[bench.ProcessMark] == "" {
		kept = append(kept, bench.ProcessMark+"="+id)
	}
	return append(kept, markOf(c.id))
}

// markOf is the entry in the environment that a command's processes have, of one size for all.
func markOf(id uint32) string { return fmt.Sprintf("%s=%010d", commandMark, id) }

// lookPath finds a program as execvp(3) does, by the command's own PATH.
func lookPath(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		path := name
		if !strings.HasPrefix(name, "/") {
			path = dir + "/" + name
		}
		if err := executable(path); err != nil {
			return "", fmt.Errorf("program %q: %w%w", name, err, bench.Hint("it must be an executable file inside the instance"))
		}
		return name, nil
	}
	var path string
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	for d := range strings.SplitSeq(path, ":") {
		if d != "" && executable(d+"/"+name) == nil {
			return d + "/" + name, nil
		}
	}
	return "", fmt.Errorf("program %q not found in the instance's PATH (%s)%w", name, path,
		bench.Hint("install it in the image, or give its full path"))
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return errors.Unwrap(err)
	case info.IsDir():
		return unix.EISDIR
	case info.Mode()&0o111 == 0:
		return unix.EACCES
	}
	return nil
}

// sendError reports an error about an operation, or with id 0 about the stream.
func (s *server) sendError(id uint32, err error) {
	s.send(appendJSON(nil, typeError, id, errorReply{Message: err.Error(), Hint: bench.HintOf(err)}))
}
