package platformtest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
)

// patience is how long the kernel may take to let go of what is closed.
const patience = 5 * time.Second

// leftovers lists what is on the host of the suite's run beyond the baseline.
func (s *suite) leftovers() []string {
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		var left []string
		for thing := range s.present() {
			if !s.baseline[thing] {
				left = append(left, thing)
			}
		}
		if len(left) == 0 || time.Now().After(deadline) {
			slices.Sort(left)
			return left
		}
	}
}

// present lists what is on the host of the suite's run. What cannot be read is
// listed as such.
func (s *suite) present() map[string]bool {
	things := map[string]bool{}
	add := func(kind string, names []string, err error) {
		for _, n := range names {
			things[kind+" "+n] = true
		}
		if err != nil {
			things[fmt.Sprintf("%s: %v", kind, err)] = true
		}
	}
	pids, err := marked(s.env.Run)
	names := make([]string, len(pids))
	for i, pid := range pids {
		cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		names[i] = strconv.Itoa(pid) + " " + string(bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '}))
	}
	add("process", names, err)
	names, err = groups(s.env.Run)
	add("cgroup", names, err)
	names, err = lines("/proc/self/mountinfo", s.state, filepath.Join(bench.RuntimeDir, s.env.Run))
	add("mount", names, err)
	names, err = loops(s.state)
	add("loop", names, err)
	held, err := s.ledger.Held()
	names = nil
	for _, e := range held {
		names = append(names, e.Kind+" "+e.Name)
	}
	add("ledger", names, err)
	if s.testnet != nil {
		if _, err := os.Stat(s.testnet.NetNS()); err == nil {
			names, err := s.links()
			add("link", names, err)
		}
	}
	return things
}

// links are the network devices in the test network.
func (s *suite) links() (names []string, err error) {
	err = s.testnet.Do(func() error {
		list, err := net.Interfaces()
		for _, l := range list {
			names = append(names, l.Name)
		}
		return err
	})
	return slices.DeleteFunc(names, func(n string) bool { return strings.HasPrefix(n, "wire") }), err
}

// processes are the ids of all there are.
func processes() []int {
	entries, _ := os.ReadDir("/proc")
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// marked lists the processes whose mark begins with the name, this one excepted.
func marked(name string) ([]int, error) {
	var pids []int
	for _, pid := range processes() {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil || pid == os.Getpid() {
			continue // it ended, or is another user's
		}
		for v := range bytes.SplitSeq(env, []byte{0}) {
			if bytes.HasPrefix(v, []byte(bench.ProcessMark+"="+name)) {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids, nil
}

// groups lists the cgroups whose name begins with the run's, below
// bench.CgroupRoot in every hierarchy.
func groups(run string) ([]string, error) {
	host, err := cgroup.Detect()
	if err != nil {
		return nil, nil // nor can there be groups
	}
	var found []string
	for _, dir := range host.Group(run).Dirs() {
		at, err := filepath.Glob(dir + "*")
		if err != nil {
			return nil, err
		}
		for _, top := range at {
			err := filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
				if err == nil && d.IsDir() {
					found = append(found, path)
				}
				return nil // what vanishes meanwhile is not left
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// lines are those of the file that contain one of the words.
func lines(path string, words ...string) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var found []string
	for line := range strings.Lines(string(text)) {
		if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(line, w) }) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found, nil
}

// loops lists the loop devices backed by a file in the directory.
func loops(dir string) ([]string, error) {
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	var found []string
	for _, f := range files {
		backing, err := os.ReadFile(f)
		if err == nil && strings.HasPrefix(string(backing), dir+"/") {
			found = append(found, f)
		}
	}
	return found, err
}
