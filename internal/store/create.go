package store

import (
	"encoding/json"
	"errors"
	"fmt"
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
	if err := checkPlan(plan); err != nil {
		return nil, fmt.Errorf("create run: %w", err)
	}
	h.Format = Format
	_, statErr := os.Stat(dir)
	existed := statErr == nil
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("create run: %w", diskError(err))
	}
	r := &Run{dir: dir, header: h, plan: *plan, host: *facts, known: trialSet(plan), done: map[string]bool{}}
	if r.lock, err = lock(dir); err != nil {
		return nil, fmt.Errorf("create run: %w", err)
	}
	if err := checkEmpty(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("create run: %w", err), r.Close())
	}
	if err := r.fill(spec); err != nil {
		r.Close()
		unmake(dir, !existed)
		return nil, fmt.Errorf("create run: %w", diskError(err))
	}
	return r, nil
}

// fill writes every file of a new folder, run.json last.
func (r *Run) fill(spec []byte) error {
	for _, d := range []string{samplesDir, outputDir} {
		if err := os.Mkdir(filepath.Join(r.dir, d), 0o755); err != nil {
			return err
		}
	}
	if err := writeFile(filepath.Join(r.dir, specFile), spec); err != nil {
		return err
	}
	if err := r.writeJSON(planFile, r.plan); err != nil {
		return err
	}
	if err := r.writeJSON(hostFile, r.host); err != nil {
		return err
	}
	var err error
	r.trials, err = os.OpenFile(filepath.Join(r.dir, trialsFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if err := r.writeJSON(headerFile, r.header); err != nil {
		return err
	}
	if err := syncDir(r.dir); err != nil {
		return err
	}
	return syncDir(filepath.Dir(filepath.Clean(r.dir)))
}

func (r *Run) writeJSON(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	return writeFile(filepath.Join(r.dir, name), append(text, '\n'))
}

// lock takes the folder's lock without waiting; closing the file releases it.
func lock(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: %w%w", dir, ErrBusy, bench.Hint("wait for it to end, or give another folder with -o"))
		}
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return f, nil
}

func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return nil
	}
	hint := bench.Hint("give a folder that is empty or does not exist")
	if _, err := os.Stat(filepath.Join(dir, headerFile)); err == nil {
		hint = "it holds a run: go on with it by tare resume, or give another folder"
	}
	return fmt.Errorf("%s is not empty: it has %q in it: %w%w", dir, entries[0].Name(), bench.ErrInvalid, hint)
}

// unmake removes what fill wrote, and the folder itself if it was made here.
func unmake(dir string, folder bool) {
	for _, name := range []string{headerFile, specFile, planFile, hostFile, trialsFile, samplesDir, outputDir} {
		os.RemoveAll(filepath.Join(dir, name))
	}
	if folder {
		os.Remove(dir)
	}
}

func checkPlan(p *bench.Plan) error {
	for _, t := range p.Trials {
		if err := checkName(t.ID); err != nil {
			return err
		}
		if p.Scene(t.Scene) == nil {
			return fmt.Errorf("trial %s: no scene %q in the plan", t.ID, t.Scene)
		}
	}
	if n := len(trialSet(p)) - len(p.Rests()); n != len(p.Trials) {
		return fmt.Errorf("plan: %d trials share the id of another", len(p.Trials)-n)
	}
	return nil
}

func trialSet(p *bench.Plan) map[string]bool {
	set := make(map[string]bool, len(p.Trials))
	for _, t := range slices.Concat(p.Trials, p.Rests()) {
		set[t.ID] = true
	}
	return set
}
