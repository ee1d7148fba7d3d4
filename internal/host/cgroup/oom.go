package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// OutOfMemory counts the processes that the OOM killer has killed because a memory limit was
// reached. It counts those of the group and of the existing groups below it.
func (g *Group) OutOfMemory() (int, error) {
	total := 0
	count := func(file string) error {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			var n int
			n, err = killedIn(string(text))
			total += n
		}
		return err
	}
	var err error
	if dir := g.dirs[Unified]; dir != "" && g.dirs["memory"] == "" {
		err = count(filepath.Join(dir, "memory.events")) // it includes those below
	} else if dir := g.dirs["memory"]; dir != "" {
		err = walk(dir, func(d string) error { return count(filepath.Join(d, "memory.oom_control")) })
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("processes of cgroup %s that ran out of memory: %w", g.name, err)
	}
	return total, nil
}

// killedIn reads the count from memory.events (v2) or memory.oom_control (v1,
// since Linux 4.13).
func killedIn(text string) (int, error) {
	for line := range strings.Lines(text) {
		if number, found := strings.CutPrefix(line, "oom_kill "); found {
			n, err := strconv.Atoi(strings.TrimSpace(number))
			if err != nil {
				return 0, fmt.Errorf("%q: not a count", strings.TrimSpace(line))
			}
			return n, nil
		}
	}
	return 0, nil
}
