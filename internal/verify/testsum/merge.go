package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"sync"
)

// merge reads the files at the same time, a line of one, a line of another as they
// come: what go test commands that run side by side write to named pipes. An error
// of a file is the reader's.
func merge(paths []string) io.Reader {
	r, w := io.Pipe()
	var whole sync.Mutex // a line is written as one
	var files sync.WaitGroup
	for _, path := range paths {
		files.Go(func() {
			if err := lines(path, func(line []byte) error {
				whole.Lock()
				defer whole.Unlock()
				_, err := w.Write(line)
				return err
			}); err != nil {
				w.CloseWithError(fmt.Errorf("read %s: %w", path, err))
			}
		})
	}
	go func() {
		files.Wait()
		w.Close()
	}()
	return r
}

// lines gives each line of the file to do, with a line end.
func lines(path string, do func([]byte) error) error {
	f, err := os.Open(path) // waits for the writer of a named pipe
	if err != nil {
		return err
	}
	defer f.Close()
	for in := bufio.NewReader(f); ; {
		line, err := in.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return nil
		}
		if err == io.EOF {
			line = append(line, '\n')
		} else if err != nil {
			return err
		}
		if err := do(line); err != nil {
			return err
		}
	}
}
