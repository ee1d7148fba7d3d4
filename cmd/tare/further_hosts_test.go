package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/host/ssh/sshtest"
)

// afar is an experiment whose load comes from a further host.
func afar(t *testing.T, platforms string, h *sshtest.Host, blocks, measure string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "afar.yaml")
	text := "name: afar\nplatforms: " + platforms + `
shape: {cpus: 1, memory: 256MiB, disk: 64MiB}
timing: {warmup: 200ms, measure: ` + measure + `, cooldown: 0s}
disturbed: {repeats: 0} # other tests run beside this one
blocks: ` + blocks + `
hosts:
  ` + h.Name + `: {reach: ` + h.Reach.String() + `, config: ` + h.Config + `}
scenes:
  - {name: keys, workload: redis, peer: {host: ` + h.Name + `}}
`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// startAt starts tare in the network that stands for this host's.
func startAt(t *testing.T, n *sshtest.Net, state string, args ...string) *program {
	t.Helper()
	if args[0] == "run" || args[0] == "resume" {
		args = append(args, "--allow-unfair")
	}
	return startWithin(t, 2*patience, state, "nsenter", append([]string{"--net=" + n.NetNS, filepath.Join(bin, "tare")}, args...)...)
}

// lies lists what of Tare's is in the directory of a host where it puts its agent.
func lies(t *testing.T, h *sshtest.Host) []string {
	t.Helper()
	found, err := filepath.Glob(h.Root() + "/var/tmp/tare-*")
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestFurtherHost loads servers on this host from another one over ssh. What shares the host's
// network is measured; what has a network of its own is left out with the reason. Nothing is left on either host.
func TestFurtherHost(t *testing.T) {
	state := realState(t)
	n := sshtest.New(t)
	h := n.Add(t, "load1")
	dir := filepath.Join(t.TempDir(), "results")
	p := startAt(t, n, state, "run", afar(t, "native, docker[net=host], docker", h, "2", "500ms"), "-o", dir, "-v")
	run := p.await(runID)[1]
	f := footprintOf(t, state, run)
	p.end()
	p.says("connected host load1: Linux ", " Mbit/s", "left out: docker: it has a network of its own")
	for id, o := range outcomes(t, dir) {
		if o.Status != bench.Done || len(o.Values) == 0 {
			t.Errorf("%s: %s is %s in %s: %s", id, o.Scene, o.Status, o.Phase, o.Error)
			continue
		}
		for _, a := range o.Actors {
			if a.Role != bench.Peer {
				continue
			}
			if wire, err := strconv.ParseFloat(a.Facts[bench.FactWire], 64); err != nil || wire < 1e6 || !strings.Contains(a.Facts["programs"], "redis-benchmark") {
				t.Errorf("%s: facts of the peer: %v", id, a.Facts)
			}
			if c := a.Clock; c == nil || c.Fault != "" || time.Duration(c.Offset) < sshtest.Ahead-time.Minute || c.Uncertainty <= 0 {
				t.Errorf("%s: clock of the peer: %+v", id, c)
			}
			if len(a.CPUSet) > 0 || a.CPUsSeen != 1 {
				t.Errorf("%s: the peer is placed on CPUs %v of this host, and sees %d", id, a.CPUSet, a.CPUsSeen)
			}
		}
		if len(o.Refused) > 0 {
			t.Errorf("%s: refused readings: %v", id, o.Refused)
		}
	}
	f.checkGone(t)
	if got := lies(t, h); len(got) > 0 {
		t.Errorf("left on load1: %v", got)
	}
}

// TestFurtherHostKilled kills the run in the middle. Cleaning takes away what is on the other host, too, and the
// run goes on.
func TestFurtherHostKilled(t *testing.T) {
	state := realState(t)
	n := sshtest.New(t)
	h := n.Add(t, "load1")
	dir := filepath.Join(t.TempDir(), "results")
	p := startAt(t, n, state, "run", afar(t, "native", h, "2", "3s"), "-o", dir, "-v")
	run := p.await(runID)[1]
	p.await(`: measure$`)
	time.Sleep(time.Second)
	f := footprintOf(t, state, run)
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.end()
	if got := lies(t, h); len(got) != 1 {
		t.Fatalf("the killed run left on load1: %v", got)
	}
	c := startAt(t, n, state, "clean")
	c.ends(exitDone)
	if got := c.stdout.String(); !strings.Contains(got, "removed remote load1 tare-") {
		t.Errorf("tare clean says %s", got)
	}
	f.checkGone(t)
	if got := lies(t, h); len(got) > 0 {
		t.Errorf("left on load1: %v", got)
	}
	p = startAt(t, n, state, "resume", dir)
	p.end()
	for id, o := range outcomes(t, dir) {
		if o.Status != bench.Done {
			t.Errorf("%s is %s: %s", id, o.Status, o.Error)
		}
	}
	if got := lies(t, h); len(got) > 0 {
		t.Errorf("left on load1 after resuming: %v", got)
	}
}

// TestFurtherHostLost cuts the connection in a measurement, and then has the host go down. The trial fails with
// the reason, the next one connects anew, and what cannot be removed is said and stays in the ledger.
func TestFurtherHostLost(t *testing.T) {
	state := realState(t)
	n := sshtest.New(t)
	h := n.Add(t, "load1")
	dir := filepath.Join(t.TempDir(), "results")
	p := startAt(t, n, state, "run", afar(t, "native", h, "3", "3s"), "-o", dir, "-v")
	p.await(`^b01-t01 \S+: measure$`)
	time.Sleep(time.Second)
	for _, pid := range connections(t, n) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	p.await(`^b03-t03 \S+: measure$`)
	time.Sleep(time.Second)
	if err := syscall.Kill(h.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if status := p.end(); status == exitDone {
		t.Errorf("the run ended well:\n%s", p.stderr())
	}
	p.says("remove /var/tmp/tare-", "from host load1")
	for id, want := range map[string]string{"b01-t01": "the connection to load1 is lost", "b02-t02": "", "b03-t03": "load1"} {
		o := outcomes(t, dir)[id]
		if want == "" && o.Status != bench.Done || want != "" && (o.Status != bench.Failed || !strings.Contains(o.Error, want)) {
			t.Errorf("%s is %s: %s; want %q", id, o.Status, o.Error, want)
		}
	}
	c := startAt(t, n, state, "clean")
	if status := c.end(); status == exitDone {
		t.Error("cleaning ends well, though the host does not answer")
	}
	c.says("host load1: ", "remove its line from the ledger")
	if got := c.stdout.String(); !strings.Contains(got, "still there: remote load1 tare-") {
		t.Errorf("tare clean says %s", got)
	}
	if err := os.Remove(filepath.Join(state, "ledger.jsonl")); err != nil { // the host is gone for good
		t.Fatal(err)
	}
}

// connections are the processes of ssh that hold a connection from the network that stands for this host's.
func connections(t *testing.T, n *sshtest.Net) (pids []int) {
	t.Helper()
	network, err := os.Readlink(n.NetNS)
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is well-formed
	for _, f := range files {
		dir := filepath.Dir(f)
		text, _ := os.ReadFile(f)
		if at, _ := os.Readlink(dir + "/ns/net"); at != network || !strings.Contains(string(text), bench.ProcessMark+"=ssh-tare-") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
