package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// patience bounds each run and each cleaning.
const patience = 10 * time.Minute

// A running is a command of tare at work.
type running struct {
	cmd      *exec.Cmd
	lines    chan string // of standard error
	said     []string
	phase    string // the kind of moment that it is in
	doing    string // the trial and scene
	since    time.Time
	finished int  // trials that it said are stored
	over     bool // it says no more
	timer    *time.Timer
}

func (k *killing) start(args ...string) (*running, error) {
	r := &running{cmd: exec.Command(k.Tare, args...), lines: make(chan string, 10_000), phase: "begin", since: time.Now()}
	r.cmd.Dir = k.dir
	r.cmd.Env = append(os.Environ(), "TARE_STATE="+k.state(), "TARE_LOCK="+filepath.Join(k.state(), "measure.lock"), "TMPDIR=/tmp")
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	stderr, err := r.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	r.timer = time.AfterFunc(patience, func() { _ = r.cmd.Process.Kill() })
	go func() {
		defer close(r.lines)
		for s := bufio.NewScanner(stderr); s.Scan(); {
			r.lines <- s.Text()
		}
	}()
	return r, nil
}

var (
	runLine   = regexp.MustCompile(`^run (\S+): `)
	phaseLine = regexp.MustCompile(`^(\S+) ([^/\s]+)/\S+: (\w+)$`)
	doneLine  = regexp.MustCompile(`^ *\d+/\d+ `)
)

// take notes what a line says.
func (r *running) take(k *killing, line string) {
	r.said = append(r.said, line)
	phase := r.phase
	switch m := phaseLine.FindStringSubmatch(line); {
	case m != nil:
		phase, r.doing = m[3], "of "+m[1]+" "+m[2]
	case strings.HasPrefix(line, "opening "):
		phase = "open"
	case doneLine.MatchString(line):
		phase, r.doing = "between", ""
		if !strings.Contains(line, ", to be repeated: ") {
			r.finished++
		}
	}
	if m := runLine.FindStringSubmatch(line); m != nil {
		k.runs[m[1]] = true
	}
	if phase != r.phase {
		k.took[r.phase] = time.Since(r.since)
		r.phase, r.since = phase, time.Now()
	}
}

// line waits for the next line; false: there are no more.
func (r *running) line(k *killing) bool {
	line, ok := <-r.lines
	if !ok {
		r.over = true
		return false
	}
	r.take(k, line)
	return true
}

// until lets it go on for a time.
func (r *running) until(k *killing, wait time.Duration) {
	end := time.After(wait)
	for !r.over {
		select {
		case <-end:
			return
		case line, ok := <-r.lines:
			if !ok {
				r.over = true
				return
			}
			r.take(k, line)
		}
	}
}

// end waits for it and returns its exit status, -1 if it was killed.
func (r *running) end(k *killing) int {
	for r.line(k) {
	}
	_ = r.cmd.Wait() // the status tells
	r.timer.Stop()
	return r.cmd.ProcessState.ExitCode()
}

// last is what it said last.
func (r *running) last() string { return strings.Join(r.said[max(0, len(r.said)-2):], "; ") }
