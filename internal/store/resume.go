package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// OpenForResume opens a run for going on with it: locks it, saves a torn last
// line of trials.jsonl to trials.jsonl.torn and cuts it off, and removes the
// samples and output of trials that did not finish. It returns the set of
// trials that have a final outcome (done or failed); the others are to be run.
func OpenForResume(dir string) (_ *Run, finished map[string]bool, err error) {
	r := &Run{dir: dir, done: map[string]bool{}}
	defer func() {
		if err != nil {
			err = fmt.Errorf("resume: %w", diskError(errors.Join(err, r.Close())))
		}
	}()
	if r.lock, err = lock(dir); err != nil {
		return nil, nil, err
	}
	if err := r.load(); err != nil {
		return nil, nil, err
	}
	r.known = trialSet(&r.plan)
	r.trials, err = os.OpenFile(filepath.Join(dir, trialsFile), os.O_RDWR, 0o644)
	if err != nil {
		return nil, nil, err
	}
	if err := r.mend(); err != nil {
		return nil, nil, err
	}
	finished = map[string]bool{}
	for o, err := range r.Outcomes() {
		if err != nil {
			return nil, nil, err
		}
		if final(o.Status) {
			finished[o.Trial] = true
			r.done[o.Trial] = true
		}
	}
	if err := r.sweep(); err != nil {
		return nil, nil, err
	}
	return r, finished, nil
}

// tail returns the torn end of trials.jsonl, if there is one, and the length
// of what is before it: text after the last newline, or a last line that is
// not JSON, as a crash of the whole machine can leave one.
func (r *Run) tail() (torn []byte, end int64, err error) {
	f, err := os.Open(filepath.Join(r.dir, trialsFile))
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
	path := filepath.Join(r.dir, tornFile)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(bytes.TrimSuffix(torn, []byte("\n")), '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close(), syncDir(r.dir)); err != nil {
		return err
	}
	r.torn = torn
	return errors.Join(r.trials.Truncate(end), r.trials.Sync())
}

// sweep removes the samples and output of trials without a final outcome.
func (r *Run) sweep() error {
	for _, d := range []string{samplesDir, outputDir} {
		entries, err := os.ReadDir(filepath.Join(r.dir, d))
		if err != nil {
			return err
		}
		for _, e := range entries {
			if r.done[strings.TrimSuffix(e.Name(), ".jsonl")] {
				continue
			}
			if err := os.RemoveAll(filepath.Join(r.dir, d, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
