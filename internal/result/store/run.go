package store

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

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
	lockFile   = "lock" // empty; whoever writes the run has it locked
	reportFile = "report.html"
)

// ErrBusy says that another process is writing the run.
var ErrBusy = errors.New("another process is writing this run")

// A Run is an open folder. One from Open only reads; one from Create or
// OpenForResume also writes, and no other process can while it is open. Its
// methods are not safe for use by several goroutines, except that Samples and
// Output may be called for different trials at once.
type Run struct {
	dir     string
	folder  *folder
	header  Header
	plan    bench.Plan
	host    host.Facts
	torn    []byte
	weight  weight
	upgrade *upgrade                     // of a run that an earlier version began; else nil
	planned map[string]bench.Trial       // by id, those of rest among them
	sums    map[string][sha256.Size]byte // of the files that never change, as they were read or written

	// Of a writing Run.
	lock   *os.File
	trials *os.File
	end    int64 // the length of trials.jsonl up to the last whole line
	known  map[string]bool
	done   map[string]bool // trials that have a final outcome
}

// Open opens a run for reading, also while another process writes it.
func Open(dir string) (_ *Run, err error) {
	r := &Run{dir: dir}
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	if r.folder, err = openFolder(dir); err != nil {
		return nil, r.noRun(err)
	}
	if err := r.load(); err != nil {
		return nil, err
	}
	if err := r.weigh(); err != nil {
		return nil, err
	}
	if r.torn, _, err = r.tail(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Run) load() error {
	if _, err := r.readJSON(headerFile, &r.header); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return r.noRun(err)
		}
		return err
	}
	if r.header.Format != Format && r.header.Format != formatBefore {
		return fmt.Errorf("%s: format %q is not known to this version, which reads %q and %q: %w%w",
			filepath.Join(r.dir, headerFile), r.header.Format, Format, formatBefore, bench.ErrInvalid,
			bench.Hint("use the version of tare that wrote it: "+r.header.Tare))
	}
	if err := CheckID(r.header.Run); err != nil {
		return fmt.Errorf("%s: %w: %w%w", filepath.Join(r.dir, headerFile), err, bench.ErrInvalid, damaged)
	}
	text, err := r.readJSON(planFile, &r.plan)
	if err != nil {
		return err
	}
	if r.header.Format == formatBefore {
		if r.upgrade, err = planUpgrade(text, &r.plan); err != nil {
			return parseError(filepath.Join(r.dir, planFile), text, err)
		}
	}
	if err := checkPlan(&r.plan); err != nil {
		return fmt.Errorf("%s: %w: %w%w", filepath.Join(r.dir, planFile), err, bench.ErrInvalid, damaged)
	}
	if _, err := r.readJSON(hostFile, &r.host); err != nil {
		return err
	}
	if err := r.settle(); err != nil {
		return fmt.Errorf("%s: %w: %w%w", r.dir, err, bench.ErrInvalid, damaged)
	}
	return nil
}

// damaged is the hint where a file that never changes is not as it was written.
const damaged = bench.Hint("the file was changed after tare wrote it: restore it from a copy")

// maxID is the most letters of a run's id; a part of names of control groups and directories.
const maxID = 64

// CheckID is an error unless the text can be a run's id: small letters, digits
// and hyphens, so that it is one name and nothing else wherever it is a part of one.
func CheckID(id string) error {
	if id == "" || len(id) > maxID || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return fmt.Errorf("%.80q is not an id of a run: that is 1 to %d of a-z, 0-9 and hyphens", id, maxID)
	}
	return nil
}

// noRun says what is there instead of a run, of which the error tells.
func (r *Run) noRun(err error) error {
	what, hint := "no "+headerFile+" in it", bench.Hint("give the folder that tare run wrote, such as results/ID")
	info, serr := os.Stat(r.dir)
	switch {
	case errors.Is(serr, fs.ErrNotExist), errors.Is(serr, unix.ENOTDIR):
		what = "no such folder"
	case serr != nil:
		return fmt.Errorf("read run: %w", serr)
	case !info.IsDir():
		what = "a file"
		if ext := filepath.Ext(r.dir); ext == ".yaml" || ext == ".yml" {
			hint = bench.Hint("to measure a specification: tare run " + r.dir + "; a run is the folder which that writes")
		}
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("read run: %w", err)
	}
	return fmt.Errorf("%s: not a run: %s: %w%w", r.dir, what, bench.ErrInvalid, hint)
}

func (r *Run) readJSON(name string, into any) (text []byte, err error) {
	path := filepath.Join(r.dir, name)
	text, err = r.folder.read(name, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read run: %w: %w%w", err, bench.ErrInvalid, bench.Hint("the file was removed after tare wrote it: restore it from a copy"))
	}
	if err != nil {
		return nil, fmt.Errorf("read run: %w", err)
	}
	r.sum(name, text)
	if err = countJSON(text); err != nil {
		return nil, fmt.Errorf("%s: %w: %w%w", path, err, bench.ErrInvalid, damaged)
	}
	if err = json.Unmarshal(text, into); err != nil {
		return nil, parseError(path, text, err)
	}
	return text, nil
}

func (r *Run) sum(name string, text []byte) {
	if r.sums == nil {
		r.sums = map[string][sha256.Size]byte{}
	}
	r.sums[name] = sha256.Sum256(text)
}

// Digest stands for all that was settled when the run began: specification,
// plan, host, and what it was made with, the power meters among it. It is of the
// very bytes that Header, Plan and Host were read from.
func (r *Run) Digest() (string, error) {
	if _, ok := r.sums[specFile]; !ok {
		if _, err := r.Spec(); err != nil {
			return "", err
		}
	}
	all := sha256.New()
	for _, name := range []string{headerFile, specFile, planFile, hostFile} {
		fmt.Fprintf(all, "%s %x\n", name, r.sums[name])
	}
	return fmt.Sprintf("sha256:%x", all.Sum(nil)), nil
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
// being written now, or one cut off by a crash. It is not an outcome.
func (r *Run) Torn() []byte { return r.torn }

// Spec returns the specification as it was given.
func (r *Run) Spec() ([]byte, error) {
	text, err := r.folder.read(specFile, maxFile)
	if err != nil {
		return nil, fmt.Errorf("read specification: %w", err)
	}
	r.sum(specFile, text)
	return text, nil
}

// Output returns what an actor's program printed in a trial; stream is
// "stdout" or "stderr". It is an error that wraps fs.ErrNotExist if nothing
// was kept.
func (r *Run) Output(trial, actor, stream string) ([]byte, error) {
	name := actor + "." + stream
	fail := func(err error) ([]byte, error) { return nil, fmt.Errorf("read output: %w", err) }
	outputs, err := r.folder.in(outputDir)
	if err != nil {
		return fail(err)
	}
	defer outputs.close()
	of, err := outputs.in(trial)
	if err != nil {
		return fail(err)
	}
	defer of.close()
	text, err := of.read(name, maxText)
	if err != nil {
		return fail(err)
	}
	return text, nil
}

// WriteReport puts report.html in the place of the one that is there, whole or
// not at all.
func (r *Run) WriteReport(render func(io.Writer) error) error {
	if err := r.folder.replace(reportFile, render); err != nil {
		return fmt.Errorf("write report: %w", diskError(err))
	}
	return nil
}

// WriteIn writes a file of a folder that holds runs as a run's own are written: anew, and through no link.
func WriteIn(dir, name string, render func(io.Writer) error) error {
	d, err := openFolder(dir)
	if err != nil {
		return err
	}
	if err := errors.Join(d.replace(name, render), d.close()); err != nil {
		return fmt.Errorf("write %s: %w", name, diskError(err))
	}
	return nil
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
	if r.folder != nil {
		err = errors.Join(err, r.folder.close())
	}
	return err
}
