package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/ledger"
	"tare/internal/store"
	"tare/internal/survey"
	"tare/internal/tree"
)

// spec is an experiment with everything in it that a run may be in the middle of. What a platform cannot do is left out by the plan.
const spec = `
name: endure
platforms: [PLATFORM]
baseline: PLATFORM
blocks: BLOCKS
shape: {cpus: 1, memory: 256MiB, disk: 64MiB}
timing: {warmup: 0s, measure: 300ms, cooldown: 0s}
scenes:
  - {name: swap, workload: sysbench-cpu, conditions: {swap: 16MiB}}
  - {name: net, workload: netperf}
`

// long are the scenes that a quick look does without.
const long = `  - {name: crowd, ramp: {to: 3, step: 1}, timing: {measure: 200ms}}
  - {name: bombed, workload: sysbench-cpu, beside: {workload: bomb, params: {kind: fork}, cage: {pids: 200, time: 8s}}}
  - {name: cold, startup: true}
`

// moving is a scene for the platforms that can be moved, where the host lets them, and movable with which options they can.
const moving = "  - {name: move, migrate: either}\n"

var movable = map[string]string{"runc": "runc", "qemu-tcg": "qemu-tcg[root=qcow2]"}

// patience bounds each run and each cleaning.
const patience = 10 * time.Minute

// A killing is a task under way.
type killing struct {
	task
	row
	rng     *rand.Rand
	before  []string // the host when nothing had been killed
	usual   time.Duration
	took    map[string]time.Duration // how long the phases took last
	failing map[string]bool          // scenes that fail though nothing is killed
	runs    map[string]bool          // the ids there have been
	results string                   // of the run that is under way; "" for none
	kept    map[string]*bench.Outcome
	count   int // of results
}

func newKiller(t task) *killing {
	h := fnv.New64()
	h.Write([]byte(t.Platform))
	return &killing{task: t, row: row{Platform: t.Platform, During: map[string]int{}, Found: map[string]int{}}, rng: rand.New(rand.NewPCG(t.Seed, h.Sum64())),
		took: map[string]time.Duration{}, failing: map[string]bool{}, runs: map[string]bool{}}
}

func (k *killing) state() string { return filepath.Join(k.dir, "state") }

// kill does it all.
func (k *killing) kill() row {
	if err := k.prepare(); err != nil {
		k.Error = err.Error()
		return k.row
	}
	if k.Lack != "" {
		return k.row
	}
	for k.Kills < k.Moments {
		err := k.once()
		if errors.Is(err, errEnded) {
			continue
		}
		if err != nil {
			k.Error = err.Error()
			return k.row
		}
	}
	if err := k.finish(); err != nil {
		k.Error = err.Error()
	}
	return k.row
}

// prepare runs the experiment once without killing it, which shows whether it runs here, how long its phases take, and what a run that
// nobody killed leaves.
func (k *killing) prepare() error {
	if err := os.Mkdir(k.state(), 0o700); err != nil {
		return err
	}
	if k.task.Platform != build {
		if err := os.Symlink(k.Images, filepath.Join(k.state(), "images")); err != nil {
			return err
		}
	}
	blocks, scenes := "2", spec+long
	if k.Short {
		blocks, scenes = "1", spec
	}
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		return fmt.Errorf("ip: %w: %s", err, out)
	}
	platform, tries := k.task.Platform, []string{scenes}
	if as, can := movable[platform]; can {
		platform, tries = as, []string{scenes + moving, scenes}
	}
	var r *running
	for _, scenes := range tries {
		k.results = "" // a run that has not begun is none to go on with
		text := strings.NewReplacer("PLATFORM", "'"+platform+"'", "BLOCKS", blocks).Replace(scenes)
		if err := os.WriteFile(k.spec(), []byte(text), 0o644); err != nil {
			return err
		}
		began := time.Now()
		var err error
		if r, err = k.begin(); err != nil {
			return err
		}
		status := r.end(k)
		k.usual = time.Since(began)
		if k.task.Platform == build && status != 0 {
			return fmt.Errorf("tare image build ended with status %d: %s", status, r.last())
		}
		if k.task.Platform == build || k.exists() {
			break
		}
	}
	switch why := strings.ReplaceAll(r.last(), "|", "/"); {
	case k.task.Platform == build || k.exists():
	case strings.Contains(why, "cannot run here"):
		k.Lack = why
		return nil
	default:
		return errors.New(why)
	}
	if err := k.ended(true); err != nil || k.Lack != "" {
		return err
	}
	if err := k.clean("nothing was killed"); err != nil { // it leaves its own lock
		return err
	}
	k.before = k.survey()
	k.say("undisturbed in %.1f s", k.usual.Seconds())
	return nil
}

// exists says whether the run under way has begun.
func (k *killing) exists() bool {
	_, err := os.Stat(filepath.Join(k.results, "run.json"))
	return err == nil
}

func (k *killing) spec() string { return filepath.Join(k.dir, "endure.yaml") }

// build is in the place of a platform where it is the image's build that is killed.
const build = "image"

// begin starts a run, or goes on with the one that is under way.
func (k *killing) begin() (*running, error) {
	switch {
	case k.task.Platform == build:
		return k.start("image", "build")
	case k.results != "":
		return k.start("resume", k.results, "-v", "--allow-unfair")
	}
	k.count++
	k.results, k.kept = filepath.Join(k.dir, fmt.Sprintf("results-%d", k.count)), map[string]*bench.Outcome{}
	return k.start("run", k.spec(), "-o", k.results, "-v", "--allow-unfair")
}

// once lets a run go on until a moment, kills it, cleans, and looks.
func (k *killing) once() error {
	after, most := k.rng.IntN(12), 0 // lines, which come at each phase
	if !k.Short && k.rng.IntN(2) == 0 {
		after, most = -1, int(k.usual.Milliseconds()) // any time
	}
	r, err := k.begin()
	if err != nil {
		return err
	}
	moment := ""
	if after >= 0 {
		for range after {
			if !r.line(k) {
				break
			}
		}
		wait := max(k.took[r.phase], 5*time.Millisecond)
		if k.Short {
			wait = min(wait, time.Second)
		}
		wait = time.Duration(k.rng.Float64() * float64(wait))
		moment = fmt.Sprintf("line %d and %v", after, wait.Round(time.Millisecond))
		r.until(k, wait)
	} else {
		wait := time.Duration(k.rng.IntN(most+1)) * time.Millisecond
		moment = wait.String()
		r.until(k, wait)
	}
	if r.over {
		r.end(k)
		return cmp.Or(k.ended(false), errEnded)
	}
	if err := r.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	if status := r.end(k); status != -1 {
		return cmp.Or(k.ended(false), errEnded)
	}
	k.Kills++
	k.During[r.phase]++
	at := fmt.Sprintf("kill %d, at %s, in %s %s", k.Kills, moment, r.phase, r.doing)
	k.note()
	found := survey.Without(k.survey(), k.before)
	for _, fact := range found {
		kind, _, _ := strings.Cut(fact, " ")
		k.Found[kind]++
	}
	if err := k.clean(at); err != nil {
		return err
	}
	k.looks(at)
	k.check(at, r)
	k.say("%s: %d things of it on the host, %d outcomes", at, len(found), len(k.kept))
	return nil
}

// clean removes what is left, in two tries if it is killed itself.
func (k *killing) clean(at string) error {
	if k.rng.IntN(4) == 0 {
		r, err := k.start("clean")
		if err != nil {
			return err
		}
		r.until(k, time.Duration(k.rng.IntN(60))*time.Millisecond)
		_ = r.cmd.Process.Kill()
		if r.end(k) == -1 {
			k.Cleans++
		}
	}
	began := time.Now()
	r, err := k.start("clean")
	if err != nil {
		return err
	}
	if status := r.end(k); status != 0 {
		k.Failed = append(k.Failed, fmt.Sprintf("%s: tare clean ended with status %d: %s", at, status, r.last()))
	}
	k.CleanMax = max(k.CleanMax, time.Since(began).Seconds())
	return nil
}

// settling is how long the kernel may take to let go of what is closed.
const settling = 10 * time.Second

// looks compares the host with what it was.
func (k *killing) looks(at string) {
	var left, gone []string
	for deadline := time.Now().Add(settling); ; time.Sleep(50 * time.Millisecond) {
		now := k.survey()
		left, gone = survey.Without(now, k.before), survey.Without(k.before, now)
		if !k.Alone { // a mount of others, of which there is a copy here, vanishes when they remove its place
			gone = slices.DeleteFunc(gone, func(fact string) bool { return strings.HasPrefix(fact, "mount ") })
		}
		if len(left)+len(gone) == 0 {
			return
		}
		if time.Now().After(deadline) {
			break
		}
	}
	for _, l := range left {
		k.Left = append(k.Left, at+": "+l)
	}
	for _, l := range gone {
		k.Left = append(k.Left, at+": no longer there: "+l)
	}
	k.before = k.survey() // each is told once
}

// survey lists what is there.
func (k *killing) survey() []string {
	trees := maps.Clone(survey.Usual)
	trees[k.state()] = 2
	trees[k.dir] = 1
	s := survey.Scope{Trees: trees, Marks: append(slices.Collect(maps.Keys(k.runs)), k.state()), Alone: k.Alone}
	return slices.DeleteFunc(s.Take(), func(fact string) bool { return k.expected(fact) })
}

// expected says whether a fact is of what a run keeps on purpose, or nobody can know to be ours.
func (k *killing) expected(fact string) bool {
	// crun has an empty file of no permissions in /tmp for a moment, under a name that only it knows: killed just then it leaves it.
	if strings.HasPrefix(fact, "file /tmp/crun.") && strings.HasSuffix(fact, " ----------") {
		return true
	}
	for _, p := range []string{filepath.Join(k.dir, "results-"), filepath.Join(k.state(), "ledger."), filepath.Join(k.state(), "begun"), filepath.Join(k.state(), "images", "")} {
		if strings.HasPrefix(fact, "file "+p) && !strings.Contains(fact, "/images/.build-") {
			return true
		}
	}
	return false
}

// note remembers the runs that the ledger knows.
func (k *killing) note() {
	led, err := ledger.Open(k.state(), "endure")
	if err != nil {
		return
	}
	held, _ := led.Held() // a torn line is no run
	for _, e := range held {
		if len(e.Owner.Run) > 8 {
			k.runs[e.Owner.Run] = true
		}
	}
}

// outcomes reads what is stored of the run under way.
func (k *killing) outcomes() (map[string]*bench.Outcome, error) {
	all := map[string]*bench.Outcome{}
	r, err := store.Open(k.results)
	if err != nil {
		return all, err
	}
	defer r.Close()
	for o, err := range r.Outcomes() {
		if err != nil {
			return all, err
		}
		c := *o
		all[o.Trial] = &c
	}
	return all, nil
}

// check looks whether every trial is kept that was finished before the run was killed or, as its lines say, since.
func (k *killing) check(at string, r *running) {
	if k.task.Platform == build {
		return
	}
	now, err := k.outcomes()
	if err != nil {
		if len(k.kept) > 0 || r.finished > 0 {
			k.Lost = append(k.Lost, fmt.Sprintf("%s: the whole run: %v", at, err))
		}
		// It was killed before there was a run: there is nothing to go on with, and the folder is in the way of another.
		k.results = ""
		return
	}
	final := 0
	for _, o := range now {
		if o.Status.Final() {
			final++
		}
	}
	if final < len(k.kept)+r.finished {
		k.Lost = append(k.Lost, fmt.Sprintf("%s: %d outcomes of at least %d", at, final, len(k.kept)+r.finished))
	}
	k.compare(at, now)
}

func (k *killing) compare(at string, now map[string]*bench.Outcome) {
	for id, o := range k.kept {
		if n := now[id]; n == nil || n.Started != o.Started || n.Status != o.Status {
			k.Lost = append(k.Lost, fmt.Sprintf("%s: trial %s is not as it was", at, id))
		}
	}
	maps.DeleteFunc(now, func(_ string, o *bench.Outcome) bool { return !o.Status.Final() })
	k.kept = now
}

// ended looks at a run that has come to its end.
func (k *killing) ended(first bool) error {
	if k.task.Platform == build {
		// The next build is to begin anew.
		if !first {
			k.Ends++
		}
		return tree.Remove(filepath.Join(k.state(), "images"))
	}
	at := fmt.Sprintf("run %d", k.count)
	now, err := k.outcomes()
	if err != nil {
		return err
	}
	r, err := store.Open(k.results)
	if err != nil {
		return err
	}
	planned := len(r.Plan().Trials)
	k.runs[r.Header().Run] = true
	r.Close()
	k.compare(at, now)
	if len(now) != planned {
		k.Failed = append(k.Failed, fmt.Sprintf("%s: %d of %d trials have an outcome", at, len(now), planned))
	}
	failed := 0
	for _, o := range now {
		if o.Status == bench.Failed {
			failed++
		}
		switch {
		case o.Status != bench.Failed:
		case first && failed == len(now):
			k.Lack = "no trial is done, killed or not: " + o.Error
		case first:
			k.failing[o.Scene] = true
			k.say("%s fails though nothing is killed: %s", o.Scene, o.Error)
		case !k.failing[o.Scene]:
			k.Failed = append(k.Failed, fmt.Sprintf("%s: trial %s of %s: %s", at, o.Trial, o.Scene, o.Error))
		}
	}
	if !first {
		k.Ends++
		k.Trials += len(now)
		k.looks(at)
	}
	err = tree.Remove(k.results)
	k.results = ""
	return err
}

// finish goes on with the last run to its end.
func (k *killing) finish() error {
	if k.results == "" && k.task.Platform != build {
		return nil
	}
	r, err := k.begin()
	if err != nil {
		return err
	}
	status := r.end(k)
	if k.task.Platform == build && status != 0 {
		return fmt.Errorf("tare image build ended with status %d: %s", status, r.last())
	}
	return k.ended(false)
}

func (k *killing) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s: %s\n", k.task.Platform, fmt.Sprintf(format, args...))
}

// A running is a command of tare at work.
type running struct {
	cmd      *exec.Cmd
	lines    chan string // of standard error
	said     []string
	phase    string // the kind of moment that it is in
	doing    string // the trial and scene
	since    time.Time
	finished int  // trials that it said are stored
	over     bool // it says no more
	timer    *time.Timer
}

func (k *killing) start(args ...string) (*running, error) {
	r := &running{cmd: exec.Command(k.Tare, args...), lines: make(chan string, 10_000), phase: "begin", since: time.Now()}
	r.cmd.Dir = k.dir
	r.cmd.Env = append(os.Environ(), "TARE_STATE="+k.state(), "TARE_LOCK="+filepath.Join(k.state(), "measure.lock"), "TMPDIR=/tmp")
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	stderr, err := r.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	r.timer = time.AfterFunc(patience, func() { _ = r.cmd.Process.Kill() })
	go func() {
		defer close(r.lines)
		for s := bufio.NewScanner(stderr); s.Scan(); {
			r.lines <- s.Text()
		}
	}()
	return r, nil
}

var (
	runLine   = regexp.MustCompile(`^run (\S+): `)
	phaseLine = regexp.MustCompile(`^(\S+) ([^/\s]+)/\S+: (\w+)$`)
	doneLine  = regexp.MustCompile(`^ *\d+/\d+ `)
)

// take notes what a line says.
func (r *running) take(k *killing, line string) {
	r.said = append(r.said, line)
	phase := r.phase
	switch m := phaseLine.FindStringSubmatch(line); {
	case m != nil:
		phase, r.doing = m[3], "of "+m[1]+" "+m[2]
	case strings.HasPrefix(line, "opening "):
		phase = "open"
	case doneLine.MatchString(line):
		phase, r.doing = "between", ""
		r.finished++
	}
	if m := runLine.FindStringSubmatch(line); m != nil {
		k.runs[m[1]] = true
	}
	if phase != r.phase {
		k.took[r.phase] = time.Since(r.since)
		r.phase, r.since = phase, time.Now()
	}
}

// line waits for the next line; false: there are no more.
func (r *running) line(k *killing) bool {
	line, ok := <-r.lines
	if !ok {
		r.over = true
		return false
	}
	r.take(k, line)
	return true
}

// until lets it go on for a time.
func (r *running) until(k *killing, wait time.Duration) {
	end := time.After(wait)
	for !r.over {
		select {
		case <-end:
			return
		case line, ok := <-r.lines:
			if !ok {
				r.over = true
				return
			}
			r.take(k, line)
		}
	}
}

// end waits for it and returns its exit status, -1 if it was killed.
func (r *running) end(k *killing) int {
	for r.line(k) {
	}
	_ = r.cmd.Wait() // the status tells
	r.timer.Stop()
	return r.cmd.ProcessState.ExitCode()
}

// last is what it said last.
func (r *running) last() string { return strings.Join(r.said[max(0, len(r.said)-2):], "; ") }

// counts writes numbers by name, the largest first.
func counts(m map[string]int) string {
	names := slices.SortedFunc(maps.Keys(m), func(a, b string) int { return m[b] - m[a] })
	var parts []string
	for _, n := range names {
		parts = append(parts, fmt.Sprintf("%s %d", n, m[n]))
	}
	return strings.Join(parts, ", ")
}
