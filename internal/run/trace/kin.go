package trace

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tare/internal/bench"
)

// Kin are processes of a run: this one, those that have the run's mark, and their descendants.
type Kin struct {
	run     string
	members map[int]bool
}

// KinOf returns the run's processes that live now.
func KinOf(run string) *Kin {
	k := &Kin{run, map[int]bool{os.Getpid(): true}}
	k.Look()
	return k
}

// Has says whether the process has been seen to be one of them.
func (k *Kin) Has(pid int) bool { return k.members[pid] }

// Add adds the children that members have had, in the order of time.
func (k *Kin) Add(forks []Fork) {
	for _, f := range forks {
		if k.members[f.Parent] {
			k.members[f.Child] = true
		}
	}
}

// Look adds those that live now and were not seen before.
func (k *Kin) Look() {
	children := map[int][]int{}
	list, _ := filepath.Glob("/proc/[0-9]*") // the pattern is well-formed
	for _, dir := range list {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		if parent, _ := family(pid); parent > 0 {
			children[parent] = append(children[parent], pid)
		}
		if marked(dir, k.run) {
			k.members[pid] = true
		}
	}
	var open []int
	for pid := range k.members {
		open = append(open, pid)
	}
	for len(open) > 0 {
		pid := open[len(open)-1]
		open = open[:len(open)-1]
		for _, child := range children[pid] {
			if !k.members[child] {
				k.members[child] = true
				open = append(open, child)
			}
		}
	}
}

// marked says whether the process has a mark of the run in its environment.
func marked(dir, run string) bool {
	env, err := os.ReadFile(filepath.Join(dir, "environ"))
	if err != nil {
		return false // it has ended
	}
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if id, ok := strings.CutPrefix(string(entry), bench.ProcessMark+"="); ok && (id == run || strings.HasPrefix(id, run+"-")) {
			return true
		}
	}
	return false
}
