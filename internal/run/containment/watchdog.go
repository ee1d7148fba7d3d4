package containment

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
)

// Rules say when the host suffers.
type Rules struct {
	// Interval between two starts of a program.
	Interval time.Duration `json:"interval"`
	// Bound is the longest a start may take; the containments are killed when no start
	// has kept it for Patience.
	Bound    time.Duration `json:"bound"`
	Patience time.Duration `json:"patience"`
	// Floor is the least memory that must be available to new programs; 0 is a
	// twentieth of the host's.
	Floor bench.Bytes `json:"floor"`
}

// DefaultRules are those of a run.
func DefaultRules() Rules {
	return Rules{Interval: 100 * time.Millisecond, Bound: time.Second, Patience: 3 * time.Second}
}

// order is what a watchdog is told, as one line of JSON on its standard input.
type order struct {
	Rules
	Groups []string      `json:"groups"` // the groups' names
	Time   time.Duration `json:"time"`   // after which they are killed, from the word begin on
}

// begin is the line that follows an order when the work of an adversary
// begins. Any other line, or the end, means stop.
const begin = "begin\n"

// word is a line of the watchdog's: Ended and Overdue when it has killed the
// containments of its own accord, Report as its last.
type word struct {
	Ready   bool         `json:"ready,omitempty"`
	Ended   string       `json:"ended,omitempty"`
	Overdue bool         `json:"overdue,omitempty"`
	Report  *bench.Watch `json:"report,omitempty"`
	Error   string       `json:"error,omitempty"`
}

const (
	guardEvery = 50 * time.Millisecond
	killWithin = 20 * time.Second
	// fewestLow is how many looks in a row must find too little memory.
	fewestLow = 2
)

// Watchdog is the process: it reads its order, watches until its input ends or
// says stop, kills the containments and reports. Their time runs from the word begin on.
// A parent that dies closes the input.
func Watchdog(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	text, err := lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("watchdog: read the order: %w", err)
	}
	var o order
	if err := json.Unmarshal(text, &o); err != nil {
		return fmt.Errorf("watchdog: order %q: %w", text, err)
	}
	host, err := cgroup.Detect()
	if err != nil {
		return fmt.Errorf("watchdog: %w", err)
	}
	program, err := exec.LookPath("true")
	if err != nil {
		return fmt.Errorf("watchdog: %w", err)
	}
	w := &watchdog{order: o, host: host, words: json.NewEncoder(out), starts: newStarts(program)}
	w.armour()
	began, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		if word, err := lines.ReadString('\n'); err != nil || word != begin {
			return
		}
		close(began)
		_, _ = lines.ReadBytes('\n')
	}()
	return w.watch(began, stopped)
}

type watchdog struct {
	order
	host    *cgroup.FS
	words   *json.Encoder
	starts  *starts
	insides []*inside
	low     int
	least   bench.Bytes
	report  bench.Watch
}

// armour keeps the process going when others don't: out of the killer's sight
// and in memory. A host that does not let it is watched all the same.
func (w *watchdog) armour() {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("-1000"), 0)
	_ = unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT)
	debug.SetGCPercent(400)
}

// watch looks at everything until it is told to stop, then kills and reports.
func (w *watchdog) watch(began, stopped <-chan struct{}) error {
	runtime.LockOSThread()
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -20)
	for _, name := range w.Groups {
		w.insides = append(w.insides, newInside(w.host.Group(name)))
	}
	before, err := listProcesses("/proc")
	if err != nil {
		return fmt.Errorf("watchdog: %w", err)
	}
	for _, i := range w.insides { // which are meant to die
		pids, err := i.group.Procs()
		if err != nil {
			return fmt.Errorf("watchdog: %w", err)
		}
		for _, pid := range pids {
			delete(before, pid)
		}
	}
	kills, err := oomKills("/proc")
	if err != nil {
		return fmt.Errorf("watchdog: %w", err)
	}
	memory, err := readMemory("/proc")
	if err != nil {
		return fmt.Errorf("watchdog: %w", err)
	}
	if w.Floor == 0 {
		w.Floor = memory.total / 20
	}
	w.least = memory.available
	var over time.Time // of the containments; zero before the work began
	done := make(chan struct{})
	var probing sync.WaitGroup
	probing.Go(func() { w.starts.loop(w.Interval, done) })
	if err := w.words.Encode(word{Ready: true}); err != nil {
		return err
	}
	tick := time.NewTicker(guardEvery)
	defer tick.Stop()
	for ended := false; !ended; {
		select {
		case <-stopped:
			ended = true
		case <-began:
			over, began = time.Now().Add(w.Time), nil
		case <-tick.C:
			w.look()
			switch why := w.suffers(); {
			case why != "":
				w.report.Ended = why
				ended = true
			case !over.IsZero() && time.Now().After(over):
				w.report.Overdue = true
				ended = true
			}
		}
	}
	err = w.kill()
	if w.report.Ended != "" || w.report.Overdue {
		_ = w.words.Encode(word{Ended: w.report.Ended, Overdue: w.report.Overdue})
		<-stopped
	}
	close(done)
	probing.Wait()
	err = errors.Join(err, w.sum(before, kills))
	said := word{Report: &w.report}
	if err != nil {
		said.Error = err.Error()
	}
	return w.words.Encode(said)
}

// look takes note of the containments and of the host's memory.
func (w *watchdog) look() {
	pids := 0
	for _, i := range w.insides {
		pids += i.look()
	}
	w.report.Peak = max(w.report.Peak, pids)
	m, err := readMemory("/proc")
	if err != nil {
		return // the next look will tell
	}
	w.least = min(w.least, m.available)
	if m.available < w.Floor {
		w.low++
	} else {
		w.low = 0
	}
}

// suffers says why the scene must end, if it must.
func (w *watchdog) suffers() string {
	if w.low >= fewestLow {
		return fmt.Sprintf("only %v of memory were available, less than %v", w.least, w.Floor)
	}
	if since := w.starts.overdue(w.Bound); since > w.Patience {
		return fmt.Sprintf("no program was started within %v for %v", w.Bound, since.Round(100*time.Millisecond))
	}
	return ""
}

// kill ends everything in every containment.
func (w *watchdog) kill() error {
	ctx, cancel := context.WithTimeout(context.Background(), killWithin)
	defer cancel()
	errs := make([]error, len(w.insides))
	var all sync.WaitGroup
	for k, i := range w.insides {
		i.look()
		all.Go(func() { errs[k] = i.group.Kill(ctx) })
	}
	all.Wait()
	for _, i := range w.insides {
		i.look()
	}
	return errors.Join(errs...)
}

// sum fills the report.
func (w *watchdog) sum(before map[int]process, kills int) error {
	after, err := listProcesses("/proc")
	if err != nil {
		return err
	}
	now, err := oomKills("/proc")
	if err != nil {
		return err
	}
	for _, i := range w.insides {
		w.report.OOMInside += i.kills()
	}
	w.report.OOM = max(0, now-kills-w.report.OOMInside)
	w.report.Died = gone(before, after)
	w.report.Available = w.least
	w.starts.fill(&w.report)
	return nil
}
