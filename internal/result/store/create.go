package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host"
)

// Create makes the folder of a new run and locks it. A folder that exists must
// be empty. When it fails, what it wrote is removed.
func Create(dir string, h Header, spec []byte, plan *bench.Plan, facts *host.Facts) (_ *Run, err error) {
	if err := errors.Join(CheckID(h.Run), checkPlan(plan)); err != nil {
		return nil, fmt.Errorf("create run: %w", err)
	}
	h.Format = Format
	_, statErr := os.Stat(dir)
	existed := statErr == nil
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("create run: %w", diskError(err))
	}
	r := &Run{dir: dir, header: h, plan: *plan, host: *facts, known: trialSet(plan), done: map[string]bool{}}
	if err := r.settle(); err != nil {
		return nil, fmt.Errorf("create run: %w", err)
	}
	if err := r.take(); err != nil {
		return nil, errors.Join(fmt.Errorf("create run: %w", err), r.Close())
	}
	if err := r.fill(spec); err != nil {
		r.unmake()
		r.Close()
		if !existed {
			os.Remove(dir)
		}
		return nil, fmt.Errorf("create run: %w", diskError(err))
	}
	return r, nil
}

// Check returns why [Create] would refuse the folder, or could not make or lock
// it, so that nobody builds an image first. It leaves the folder as it was.
func Check(dir string) error {
	_, statErr := os.Stat(dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create run: %w", diskError(err))
	}
	r := &Run{dir: dir}
	err := r.take()
	if err == nil {
		err = r.folder.remove(lockFile)
	}
	err = errors.Join(err, r.Close())
	if statErr != nil {
		err = errors.Join(err, os.Remove(dir))
	}
	if err != nil {
		return fmt.Errorf("create run: %w", diskError(err))
	}
	return nil
}

// take opens the folder and locks it. In one that is not empty it writes nothing.
func (r *Run) take() (err error) {
	if r.folder, err = openFolder(r.dir); err != nil {
		return err
	}
	if _, err := r.folder.root.Lstat(lockFile); errors.Is(err, fs.ErrNotExist) {
		if err := r.checkEmpty(); err != nil {
			return err
		}
	}
	if r.lock, err = r.folder.lock("wait for it to end, or give another folder with -o", "give a folder on another by -o"); err != nil {
		return err
	}
	return r.checkEmpty()
}

// fill writes every file of a new folder, run.json last.
func (r *Run) fill(spec []byte) error {
	for _, name := range []string{samplesDir, outputDir} {
		d, err := r.folder.make(name)
		if err != nil {
			return err
		}
		d.close()
	}
	if err := r.folder.write(specFile, spec); err != nil {
		return err
	}
	r.sum(specFile, spec)
	if err := r.writeJSON(planFile, r.plan); err != nil {
		return err
	}
	if err := r.writeJSON(hostFile, r.host); err != nil {
		return err
	}
	var err error
	if r.trials, err = r.folder.create(trialsFile); err != nil {
		return err
	}
	if err := r.writeJSON(headerFile, r.header); err != nil {
		return err
	}
	if err := r.folder.sync(); err != nil {
		return err
	}
	return syncDir(filepath.Dir(filepath.Clean(r.dir)))
}

func (r *Run) writeJSON(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	text = append(text, '\n')
	r.sum(name, text)
	return r.folder.write(name, text)
}

// lock takes the folder's lock without waiting; closing the file releases it. It
// is that of a file open for writing: NFS knows no other. What to do is said where another has
// it, and where the file system has no locks.
func (d *folder) lock(busy, none bench.Hint) (*os.File, error) {
	f, err := d.root.OpenFile(lockFile, os.O_RDWR|os.O_CREATE|unix.O_NONBLOCK, 0o644)
	if err := d.check(lockFile, f, 0, err); err != nil {
		if f != nil {
			f.Close()
		}
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: %w%w", d.path, ErrBusy, busy)
		}
		return nil, fmt.Errorf("lock %s: %w%w", d.path, err, "its file system must lock files: "+none)
	}
	return f, nil
}

// Going reports whether another process is writing the run, as far as its lock tells.
func (r *Run) Going() bool {
	if r.lock != nil {
		return false
	}
	f, err := r.folder.open(lockFile, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer f.Close() // which gives the lock back
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

func (r *Run) checkEmpty() error {
	names, err := r.folder.names()
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == lockFile })
	if len(names) == 0 {
		return nil
	}
	hint := bench.Hint("give a folder that is empty or does not exist")
	if slices.Contains(names, headerFile) {
		hint = "it holds a run: go on with it by tare resume, or give another folder"
	}
	return fmt.Errorf("%s is not empty: it has %q in it: %w%w", r.dir, slices.Min(names), bench.ErrInvalid, hint)
}

// unmake removes what fill wrote.
func (r *Run) unmake() {
	for _, name := range []string{headerFile, specFile, planFile, hostFile, trialsFile, samplesDir, outputDir, lockFile} {
		_ = r.folder.remove(name) // the directories are empty; what cannot be removed stays in sight
	}
}

func checkPlan(p *bench.Plan) error {
	if err := boundPlan(p); err != nil { // first: a plan without end has trials without end
		return err
	}
	for _, t := range p.Trials {
		if err := checkName(t.ID); err != nil {
			return err
		}
	}
	if n := len(trialSet(p)) - len(p.Idles()); n != len(p.Trials) {
		return fmt.Errorf("plan: %d trials share the id of another", len(p.Trials)-n)
	}
	return nil
}

func trialSet(p *bench.Plan) map[string]bool {
	set := make(map[string]bool, len(p.Trials))
	for _, t := range slices.Concat(p.Trials, p.Idles()) {
		set[t.ID] = true
	}
	return set
}
