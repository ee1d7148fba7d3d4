package powercut

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// A Scenario is something that promises to survive a loss of power.
type Scenario struct {
	// Before lays out, if it is not nil, what is on disk already.
	Before func(dir string) error
	// Act works in the directory and says with promise what from then on must survive.
	Act func(dir string, promise func(what string)) error
	// Check looks at what a loss of power left of the directory, a copy that it may change. Promised is what was promised before.
	Check func(dir string, promised []string) error
	// Guards has a line for each fsync(2) of Act: the call, or the promise, that it may not come after.
	Guards string
}

// dirVar names, in the process that acts, the directory to act in; see promise.
const dirVar = "TARE_POWERCUT"

// Run has the scenario of the test acted out, checks what each loss of power leaves, and then what each fsync(2) guards. That is found by
// leaving it out: it is the first later call at which a loss of power then fails the check. So a sync that is taken out or moved behind
// what it guards fails the test, and so does one that guards nothing. The test must do nothing before it calls Run, since it is run again.
func Run(t *testing.T, s Scenario) {
	t.Helper()
	if dir := os.Getenv(dirVar); dir != "" {
		if err := s.Act(dir, promise); err != nil {
			t.Fatal(err)
		}
		t.SkipNow()
	}
	dir := t.TempDir()
	if s.Before != nil {
		if err := s.Before(dir); err != nil {
			t.Fatal(err)
		}
	}
	r, err := record(dir, t.Name())
	if err != nil {
		t.Fatal(err)
	}
	j := judge{Scenario: s, recording: r, dir: t.TempDir(), known: map[string]error{}}
	for k := range r.events {
		if err := j.cut(k, none); err != nil {
			t.Errorf("power lost after %q %v", r.events[k].what, err)
		}
	}
	if t.Failed() {
		return
	}
	guards := "\n"
	for i, e := range r.events {
		if e.synced == 0 {
			continue
		}
		k := i
		for k < len(r.events) && j.cut(k, i) == nil {
			k++
		}
		if k == len(r.events) {
			t.Errorf("%q guards nothing: the check passes without it", e.what)
			continue
		}
		guards += fmt.Sprintf("%s: before %s\n", e.what, r.events[k].what)
	}
	guards = temporary.ReplaceAllString(guards, "*")
	if guards != s.Guards {
		t.Errorf("each sync, and what it may not come after:%s\nwant:%s", guards, s.Guards)
	}
}

// promise tells the recorder, by a write that fails, what is promised from here on.
func promise(what string) { _, _ = unix.Write(-1, []byte(what)) }

// A judge checks what losses of power leave.
type judge struct {
	Scenario
	recording *recording
	dir       string           // where disks are laid out
	known     map[string]error // what Check said of a disk
}

// temporary is what [os.CreateTemp] puts into a name; Guards has a * in its place.
var temporary = regexp.MustCompile(`\d{6,}`)

// none is the index of no event.
const none = -1

// cut loses the power right after event k in every way there is, the sync of event without left out, and returns what Check found first.
func (j *judge) cut(k, without int) error {
	var promised []string
	for _, e := range j.recording.events[:k+1] {
		if e.promised != "" {
			promised = append(promised, e.promised)
		}
	}
	for _, d := range j.recording.disks(k, without) {
		key := fmt.Sprintf("%d %+v", len(promised), d.files)
		err, ok := j.known[key]
		if !ok {
			var lerr error
			if err, lerr = j.check(d.files, promised); lerr != nil {
				return lerr
			}
			j.known[key] = err
		}
		if err != nil {
			return fmt.Errorf("with %s: %w", d.how, err)
		}
	}
	return nil
}

// check lays out a disk and has it looked at.
func (j *judge) check(files []file, promised []string) (found, failed error) {
	at := filepath.Join(j.dir, "disk")
	if err := os.RemoveAll(at); err != nil {
		return nil, err
	}
	for _, f := range files {
		path := filepath.Join(at, f.path)
		if f.dir {
			failed = os.MkdirAll(path, 0o700)
		} else {
			failed = os.WriteFile(path, []byte(f.data), 0o644)
		}
		if failed != nil {
			return nil, failed
		}
	}
	return j.Check(at, slices.Clone(promised)), nil
}
