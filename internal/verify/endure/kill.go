package main

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/internal/bench"
	"tare/internal/verify/survey"
)

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
	for k.Kills < k.Moments && !k.stopped() {
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

// newOutside lists what is new, but for what lies below the directory.
func newOutside(dir string, before, now []string) []string {
	found, _ := survey.Changes(before, now)
	return slices.DeleteFunc(found, func(fact string) bool { return strings.Contains(fact, dir+"/") })
}

// stopped says whether it is to end early.
func (k *killing) stopped() bool {
	_, err := os.Stat(stopFile(k.dir))
	return err == nil
}

// prepare runs the experiment without killing it, which shows whether it runs here, how long its phases take, and what a run that
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
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		return fmt.Errorf("ip: %w: %s", err, out)
	}
	first := k.survey()
	for range 3 { // on a host under load every trial of a run may fail, though not of the next
		k.Lack = ""
		if err := k.undisturbed(); err != nil {
			return err
		}
		if err := k.clean("nothing was killed"); err != nil { // it leaves its own lock
			return err
		}
		if k.Lack == "" {
			break
		}
		k.say("%s", k.Lack)
	}
	if k.Lack != "" {
		return nil
	}
	k.before = k.survey()
	for _, fact := range newOutside(k.dir, first, k.before) {
		k.Left = append(k.Left, "the first run, which nobody killed: "+fact)
	}
	k.say("undisturbed in %.1f s", k.usual.Seconds())
	return nil
}

// undisturbed does a run to its end, or says what it lacks here.
func (k *killing) undisturbed() error {
	var r *running
	for _, text := range k.experiments() {
		k.results = "" // a run that has not begun is none to go on with
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
	return k.ended(true)
}

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
	if !k.Soon && k.rng.IntN(2) == 0 {
		after, most = -1, int(k.usual.Milliseconds()) // any time
	}
	r, err := k.begin()
	if err != nil {
		return err
	}
	moment := ""
	if after >= 0 {
		passed := 0 // trials, so that runs get on
		if k.Soon && !k.Few {
			passed = k.rng.IntN(2)
		}
		for r.finished < passed && r.line(k) {
		}
		for range after {
			if !r.line(k) {
				break
			}
		}
		wait := max(k.took[r.phase], 5*time.Millisecond)
		if k.Soon {
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
	found, _ := survey.Changes(k.before, k.survey())
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
