package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/platform/all"
	"tare/internal/state/cache"
	"tare/internal/verify/survey"
)

// insideVar is set in the environment of the test's second half.
const insideVar = "TARE_TEST_INSIDE"

// TestHostUntouched sets up a user's host, with a bridge that has the addresses
// of Docker's, a firewall, and daemons of the user's own behind their usual sockets,
// and runs every platform that starts a daemon or needs a network. Nothing of it has
// changed after, and nobody has spoken to the daemons. The user's host is namespaces of
// the test's own, so that whatever else happens on the machine is no difference. Nor
// has anything changed that no namespace holds apart, or in the machine's first network namespace.
// What the surveys see is shown in internal/verify/survey, and what they leave out by [TestSurveyLeavesOut].
func TestHostUntouched(t *testing.T) {
	if os.Getenv(insideVar) != "" {
		untouched(t)
		return
	}
	state := realState(t) // or it is skipped
	before := thisMachine(state).shared()
	t.Logf("%d facts of the machine", len(before))
	sees(t, before, "sysctl net/ipv4/ip_forward: ", "sysctl vm/overcommit_memory: ", "cgroup /sys/fs/cgroup", "control /sys/fs/cgroup", "link lo")
	cmd := exec.CommandContext(t.Context(), "unshare", "--net", "--mount", "--propagation", "private",
		os.Args[0], "-test.run=^TestHostUntouched$", "-test.v")
	cmd.Env = append(os.Environ(), insideVar+"="+bin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	} else {
		t.Logf("%s", out)
	}
	unchanged(t, before, thisMachine(state).shared)
}

// sees fails the test unless there is a fact that begins with each of the texts.
func sees(t *testing.T, f []string, texts ...string) {
	t.Helper()
	for _, want := range texts {
		if !slices.ContainsFunc(f, func(s string) bool { return strings.HasPrefix(s, want) }) {
			t.Fatalf("the survey does not see %q:\n%s", want, strings.Join(f, "\n"))
		}
	}
}

// unchanged fails the test for every difference that lasts: the kernel may take a
// moment to let go, and others set back what they have changed.
func unchanged(t *testing.T, before []string, look func() []string) {
	t.Helper()
	var left, gone []string
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if left, gone = survey.Changes(before, look()); len(left)+len(gone) == 0 {
			return
		}
	}
	t.Errorf("new on the host:\n  %s\ngone from it:\n  %s", strings.Join(left, "\n  "), strings.Join(gone, "\n  "))
}

func untouched(t *testing.T) {
	if err := unix.Mount("tare-test", "/run", "tmpfs", 0, "mode=755"); err != nil {
		t.Fatal(err)
	}
	state := realState(t)
	var spoken atomic.Value
	for _, path := range []string{"docker.sock", "containerd/containerd.sock", "podman/podman.sock", "libvirt/libvirt-sock",
		"libvirt/libvirt-sock-ro", "libvirt/virtlogd-sock", "crun/user", "runc/user"} {
		path = filepath.Join("/run", path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		ln, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		go func() {
			if _, err := ln.Accept(); err == nil {
				spoken.Store(path)
			}
		}()
	}
	for _, line := range []string{
		"ip link set lo up",
		"ip link add user-br0 type bridge", "ip link set user-br0 addrgenmode none", "ip addr add 172.17.0.1/16 dev user-br0", "ip link set user-br0 up",
		"ip link add user-v0 type veth peer name user-v1", "ip link set user-v0 addrgenmode none", "ip link set user-v0 master user-br0 up",
		"ip link add docker0 type bridge", "ip link add virbr0 type bridge",
		"ip route add 10.231.0.0/16 dev user-br0", "ip rule add pref 77 from 10.9.0.0/16 lookup 77",
		"sysctl -qw net.ipv4.ip_forward=0 net.ipv4.conf.all.rp_filter=2",
		"iptables -P FORWARD DROP", "iptables -A FORWARD -i user-br0 -j ACCEPT",
		"iptables -t nat -A POSTROUTING -s 172.17.0.0/16 -j MASQUERADE",
		"ip6tables -P FORWARD ACCEPT", "ip6tables -A INPUT -i user-v1 -j DROP",
	} {
		if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
	}
	host := thisMachine(state)
	before := host.namespaced()
	t.Logf("%d facts of the user's host", len(before))
	sees(t, before, "firewall iptables-save: :FORWARD DROP", "sysctl net/ipv4/ip_forward: 0", "link user-br0", "file /run/docker.sock S")

	results := filepath.Join(t.TempDir(), "results")
	const limit = 6 * time.Minute // half a minute on a host that is idle
	p := startWithin(t, limit, state, filepath.Join(bin, "tare"), "run", writeSpec(t, "native, docker, podman, containerd, lxc, nspawn, uml, libvirt-tcg",
		startupScene+"  - {name: net, workload: netperf, platforms: [native, docker]}\n"), "-o", results, "--allow-unfair")
	orphans := adoptOrphans(t, p.cmd.Process.Pid)
	run := p.await(runID)[1]
	p.await(`^ *1/\d+ `)
	f := footprintOf(t, state, run)
	for _, top := range []string{state, bench.RuntimeDir} {
		if open := openToOthers(top); len(open) > 0 {
			t.Errorf("while it runs, others can reach:\n  %s", strings.Join(open, "\n  "))
		}
	}
	if p.end() < 0 {
		t.Errorf("the run was killed after %v, and what is left is what a killed run leaves; it said:\n%s", limit, p.stderr())
	}
	for _, o := range outcomes(t, results) {
		if o.Error != "" {
			t.Errorf("%s of %s did not finish, so that the test shows less: %s", o.Trial, o.Scene, o.Error)
		}
	}
	f.checkGone(t)
	for _, process := range orphans() {
		t.Errorf("started by the run, and still there: %s", process)
	}
	for _, name := range unkept(t, state) {
		t.Errorf("in the state directory, and not what is kept: %s", name)
	}
	if path := spoken.Load(); path != nil {
		t.Errorf("the user's own %s was spoken to", path)
	}
	unchanged(t, before, host.namespaced)
}

// adoptOrphans makes this process the parent of whatever a run leaves without one, services
// among them that carry no mark, and lets what has ended go. The function it returns lists
// those that live, and stops that. The program is waited for by who started it.
func adoptOrphans(t *testing.T, program int) (live func() []string) {
	t.Helper()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	reap := func() (list []string) {
		for pid, is := range children() {
			switch {
			case pid == program:
			case is.zombie:
				unix.Wait4(pid, nil, unix.WNOHANG, nil)
			default:
				list = append(list, strconv.Itoa(pid)+" "+is.name)
			}
		}
		return list
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			reap()
			select {
			case <-stop:
				return
			case <-time.After(250 * time.Millisecond):
			}
		}
	}()
	return func() (list []string) {
		close(stop)
		<-stopped
		for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			if list = reap(); len(list) == 0 {
				break
			}
		}
		return list
	}
}

type child struct {
	name   string
	zombie bool
}

// children are this process's, by process id (proc_pid_stat(5)).
func children() map[int]child {
	found := map[int]child{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		text, _ := os.ReadFile(dir + "/stat")
		before, after, _ := strings.Cut(string(text), ") ")
		_, name, _ := strings.Cut(before, "(")
		fields := strings.Fields(after)
		if len(fields) < 2 || fields[1] != strconv.Itoa(os.Getpid()) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			found[pid] = child{name, fields[0] == "Z"}
		}
	}
	return found
}

// unkept is what lies in the state directory beside the images, the ledger and what
// runs keep for the next, with its locks.
func unkept(t *testing.T, state string) (names []string) {
	t.Helper()
	things, err := cache.List(state, all.Platforms(state))
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"images", "ledger.jsonl", "ledger.lock", "clean.lock", "life.lock", "runs", "libvirt"}
	for _, thing := range things {
		top, _, _ := strings.Cut(thing.Name, "/")
		known = append(known, top, top+".lock")
	}
	for _, pattern := range []string{"*", "runs/*"} {
		found, _ := filepath.Glob(filepath.Join(state, pattern))
		for _, path := range found {
			if name := strings.TrimPrefix(path, state+"/"); !slices.Contains(known, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
