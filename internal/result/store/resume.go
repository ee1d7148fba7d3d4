package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"tare/internal/bench"
)

// OpenForResume opens a run for going on with it: locks it, saves a torn last
// line of trials.jsonl to trials.jsonl.torn and cuts it off, and removes the
// samples and output of trials that did not finish. It returns the set of
// trials that have a final outcome (done or failed) and are not to be repeated
// for other work that disturbed them; the others are to be run.
func OpenForResume(dir string) (_ *Run, finished map[string]bool, err error) {
	r := &Run{dir: dir, done: map[string]bool{}}
	defer func() {
		if err != nil {
			err = fmt.Errorf("resume: %w", diskError(errors.Join(err, r.Close())))
		}
	}()
	if r.folder, err = openFolder(dir); err != nil {
		return nil, nil, r.noRun(err)
	}
	if r.lock, err = r.folder.lock(bench.Hint("it is still measured: wait until it has ended, or see what it has so far: tare report "+dir), "copy the folder to another"); err != nil {
		return nil, nil, err
	}
	if err := r.load(); err != nil {
		return nil, nil, err
	}
	if err := r.weigh(); err != nil {
		return nil, nil, err
	}
	r.known = trialSet(&r.plan)
	if r.trials, err = r.folder.open(trialsFile, os.O_RDWR); err != nil {
		return nil, nil, err
	}
	if err := r.mend(); err != nil {
		return nil, nil, err
	}
	finished = map[string]bool{}
	due := map[string]int{} // trials that are to be repeated, and which repeat that is
	for o, err := range r.Outcomes() {
		if err != nil {
			return nil, nil, err
		}
		switch {
		case r.plan.Settled(o):
			finished[o.Trial] = true
			r.done[o.Trial] = true
		case o.Status.Final():
			due[o.Trial] = o.Repeat + 1
		}
	}
	if err := r.sweep(due); err != nil {
		return nil, nil, err
	}
	return r, finished, nil
}

// Extend exchanges the plan of a run that is open for resume. Remember is given the
// digest that the run will have, and returns before the plan is written: whichever of
// both a crash leaves is known.
func (r *Run) Extend(p *bench.Plan, remember func(digest string) error) error {
	fail := func(err error) error { return fmt.Errorf("extend the plan: %w", diskError(err)) }
	if r.header.Format != Format {
		return fail(fmt.Errorf("the run is of format %s: %w%w", r.header.Format, bench.ErrInvalid, bench.Hint("measure anew: tare run --from "+r.dir)))
	}
	if err := checkPlan(p); err != nil {
		return fail(fmt.Errorf("%w: %w", err, bench.ErrInvalid))
	}
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fail(err)
	}
	text = append(text, '\n')
	if _, err := r.Digest(); err != nil { // which reads what the sums lack
		return fail(err)
	}
	before := r.sums[planFile]
	r.sum(planFile, text)
	digest, err := r.Digest()
	if err == nil {
		err = remember(digest)
	}
	if err == nil {
		err = r.folder.replace(planFile, func(w io.Writer) error { _, err := w.Write(text); return err })
	}
	if err != nil {
		r.sums[planFile] = before
		return fail(err)
	}
	r.plan = *p
	r.known = trialSet(&r.plan)
	return r.settle()
}

// tail returns the torn end of trials.jsonl, if there is one, and the length
// of what is before it: text after the last newline, or a last line that is
// not JSON, as a crash of the whole machine can leave one.
func (r *Run) tail() (torn []byte, end int64, err error) {
	f, err := r.folder.open(trialsFile, os.O_RDONLY)
	if err != nil {
		return nil, 0, fmt.Errorf("read run: %w", err)
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, 0, err
	}
	// Read backwards until a newline other than the last byte is in sight.
	const step = 64 << 10
	var text []byte
	start := size
	for start > 0 {
		if len(text) > maxLine {
			return nil, 0, fmt.Errorf("%s: its last line is of more than %v: %w%w", filepath.Join(r.dir, trialsFile), bench.Bytes(maxLine), bench.ErrInvalid, damaged)
		}
		n := min(step, start)
		start -= n
		block := make([]byte, n)
		if _, err := f.ReadAt(block, start); err != nil {
			return nil, 0, err
		}
		text = append(block, text...)
		if bytes.IndexByte(text[:len(text)-1], '\n') >= 0 {
			break
		}
	}
	if len(text) == 0 {
		return nil, 0, nil
	}
	last := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
	if text[len(text)-1] == '\n' && json.Valid(text[last:]) {
		return nil, size, nil
	}
	return text[last:], start + int64(last), nil
}

// mend saves a torn end aside, then cuts it off.
func (r *Run) mend() error {
	torn, end, err := r.tail()
	if err != nil {
		return err
	}
	r.end = end
	if len(torn) == 0 {
		return nil
	}
	f, err := r.folder.open(tornFile, os.O_APPEND|os.O_WRONLY)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = r.folder.create(tornFile)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(append(bytes.TrimSuffix(torn, []byte("\n")), '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close(), r.folder.sync()); err != nil {
		return err
	}
	r.torn = torn
	return errors.Join(r.trials.Truncate(end), r.trials.Sync())
}

// sweep removes the samples and output of trials of the plan that have no final
// outcome, and those of a repeat whose line was not written. Whatever else lies
// beside them is its owner's.
func (r *Run) sweep(due map[string]int) error {
	for trial := range r.known {
		repeat, repeats := due[trial]
		if r.done[trial] || repeats && !r.isAside(trial, repeat) {
			continue
		}
		if err := errors.Join(r.discard(trial), r.putBack(trial, repeat)); err != nil {
			return err
		}
	}
	return nil
}

// isAside says whether the files of the launch before a repeat were set aside.
func (r *Run) isAside(trial string, repeat int) bool {
	samples, err := r.folder.in(samplesDir)
	if err != nil {
		return false
	}
	defer samples.close()
	_, err = samples.root.Lstat(samplesName(aside(trial, repeat)))
	return err == nil
}
