package meter

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tare/internal/bench"
)

// fakeProcess is a line of a /proc made up.
type fakeProcess struct {
	pid, parent  int
	name, groups string
	flags, start uint64
	own, waited  uint64 // ticks
}

func fakeProc(t *testing.T, dir string, stolen int, all []fakeProcess) {
	t.Helper()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	write("stat", fmt.Sprintf("cpu  0 0 0 0 0 0 0 %d 0 0\ncpu0 0 0 0 0 0 0 0 %d 0 0\n", stolen, stolen))
	for _, p := range all {
		at := fmt.Sprint(p.pid)
		write(at+"/stat", fmt.Sprintf("%d (%s) S %d 0 0 0 -1 %d 0 0 0 0 %d 0 %d 0 20 0 1 0 %d 0 0\n", p.pid, p.name, p.parent, p.flags, p.own, p.waited, p.start))
		write(at+"/cgroup", "4:memory:"+p.groups+"\n0::"+p.groups+"\n")
	}
}

// Work is others' if it is neither of this program, nor of what it started, nor in a group of Tare's.
func TestWorkOutside(t *testing.T) {
	self := os.Getpid()
	base := []fakeProcess{
		{pid: 1, name: "systemd", groups: "/init.scope"},
		{pid: 2, name: "kthreadd", groups: "/", flags: 0x00200000},
		{pid: 10, parent: 1, name: "sh", groups: "/user", start: 5},
		{pid: self, parent: 10, name: "tare", groups: "/user", start: 100},
	}
	for name, c := range map[string]struct {
		before, after []fakeProcess
		cpus          float64
		most          string
	}{
		"nothing": {nil, nil, 0, ""},
		"a program of others": {
			[]fakeProcess{{pid: 20, parent: 10, name: "cc1", groups: "/user", start: 50, own: 7}},
			[]fakeProcess{{pid: 20, parent: 10, name: "cc1", groups: "/user", start: 50, own: 107}}, 1, "cc1"},
		"one that began since": {nil,
			[]fakeProcess{{pid: 20, parent: 10, name: "cc1", groups: "/user", start: 150, own: 50}}, 0.5, "cc1"},
		"a service that began since": {nil,
			[]fakeProcess{{pid: 20, parent: 1, name: "apt", groups: "/system.slice/apt.service", start: 150, own: 50}}, 0.5, "apt"},
		"programs that came and went": {
			[]fakeProcess{{pid: 20, parent: 10, name: "make", groups: "/user", start: 50, waited: 10}},
			[]fakeProcess{{pid: 20, parent: 10, name: "make", groups: "/user", start: 50, waited: 90}}, 0.8, "make"},
		"one that had run before and was waited for": {
			[]fakeProcess{{pid: 20, parent: 10, name: "make", groups: "/user", start: 50}, {pid: 21, parent: 20, name: "cc1", groups: "/user", start: 51, own: 500}},
			[]fakeProcess{{pid: 20, parent: 10, name: "make", groups: "/user", start: 50, waited: 530}}, 0.3, "make"},
		"with its parent gone, too": {
			[]fakeProcess{{pid: 20, parent: 10, name: "make", groups: "/user", start: 50}, {pid: 21, parent: 20, name: "sh", groups: "/user", start: 51},
				{pid: 22, parent: 21, name: "cc1", groups: "/user", start: 52, own: 500}},
			[]fakeProcess{{pid: 20, parent: 10, name: "make", groups: "/user", start: 50, waited: 530}}, 0.3, "make"},
		"one that nobody waited for": {
			[]fakeProcess{{pid: 20, parent: 10, name: "daemon", groups: "/user", start: 50}, {pid: 21, parent: 20, name: "cc1", groups: "/user", start: 51, own: 500}},
			[]fakeProcess{{pid: 20, parent: 10, name: "daemon", groups: "/user", start: 50}}, 0, ""},
		"another with its id": {
			[]fakeProcess{{pid: 20, parent: 10, name: "cc1", groups: "/user", start: 50, own: 500}},
			[]fakeProcess{{pid: 20, parent: 10, name: "ld", groups: "/user", start: 150, own: 40}}, 0.4, "ld"},
		"a kernel thread":     {nil, []fakeProcess{{pid: 20, parent: 2, name: "kworker", groups: "/", flags: 0x00200000, start: 50, own: 100}}, 0, ""},
		"a child of ours":     {nil, []fakeProcess{{pid: 20, parent: self, name: "dockerd", groups: "/user", start: 150, own: 100}}, 0, ""},
		"a grandchild":        {nil, []fakeProcess{{pid: 20, parent: self, name: "sh", groups: "/user", start: 150}, {pid: 21, parent: 20, name: "fio", groups: "/user", start: 151, own: 100}}, 0, ""},
		"a group of ours":     {nil, []fakeProcess{{pid: 20, parent: 1, name: "fio", groups: "/tare/r1/x", start: 150, own: 100}}, 0, ""},
		"our group itself":    {nil, []fakeProcess{{pid: 20, parent: 1, name: "fio", groups: "/tare/r1", start: 150, own: 100}}, 0, ""},
		"an orphan of ours":   {nil, []fakeProcess{{pid: 20, parent: 1, name: "shim", groups: "/user", start: 150, own: 100}}, 0, ""},
		"an orphan of others": {nil, []fakeProcess{{pid: 20, parent: 1, name: "nohup", groups: "/user", start: 50, own: 100}}, 1, "nohup"},
		"one that was ours and is an orphan in another group now": {
			[]fakeProcess{{pid: 20, parent: self, name: "conmon", groups: "/user", start: 150}},
			[]fakeProcess{{pid: 20, parent: 1, name: "conmon", groups: "/machine.slice", start: 150, own: 100}}, 0, ""},
		"a namesake of our group": {nil, []fakeProcess{{pid: 20, parent: 1, name: "x", groups: "/tares/1", start: 150, own: 100}}, 1, "x"},
		"another run":             {nil, []fakeProcess{{pid: 20, parent: 1, name: "fio", groups: "/tare/r10/x", start: 150, own: 100}}, 1, "fio"},
		"what ours had used and others waited for": {
			[]fakeProcess{{pid: 20, parent: 10, name: "shim", groups: "/user", start: 50}, {pid: 21, parent: 20, name: "fio", groups: "/tare/r1", start: 150, own: 900}},
			[]fakeProcess{{pid: 20, parent: 10, name: "shim", groups: "/user", start: 50, waited: 900}}, 0, ""},
		"what the first process waited for": {
			[]fakeProcess{{pid: 20, parent: 1, name: "shim", groups: "/tare/r1", start: 150, own: 900}},
			[]fakeProcess{{pid: 1, name: "systemd", groups: "/init.scope", waited: 950}}, 0, ""},
	} {
		dir := filepath.Join(t.TempDir(), "proc")
		fakeProc(t, dir, 0, slices.Concat(base, c.before))
		o, err := OpenOutside(dir, "r1")
		if err != nil {
			t.Fatal(err)
		}
		if w, err := o.Since(); err != nil || w != (bench.OtherWork{}) {
			t.Errorf("%s: the first time %+v, %v", name, w, err)
		}
		earlier := o.last
		fakeProc(t, dir, 25, slices.Concat(base, c.after))
		if _, err := o.Since(); err != nil {
			t.Fatal(err)
		}
		o.last.ended = earlier.begun + 1e9
		w := o.last.since(earlier)
		if math.Abs(w.CPUs-c.cpus) > 1e-9 || w.Most != c.most || math.Abs(w.Stolen-0.25) > 1e-9 {
			t.Errorf("%s: %+v, want %g CPUs (%s)", name, w, c.cpus, c.most)
		}
	}
}

// A pod's control groups are made by its kubelet, and its shim is a child of nobody here.
func TestAnIncludedInstanceIsNoWorkOfOthers(t *testing.T) {
	const pod = "/kubepods/pod1-2"
	dir := t.TempDir()
	all := []fakeProcess{{pid: 1, name: "init", groups: "/"}, {pid: os.Getpid(), parent: 1, name: "tare", groups: "/user", start: 100}}
	fakeProc(t, dir, 0, all)
	o, err := OpenOutside(dir, "r")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Since(); err != nil {
		t.Fatal(err)
	}
	all = append(all, fakeProcess{pid: 20, parent: 1, name: "shim", groups: "/system", start: 200, own: 1},
		fakeProcess{pid: 21, parent: 20, name: "agent", groups: pod + "/c", start: 201, own: 1},
		fakeProcess{pid: 22, parent: 1, name: "other", groups: "/kubepods/pod1-3", start: 202, own: 1})
	fakeProc(t, dir, 0, all)
	o.Include(bench.Scope{Cgroups: map[string]string{"memory": "/sys/fs/cgroup/memory" + pod}, Helpers: []bench.Process{{PID: 20, Part: "shim"}}})
	l, err := o.look()
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[identity]bool{{20, 200}: true, {21, 201}: true, {22, 202}: false} {
		if l.all[id].ours != want {
			t.Errorf("process %d: the run's %t, want %t", id.pid, l.all[id].ours, want)
		}
	}
}
