package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"tare/internal/bench"
)

// Outcomes returns the outcomes in the order they were written, read from disk
// anew at each call. Where a trial was aborted and run again, both are there.
// A line that does not parse ends the sequence with an error that names file
// and line and quotes the text.
func (r *Run) Outcomes() iter.Seq2[*bench.Outcome, error] {
	path := filepath.Join(r.dir, trialsFile)
	return func(yield func(*bench.Outcome, error) bool) {
		file, err := r.folder.open(trialsFile, os.O_RDONLY)
		if err != nil {
			yield(nil, fmt.Errorf("read outcomes: %w", err))
			return
		}
		defer file.Close()
		text, err := r.counted(trialsFile, file)
		if err != nil {
			yield(nil, fmt.Errorf("read outcomes: %w", err))
			return
		}
		err = eachLine(text, path, maxLine, func(n int, line []byte) error {
			o := new(bench.Outcome)
			if err := r.parseOutcome(line, o); err != nil {
				return lineError(path, n, line, err,
					"remove the line and the trial counts as not run: tare resume measures it again")
			}
			if !yield(o, nil) {
				return errStop
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(nil, fmt.Errorf("read outcomes: %w", err))
		}
	}
}

var errStop = errors.New("stop")

func (r *Run) parseOutcome(line []byte, o *bench.Outcome) error {
	if err := countJSON(line); err != nil {
		return err
	}
	if err := json.Unmarshal(line, o); err != nil {
		return err
	}
	if err := r.upgrade.outcome(line, o); err != nil {
		return err
	}
	switch o.Status {
	case bench.DidNotFinish:
		if o.Watch != nil && o.Watch.Overdue { // as it was written before there was a status for it
			o.Status = bench.Overdue
		}
	case bench.Done, bench.Failed, bench.Overdue, bench.Aborted:
	default:
		return fmt.Errorf("unknown status %q", o.Status)
	}
	return r.boundOutcome(o)
}

// Samples calls f with each sample of the trial in the order written. The
// sample and its Values are used again for the next one: f must copy what it
// keeps. An error of f ends the reading and is returned as it is.
func (r *Run) Samples(trial string, f func(*bench.Sample) error) error {
	check, err := r.boundSamples(trial)
	if err != nil {
		return fmt.Errorf("read samples: %w", err)
	}
	path := filepath.Join(r.dir, samplesDir, samplesName(trial))
	file, err := r.openSamples(trial)
	if err != nil {
		return fmt.Errorf("read samples: %w", err)
	}
	defer file.Close()
	text, err := r.counted(samplesDir+"/"+samplesName(trial), file)
	if err != nil {
		return fmt.Errorf("read samples: %w", err)
	}
	h := &heads{decoder: newDecoder(), check: check}
	var s bench.Sample
	var stop error
	err = eachLine(text, path, maxSample, func(n int, line []byte) error {
		if err := h.read(line, &s); err != nil {
			return lineError(path, n, line, err,
				"remove the trial's line from trials.jsonl and tare resume measures it again")
		}
		stop = f(&s)
		return stop
	})
	if err == nil || stop != nil {
		return stop
	}
	return fmt.Errorf("read samples: %w", err)
}

func (r *Run) openSamples(trial string) (*os.File, error) {
	d, err := r.folder.in(samplesDir)
	if err != nil {
		return nil, err
	}
	defer d.close()
	return d.open(samplesName(trial), os.O_RDONLY)
}

// eachLine calls f with every line that ends in a newline, numbered from 1. A
// last line without one is not yet, or never was, finished, and is left out.
// One of more than most bytes is an error, found before it is read to its end.
func eachLine(file io.Reader, path string, most int, f func(n int, line []byte) error) error {
	in := bufio.NewReaderSize(file, 256<<10)
	var long []byte // a line larger than the buffer
	for n := 1; ; {
		part, err := in.ReadSlice('\n')
		if len(long)+len(part) > most+1 {
			return fmt.Errorf("%s:%d: a line of more than %v: %w%w", path, n, bench.Bytes(most), bench.ErrInvalid, damaged)
		}
		switch {
		case err == io.EOF:
			return nil
		case err == bufio.ErrBufferFull:
			long = append(long, part...)
			continue
		case err != nil:
			return err
		}
		line := part
		if len(long) > 0 {
			long = append(long, part...)
			line = long
		}
		if err := f(n, line[:len(line)-1]); err != nil {
			return err
		}
		long = long[:0]
		n++
	}
}

// lineError says which line of a file does not parse, and quotes it.
func lineError(path string, n int, line []byte, err error, hint bench.Hint) error {
	var syntax *json.SyntaxError
	at := 0
	if errors.As(err, &syntax) {
		at = int(syntax.Offset)
	}
	return fmt.Errorf("%s:%d: %w, in %q: %w%w", path, n, err, excerpt(line, at), bench.ErrInvalid, hint)
}

// parseError says where in a file JSON does not parse, and quotes the line.
func parseError(path string, text []byte, err error) error {
	offset := 0
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	if errors.As(err, &syntax) {
		offset = int(syntax.Offset)
	} else if errors.As(err, &kind) {
		offset = int(kind.Offset)
	}
	offset = min(offset, len(text))
	before := text[:offset]
	n := 1 + bytes.Count(before, []byte("\n"))
	start := bytes.LastIndexByte(before, '\n') + 1
	line := text[start:]
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	return fmt.Errorf("%s:%d: %w, in %q: %w%w", path, n, err, excerpt(line, offset-start), bench.ErrInvalid,
		bench.Hint("the file was damaged after tare wrote it: restore it from a copy"))
}

// excerpt is at most 80 bytes of line around the offset.
func excerpt(line []byte, at int) string {
	const width = 80
	if len(line) <= width {
		return string(line)
	}
	start := max(0, min(at-width/2, len(line)-width))
	text := string(line[start : start+width])
	if start > 0 {
		text = "..." + text
	}
	if start+width < len(line) {
		text += "..."
	}
	return text
}
