package agent

import (
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tare/internal/bench"
	"tare/internal/host/clock"
)

// take returns a sample by column.
func take(t testing.TB, c *Client) map[string]float64 {
	t.Helper()
	values := make([]float64, len(c.Columns()))
	now, err := c.Sample(testContext(t), values)
	if err != nil {
		t.Fatal(err)
	}
	if host := clock.Now(); now <= 0 || now > host {
		t.Errorf("sampled at %d, and it is %d", now, host)
	}
	m := map[string]float64{}
	for i, name := range c.Columns() {
		m[name] = values[i]
	}
	return m
}

var counters = []string{bench.ColCPUUser, bench.ColCPUSystem, bench.ColCPUBusy, bench.ColDiskRead, bench.ColDiskWrite,
	bench.ColNetRx, bench.ColNetTx, bench.ColNetRxPackets, bench.ColNetTxPackets, bench.ColObserver}

// Processes come and go, some reaped by their parents, some orphaned to the
// agent: no counter may ever fall, and in the end the total is what the command
// has used by its own account.
func TestCountersNeverFall(t *testing.T) {
	c := dialed(t)
	before := take(t, c)
	p, err := c.Start(testContext(t), shell(`
		busy() { i=0; while [ $i -lt $1 ]; do i=$((i+1)); done; }
		for n in 1 2 3 4 5 6; do
			(busy 30000; (busy 30000) & busy 30000; wait) &
			sh -c 'i=0; (while [ $i -lt 20000 ]; do i=$((i+1)); done) & exit 0'
			wait
		done`), nil)
	if err != nil {
		t.Fatal(err)
	}
	prev, samples := before, 0
	for ended := false; !ended; samples++ {
		select {
		case <-p.exit:
			ended = true
		default:
		}
		now := take(t, c)
		for _, name := range counters {
			if !(now[name] >= prev[name]) {
				t.Fatalf("%s fell from %v to %v", name, prev[name], now[name])
			}
		}
		prev = now
	}
	out, err := p.Wait(testContext(t))
	if err != nil || out.Exit != 0 || samples < 3 {
		t.Fatalf("after %d samples: %+v, %v", samples, out, err)
	}
	for len(running(t, "while [ $i -lt 20000 ]")) > 0 {
		time.Sleep(time.Millisecond)
	}
	got, own := take(t, c)[bench.ColCPUBusy]-before[bench.ColCPUBusy], (out.User + out.System).Seconds()
	if got < own || got > 1.5*own+0.1 {
		t.Errorf("%v s of CPU sampled: the command and what it waited for used %v s, the rest is its orphans'", got, own)
	}
}

func TestSampleSeesLiveDescendants(t *testing.T) {
	c := dialed(t)
	idle := take(t, c)
	file := t.TempDir() + "/data"
	p, err := c.Start(testContext(t), shell("dd if=/dev/zero of="+file+" bs=1M count=8 conv=fsync 2>/dev/null; sh -c 'while :; do :; done' & x=$(head -c 30000000 /dev/zero | tr '\\0' x); sleep 1000"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		s := take(t, c)
		if s[bench.ColCPUBusy] > idle[bench.ColCPUBusy]+0.3 && s[bench.ColMemRSS] > idle[bench.ColMemRSS]+20e6 && s[bench.ColDiskWrite] >= idle[bench.ColDiskWrite]+8<<20 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("idle %v, busy %v", idle, s)
		}
	}
	if err := p.Kill(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if s := take(t, c); s[bench.ColMemRSS] != 0 || s[bench.ColDiskWrite] < 8<<20 {
		t.Errorf("after the end %v", s)
	}
}

func TestTreeWithoutListsOfChildren(t *testing.T) {
	r := newReaper(false)
	defer r.stop()
	s := newTreeSampler(r)
	defer s.close()
	if err := s.scan(); err != nil {
		t.Fatal(err)
	}
	if len(s.tree) != 0 {
		t.Fatalf("%d descendants of a test that has none", len(s.tree))
	}
	s.self = os.Getppid() // whose descendant this process is
	if err := s.scan(); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(s.tree, func(p *process) bool { return p.pid == os.Getpid() }) {
		t.Errorf("not among %d processes", len(s.tree))
	}
}

func TestSampleOfAWholeKernel(t *testing.T) {
	c := dialed(t, "--own-kernel")
	if !c.Hello().OwnKernel {
		t.Error("the hello does not say so")
	}
	a := take(t, c)
	if _, err := c.Exec(testContext(t), shell("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done")); err != nil {
		t.Fatal(err)
	}
	b := take(t, c)
	for name, v := range b {
		if math.IsNaN(v) || v < 0 {
			t.Errorf("%s is %v", name, v)
		}
	}
	if busy := b[bench.ColCPUBusy] - a[bench.ColCPUBusy]; busy < 0.05 {
		t.Errorf("%v s of CPU busy during a busy loop", busy)
	}
	if b[bench.ColMemUsed] < 1e6 || b[bench.ColMemCache] < 1e5 {
		t.Errorf("memory %v, cache %v", b[bench.ColMemUsed], b[bench.ColMemCache])
	}
}

func TestMissingFilesAreNaN(t *testing.T) {
	k := newKernelSampler(t.TempDir())
	defer k.close()
	values := make([]float64, len(k.columns()))
	k.sample(values)
	for i, name := range k.columns() {
		if name != bench.ColObserver && !math.IsNaN(values[i]) {
			t.Errorf("%s is %v", name, values[i])
		}
	}
}

func TestSampleIntoTooFew(t *testing.T) {
	c := inProcess(t)
	if _, err := c.Sample(testContext(t), nil); err == nil {
		t.Error("no error")
	}
}

// On one machine both ends read the same clock: the true offset is nothing.
func TestProbe(t *testing.T) {
	bothWays(t, func(t *testing.T, c *Client) {
		o, err := c.Probe(testContext(t), 20)
		if err != nil {
			t.Fatal(err)
		}
		if o.Uncertainty <= 0 || o.Uncertainty > int64(time.Second) || max(o.Offset, -o.Offset) > o.Uncertainty {
			t.Errorf("offset %d ± %d ns", o.Offset, o.Uncertainty)
		}
	})
}

// Whatever the delays of the two ways, the true offset is within the uncertainty.
func TestOffsetIsWithinUncertainty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.Int64Range(0, 1e12)
		truth := rapid.Int64Range(-1e15, 1e15).Draw(t, "truth")
		sent := ns.Draw(t, "sent")
		there, work, back := ns.Draw(t, "there"), ns.Draw(t, "work"), ns.Draw(t, "back")
		received := sent + there + truth
		o := offset(sent, received, received+work, sent+there+work+back)
		if d := o.Offset - truth; max(d, -d) > o.Uncertainty {
			t.Fatalf("found %d ± %d for %d", o.Offset, o.Uncertainty, truth)
		}
	})
}

func TestParseProcStat(t *testing.T) {
	const line = "4242 (a ) (b) c) S 17 4242 4242 0 -1 4194560 1 2 3 4 100 50 7 3 20 0 5 0 987654 2301952 255 18446744073709551615 1 1 0"
	got, err := parseProcStat([]byte(line))
	want := procStat{pid: 4242, ppid: 17, session: 4242, state: 'S', user: 107, system: 53, threads: 5, started: 987654, rss: 255}
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"", "1", "1 (x", "x (y) S 1", "1 (x) S 1 2", "1 (x) SS 1 2 3", line[:60]} {
		if p, err := parseProcStat([]byte(bad)); err == nil {
			t.Errorf("%q is %+v", bad, p)
		}
	}
	self, err := procFile(os.Getpid(), "stat", make([]byte, 4096))
	if err != nil {
		t.Fatal(err)
	}
	if p, err := parseProcStat(self); err != nil || p.pid != os.Getpid() || p.ppid != os.Getppid() || p.rss <= 0 {
		t.Errorf("this process is %+v, %v", p, err)
	}
}

func TestParseProcIO(t *testing.T) {
	const text = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 5\n"
	if r, w, err := parseProcIO([]byte(text)); err != nil || r != 4096 || w != 8192 {
		t.Errorf("%d, %d, %v", r, w, err)
	}
	for _, bad := range []string{"", "read_bytes: 1\n", "read_bytes: x\nwrite_bytes: 1\n"} {
		if _, _, err := parseProcIO([]byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestParseInt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`-?[0-9]{0,22}|.{0,5}`).Draw(t, "s")
		want, err := strconv.ParseInt(s, 10, 64)
		if got, ok := parseInt([]byte(s)); ok && err == nil && got != want || err == nil && !ok && s[0] != '+' {
			t.Fatalf("%q is %d, %v; want %d, %v", s, got, ok, want, err)
		}
	})
}

// A sample is asked for at once, and through the queue where something that was
// asked for at once is not answered yet or something else is being written.
func TestStartSample(t *testing.T) {
	c := dialed(t)
	values := make([]float64, len(c.Columns()))
	wait := func(s *Sampling) {
		t.Helper()
		values[len(values)-1] = -1
		now, heard, err := s.Wait(testContext(t), values)
		if err != nil || now <= 0 || heard <= s.call.sent.Load() || !(values[len(values)-1] > 0) {
			t.Errorf("at %d, heard %d: %v: %v", now, heard, values, err)
		}
	}
	first := c.StartSample()
	if first.queued != nil {
		t.Error("nothing was in the way, and it was not sent at once")
	}
	wait(first)

	c.asked.Store(true)
	second := c.StartSample()
	if second.queued == nil {
		t.Error("it was sent although the one before is not answered")
	}
	wait(second)

	c.wmu.Lock()
	third := c.StartSample()
	c.wmu.Unlock()
	if third.queued == nil {
		t.Error("it was sent into another write")
	}
	wait(third)
	for !c.wmu.TryLock() { // the answer may be heard before the writer has let go
		time.Sleep(time.Millisecond)
	}
	c.wmu.Unlock()
	if fourth := c.StartSample(); fourth.queued != nil {
		t.Error("an answer was heard, and it was not sent at once")
	} else {
		wait(fourth)
	}

	few := c.StartSample()
	if _, _, err := few.Wait(testContext(t), values[1:]); err == nil {
		t.Error("too few values were filled")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[few.id] != nil {
		t.Error("the call that was given up is left")
	}
}

// An agent that talks and does not listen holds up a sample, which is asked for past the queue, only until the
// stream is broken; every later call is told why.
func TestDeafAgent(t *testing.T) {
	said := newDeaf(scripted(greeting(Version, Version), true), len(appendJSON([]byte(magic), typeHello, 0, clientHello{Version: Version})))
	c, err := Dial(testContext(t), said)
	if err != nil {
		t.Fatal(err)
	}
	if c.Err() != nil {
		t.Errorf("before anything was written: %v", c.Err())
	}
	c.patience = 50 * time.Millisecond
	began := time.Now()
	s := c.StartSample()
	if took := time.Since(began); took < c.patience || took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	const why = "it reads nothing: something written to it was not taken within 50ms"
	if _, _, err := s.Wait(testContext(t), make([]float64, len(c.Columns()))); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("%v; want %q", err, why)
	}
	if _, err := c.Start(testContext(t), shell("true"), nil); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("%v; want %q", err, why)
	}
	if err := c.Err(); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("%v; want %q", err, why)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	well := dialed(t)
	if err := well.Close(); err != nil || well.Err() != nil {
		t.Errorf("of a stream that was closed: %v, %v", err, well.Err())
	}
}
