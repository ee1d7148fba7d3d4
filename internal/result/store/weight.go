package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"tare/internal/bench"
)

// maxFolder is how many bytes trials.jsonl and the samples of a run have together,
// each of which may be within its own bounds: all of them are read for a report.
var maxFolder int64 = 4 << 30 // a variable for tests

// A weight is how much a folder's files hold, each at its largest.
type weight struct {
	mu    sync.Mutex
	sizes map[string]int64 // by name below the folder
	total int64
}

// add counts a file in, and is an error if that is more than the folder may hold.
func (w *weight) add(name string, size int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if more := size - w.sizes[name]; more > 0 {
		if w.total+more > maxFolder {
			return fmt.Errorf("more than %v in %s and %s together: %w%w", bench.Bytes(maxFolder), trialsFile, samplesDir, bench.ErrInvalid,
				bench.Hint("see which are large: ls -lS "+samplesDir+"; an experiment that needs more is measured in several runs of fewer scenes or blocks"))
		}
		if w.sizes == nil {
			w.sizes = map[string]int64{}
		}
		w.sizes[name] = size
		w.total += more
	}
	return nil
}

// weigh counts in all that is read for a report, so that a folder of too much is
// refused before any of it is read.
func (r *Run) weigh() error {
	trials, err := r.folder.open(trialsFile, os.O_RDONLY)
	if err != nil {
		return fmt.Errorf("read run: %w", err)
	}
	_, err = r.counted(trialsFile, trials)
	if err := errors.Join(err, trials.Close()); err != nil {
		return err
	}
	samples, err := r.folder.in(samplesDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // whoever reads samples is told
	}
	if err != nil {
		return fmt.Errorf("read run: %w", err)
	}
	defer samples.close()
	for id := range r.planned {
		info, err := samples.root.Lstat(samplesName(id))
		if err != nil || !info.Mode().IsRegular() {
			continue // it is refused where it is opened
		}
		if err := r.weight.add(samplesDir+"/"+samplesName(id), info.Size()); err != nil {
			return fmt.Errorf("%s: %w", r.dir, err)
		}
	}
	return nil
}

// counted counts a file in that is about to be read, as large as it is now, and
// returns so much of it: the folder may change while it is read.
func (r *Run) counted(name string, file *os.File) (io.Reader, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if err := r.weight.add(name, info.Size()); err != nil {
		return nil, fmt.Errorf("%s: %w", r.dir, err)
	}
	return io.LimitReader(file, info.Size()), nil
}
