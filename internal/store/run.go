package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host"
)

// The names inside a run's folder.
const (
	headerFile = "run.json"
	specFile   = "spec.yaml"
	planFile   = "plan.json"
	hostFile   = "host.json"
	trialsFile = "trials.jsonl"
	tornFile   = "trials.jsonl.torn"
	samplesDir = "samples"
	outputDir  = "output"
)

// ErrBusy says that another process is writing the run.
var ErrBusy = errors.New("another process is writing this run")

// A Run is an open folder. One from Open only reads; one from Create or
// OpenForResume also writes, and no other process can while it is open. Its
// methods are not safe for use by several goroutines, except that Samples and
// Output may be called for different trials at once.
type Run struct {
	dir    string
	header Header
	plan   bench.Plan
	host   host.Facts
	torn   []byte

	// Of a writing Run.
	lock   *os.File
	trials *os.File
	end    int64 // the length of trials.jsonl up to the last whole line
	known  map[string]bool
	done   map[string]bool // trials that have a final outcome
}

// Open opens a run for reading, also while another process writes it.
func Open(dir string) (*Run, error) {
	r := &Run{dir: dir}
	if err := r.load(); err != nil {
		return nil, err
	}
	torn, _, err := r.tail()
	if err != nil {
		return nil, err
	}
	r.torn = torn
	return r, nil
}

func (r *Run) load() error {
	if err := r.readJSON(headerFile, &r.header); err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
			return r.noRun()
		}
		return err
	}
	if r.header.Format != Format {
		return fmt.Errorf("%s: format %q is not known to this version, which reads %q: %w%w",
			filepath.Join(r.dir, headerFile), r.header.Format, Format, bench.ErrInvalid,
			bench.Hint("use the version of tare that wrote it: "+r.header.Tare))
	}
	if err := r.readJSON(planFile, &r.plan); err != nil {
		return err
	}
	return r.readJSON(hostFile, &r.host)
}

// noRun says what is there instead of a run.
func (r *Run) noRun() error {
	what, hint := "no "+headerFile+" in it", bench.Hint("give the folder that tare run wrote, such as results/ID")
	info, err := os.Stat(r.dir)
	switch {
	case err != nil:
		what = "no such folder"
	case !info.IsDir():
		what = "a file"
		if ext := filepath.Ext(r.dir); ext == ".yaml" || ext == ".yml" {
			hint = bench.Hint("to measure a specification: tare run " + r.dir + "; a run is the folder which that writes")
		}
	}
	return fmt.Errorf("%s: not a run: %s: %w%w", r.dir, what, bench.ErrInvalid, hint)
}

func (r *Run) readJSON(name string, into any) error {
	path := filepath.Join(r.dir, name)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read run: %w: %w%w", err, bench.ErrInvalid, bench.Hint("the file was removed after tare wrote it: restore it from a copy"))
	}
	if err != nil {
		return fmt.Errorf("read run: %w", err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return parseError(path, text, err)
	}
	return nil
}

// Dir is the folder as it was given.
func (r *Run) Dir() string { return r.dir }

// Header returns run.json.
func (r *Run) Header() Header { return r.header }

// Plan returns plan.json. The caller must not change it.
func (r *Run) Plan() *bench.Plan { return &r.plan }

// Host returns host.json. The caller must not change it.
func (r *Run) Host() *host.Facts { return &r.host }

// Torn returns the text after the last whole line of trials.jsonl: a line
// being written now, or one cut off by a crash. It is no outcome.
func (r *Run) Torn() []byte { return r.torn }

// Spec returns the specification as it was given.
func (r *Run) Spec() ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(r.dir, specFile))
	if err != nil {
		return nil, fmt.Errorf("read specification: %w", err)
	}
	return text, nil
}

// Output returns what an actor's program printed in a trial; stream is
// "stdout" or "stderr". It is an error that wraps fs.ErrNotExist if nothing
// was kept.
func (r *Run) Output(trial, actor, stream string) ([]byte, error) {
	name := actor + "." + stream
	if err := checkName(trial); err != nil {
		return nil, err
	}
	if err := checkName(name); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(r.dir, outputDir, trial, name))
	if err != nil {
		return nil, fmt.Errorf("read output: %w", err)
	}
	return text, nil
}

// Close releases the run.
func (r *Run) Close() error {
	var err error
	if r.trials != nil {
		err = r.trials.Close()
		r.trials = nil
	}
	if r.lock != nil {
		err = errors.Join(err, r.lock.Close())
		r.lock = nil
	}
	return err
}
