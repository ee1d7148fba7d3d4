package agent

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/host/clock"
)

// killTime is how long the processes may take to die.
const killTime = 10 * time.Second

// kill kills what is left of the command with the id: its process and every
// descendant, those that became daemons too. It returns once they are dead.
func (s *server) kill(id uint32) error {
	s.mu.Lock()
	c := s.commands[id]
	s.mu.Unlock()
	pid := 0
	if c != nil {
		pid = c.die()
	}
	mark := []byte(markOf(id))
	return s.killUntilGone(fmt.Sprintf("kill command %d", id), func() ([]procStat, bool, error) {
		if pid != 0 {
			s.reaper.signal(pid, unix.SIGKILL)
		}
		family, whole, err := descendants(os.Getpid())
		return belonging(family, pid, mark), whole, err
	})
}

// killAll kills every descendant of the agent.
func (s *server) killAll() error {
	if s.opts.Dedicated {
		return s.killUntilGone("kill all commands", func() ([]procStat, bool, error) { return descendants(os.Getpid()) })
	}
	s.mu.Lock()
	var ids []uint32
	for id := range s.commands {
		ids = append(ids, id)
	}
	s.mu.Unlock()
	for _, id := range ids {
		if err := s.kill(id); err != nil {
			return err
		}
	}
	return nil
}

// killUntilGone kills the processes that find returns until a complete search returns none. A
// killed process forks no more, so this ends even against a fork bomb.
func (s *server) killUntilGone(what string, find func() (found []procStat, whole bool, err error)) error {
	pause := 500 * time.Microsecond
	for end := clock.Now() + int64(killTime); ; {
		found, whole, err := find()
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if len(found) == 0 && whole {
			return nil
		}
		for _, p := range found {
			if p.state != 'Z' {
				killProcess(p)
			}
		}
		if clock.Now() > end {
			if len(found) == 0 {
				return fmt.Errorf("%s: processes came and went too fast to be counted for %s", what, killTime)
			}
			return fmt.Errorf("%s: process %d (state %c) and %d more still live %s later", what, found[0].pid, found[0].state, len(found)-1, killTime)
		}
		s.reaper.reap()
		time.Sleep(pause)
		pause = min(2*pause, 50*time.Millisecond)
	}
}

// killProcess kills p unless its process id was reused.
func killProcess(p procStat) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		if err == unix.ENOSYS {
			_ = unix.Kill(p.pid, unix.SIGKILL) // the next round shows whether it worked
		}
		return
	}
	defer unix.Close(fd)
	var buf [1024]byte
	content, err := procFile(p.pid, "stat", buf[:])
	if err != nil {
		return
	}
	if now, err := parseProcStat(content); err == nil && now.started == p.started {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // likewise
	}
}

// die marks the command as killed and returns its process, or 0 if it has none yet.
func (c *command) die() (pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.killed {
		c.killed = true
		close(c.dead)
	}
	return c.pid
}

// belonging returns the members of a family that are the process pid, its descendants, in a session
// of one of these, or carry the mark.
func belonging(family []procStat, pid int, mark []byte) []procStat {
	// The command's session is its own and outlives its leader: it still names
	// the orphans and zombies whose environment cannot be read.
	members, sessions := map[int]bool{}, map[int]bool{pid: pid > 0}
	var found []procStat
	for before := -1; before < len(found); {
		before = len(found)
		for _, p := range family {
			if members[p.pid] {
				continue
			}
			if p.pid == pid || members[p.ppid] || sessions[p.session] || marked(p.pid, mark) {
				members[p.pid] = true
				if p.session > 0 { // a command's session is its own: fork makes it
					sessions[p.session] = true
				}
				found = append(found, p)
			}
		}
	}
	return found
}

// marked reports whether the process was started with the mark in its environment.
func marked(pid int, mark []byte) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false // it is gone, or a zombie
	}
	for kv := range bytes.SplitSeq(env, []byte{0}) {
		if bytes.Equal(kv, mark) {
			return true
		}
	}
	return false
}

// descendants returns all descendants of the process root, zombies included. whole is false if a
// process ended between being listed and being read, because it may have left children that the
// list lacks.
func descendants(root int) (found []procStat, whole bool, err error) {
	names, err := procNames()
	if err != nil {
		return nil, false, err
	}
	whole = true
	children := map[int][]procStat{}
	var buf [1024]byte
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		content, err := procFile(pid, "stat", buf[:])
		if err != nil {
			whole = false
			continue
		}
		p, err := parseProcStat(content)
		if err != nil {
			return nil, false, err
		}
		children[p.ppid] = append(children[p.ppid], p)
	}
	found = children[root]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i].pid]...)
	}
	return found, whole, nil
}

func procNames() ([]string, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	return names, nil
}
