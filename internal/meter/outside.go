package meter

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tare/internal/bench"
	"tare/internal/host/clock"
	"tare/internal/host/proc"
)

// Outside looks for work on the host that is not the run's: processes that are neither this one,
// nor descend from it, nor are in a control group that the run made. What is left without a parent in
// this program's own control groups since it began is taken for the run's.
//
// A look reads a short file for each process, which takes some 10 microseconds. So it is taken
// before a launch and after a measurement, not within.
type Outside struct {
	dir    string // where /proc is
	self   int
	made   []string          // are in the paths of the run's control groups: those that it makes, and see Include
	start  uint64            // of this process, in ticks after boot
	groups []byte            // this process's control groups
	ours   map[identity]bool // of every process that was seen at the last look
	last   *look             // nil before the first
}

// identity tells processes apart whose id is the same.
type identity struct {
	pid   int
	start uint64
}

// look is what outsiders had used at one moment.
type look struct {
	begun, ended int64
	stolen       float64 // CPU seconds
	cpus         int     // of the host
	all          map[identity]process
}

// process is one that is no kernel thread.
type process struct {
	name   string
	parent identity
	used   uint64 // ticks; its children's that it has waited for are among them, see reaper
	ours   bool
	reaper bool // those are left out: what it waited for may be the run's
}

// OpenOutside begins to tell processes of others from those of the run with the id, on the tree
// mounted at procDir.
func OpenOutside(procDir, run string) (*Outside, error) {
	o := &Outside{dir: procDir, self: os.Getpid(), made: []string{"/" + bench.CgroupRoot + "/" + run + "/"}, ours: map[identity]bool{}}
	p, err := o.process(o.self)
	if err == nil {
		o.start = p.Start
		o.groups, err = os.ReadFile(filepath.Join(procDir, strconv.Itoa(o.self), "cgroup"))
	}
	if err != nil {
		return nil, fmt.Errorf("look for other work: %w", err)
	}
	return o, nil
}

func (o *Outside) process(pid int) (proc.Process, error) {
	b, err := os.ReadFile(filepath.Join(o.dir, strconv.Itoa(pid), "stat"))
	if err != nil {
		return proc.Process{}, err
	}
	return proc.ParseProcess(b)
}

// Include takes an instance's control groups and helpers for the run's, though something else has made them:
// a kubelet makes those of a pod. It is for use before Since looks back on the instance.
func (o *Outside) Include(s bench.Scope) {
	for _, dir := range s.Cgroups {
		if name := "/" + filepath.Base(dir) + "/"; !slices.ContainsFunc(o.made, func(made string) bool { return strings.Contains(dir+"/", made) }) {
			o.made = append(o.made, name)
		}
	}
	for _, h := range s.Helpers {
		if p, err := o.process(h.PID); err == nil {
			o.ours[identity{h.PID, p.Start}] = true
		}
	}
}

// Since returns the other work since it was last asked for; none the first time. What a process used
// that began and ended in between counts if its parent waited for it and is no ancestor of this one.
func (o *Outside) Since() (bench.OtherWork, error) {
	earlier := o.last
	var err error
	if o.last, err = o.look(); err != nil || earlier == nil {
		return bench.OtherWork{}, err
	}
	return o.last.since(earlier), nil
}

// look reads what every process of others has used so far.
func (o *Outside) look() (*look, error) {
	fail := func(err error) (*look, error) { return nil, fmt.Errorf("look for other work: %w", err) }
	text, err := os.ReadFile(filepath.Join(o.dir, "stat"))
	if err != nil {
		return fail(err)
	}
	cpu, err := proc.ParseStat(text)
	if err != nil {
		return fail(err)
	}
	names, err := os.ReadDir(o.dir)
	if err != nil {
		return fail(err)
	}
	all := map[int]proc.Process{}
	l := &look{begun: clock.Now(), stolen: cpu.Steal, cpus: bytes.Count(text, []byte("\ncpu")), all: map[identity]process{}}
	for _, name := range names {
		pid, err := strconv.Atoi(name.Name())
		if err != nil {
			continue
		}
		if p, err := o.process(pid); err == nil && !p.Kernel { // else it has ended since it was listed
			all[pid] = p
		}
	}
	above := map[int]bool{1: true} // this process and those it descends from, and who takes in orphans
	for pid := o.self; pid > 0 && !above[pid]; pid = all[pid].Parent {
		above[pid] = true
	}
	seen := make(map[identity]bool, len(all))
	for pid, p := range all {
		x := process{name: string(p.Name), parent: identity{p.Parent, all[p.Parent].Start}, used: p.Own,
			ours: o.isOurs(pid, all, seen), reaper: above[pid]}
		if !x.reaper {
			x.used += p.Children
		}
		l.all[identity{pid, p.Start}] = x
	}
	o.ours = seen
	l.ended = clock.Now()
	return l, nil
}

// isOurs says whether a process is the run's. What was found at the last look holds: a process may
// have lost its parent since. Seen takes what is found.
func (o *Outside) isOurs(pid int, all map[int]proc.Process, seen map[identity]bool) bool {
	p, ok := all[pid]
	if !ok {
		return false
	}
	id := identity{pid, p.Start}
	if ours, known := seen[id]; known {
		return ours
	}
	seen[id] = false // of a circle, which ids that are used again may make, nobody is ours
	ours, known := o.ours[id]
	if !known {
		ours = o.belongs(pid, p, all, seen)
	}
	seen[id] = ours
	return ours
}

func (o *Outside) belongs(pid int, p proc.Process, all map[int]proc.Process, seen map[identity]bool) bool {
	if pid == o.self {
		return true
	}
	groups, err := os.ReadFile(filepath.Join(o.dir, strconv.Itoa(pid), "cgroup"))
	if err == nil && o.isMade(groups) {
		return true
	}
	parent, known := all[p.Parent]
	if orphan := !known || p.Parent == 1 || string(parent.Name) == "systemd"; orphan {
		return err == nil && p.Start >= o.start && bytes.Equal(groups, o.groups)
	}
	return o.isOurs(p.Parent, all, seen)
}

// isMade says whether a process's control groups, as /proc/PID/cgroup lists them, are of the run's making.
func (o *Outside) isMade(groups []byte) bool {
	for line := range strings.Lines(string(groups)) {
		path := strings.TrimRight(line, "\n") + "/"
		if slices.ContainsFunc(o.made, func(made string) bool { return strings.Contains(path, made) }) {
			return true
		}
	}
	return false
}

// since is the other work between an earlier look and this one. A look takes its time on a busy host:
// the stretch is from the beginning of the earlier one, so that no more is said than was there.
func (l *look) since(earlier *look) bench.OtherWork {
	seconds := float64(l.ended-earlier.begun) / 1e9
	if seconds <= 0 {
		return bench.OtherWork{}
	}
	grown := map[identity]int64{} // ticks
	for id, x := range l.all {
		if !x.ours {
			grown[id] = int64(x.used) - int64(earlier.all[id].used)
		}
	}
	// What has ended was waited for by the nearest living ancestor, if by anyone: what it used before
	// the earlier look is in that one's growth now.
	for id, x := range earlier.all {
		if _, alive := l.all[id]; alive {
			continue
		}
		if up, ok := l.heir(x.parent, earlier); ok {
			grown[up] -= int64(x.used)
		}
	}
	w := bench.OtherWork{Stolen: max(0, l.stolen-earlier.stolen) / seconds}
	var most int64
	bound := int64(float64(l.cpus)*seconds*proc.TicksPerSecond) + 1
	for id, n := range grown {
		// More than all CPUs is no work of now: the process has waited for one that it was
		// not seen above before.
		if n <= 0 || n > bound {
			continue
		}
		w.CPUs += float64(n) / proc.TicksPerSecond / seconds
		if name := l.all[id].name; n > most || n == most && name < w.Most {
			most, w.Most = n, name
		}
	}
	return w
}

// heir is the nearest of a process and those it descends from that lives, if what it has waited for counts.
func (l *look) heir(up identity, earlier *look) (identity, bool) {
	for range len(earlier.all) { // of a circle, which ids that are used again may make, there is none
		if x, alive := l.all[up]; alive {
			return up, !x.reaper && !x.ours
		}
		x, known := earlier.all[up]
		if !known {
			break
		}
		up = x.parent
	}
	return up, false
}
