package launch

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// Watched is the stream of an instance beside the files that its kernel and its
// runtime print to. Where a line there says that nothing inside goes on (see
// [Fatal]), the stream is closed at once, and reading fails with that line. It fails
// with it, too, where the stream ends by itself.
type Watched struct {
	io.ReadWriteCloser
	files []*printedFile
	from  []*Log // what is kept in the files comes from

	stop   chan struct{}
	close  sync.Once
	closed error
}

// Of says that what is in the files comes from the words: all that was printed is looked at when the stream ends.
func (w *Watched) Of(words ...*Log) *Watched {
	w.from = words
	return w
}

// looksApart is the least time between two looks at what was printed: a guest may print without end.
const looksApart = 20 * time.Millisecond

// Watch begins to watch. It costs nothing while nothing is printed. A file that is
// not there yet is looked at when the stream ends.
func Watch(stream io.ReadWriteCloser, files ...string) *Watched {
	w := &Watched{ReadWriteCloser: stream, stop: make(chan struct{})}
	for _, path := range files {
		w.files = append(w.files, &printedFile{path: path})
	}
	written := make(chan struct{}, 1)
	if unwatch, err := modified.watch(files, written); err == nil {
		go w.follow(written, unwatch)
	} // otherwise the kernel has no watch to spare, and the end of the stream has to do
	return w
}

// follow looks at the files whenever something was written.
func (w *Watched) follow(written <-chan struct{}, unwatch func()) {
	defer unwatch()
	for {
		if w.look(false) != nil {
			w.Close()
			return
		}
		select {
		case <-w.stop:
			return
		case <-time.After(looksApart):
		}
		select {
		case <-w.stop:
			return
		case <-written:
		}
	}
}

// look returns the last words in the files, nil for none so far. At the end a line
// may lack its own.
func (w *Watched) look(end bool) *Fatal {
	for _, f := range w.files {
		if found := f.look(end); found != nil {
			return found
		}
	}
	return nil
}

// Read implements [io.Reader].
func (w *Watched) Read(p []byte) (int, error) {
	n, err := w.ReadWriteCloser.Read(p)
	if err == nil {
		return n, nil
	}
	for _, words := range w.from {
		words.Sync()
	}
	if found := w.look(true); found != nil {
		return n, found
	}
	return n, err
}

// Close ends the watch and closes the stream, once.
func (w *Watched) Close() error {
	w.close.Do(func() {
		close(w.stop)
		w.closed = w.ReadWriteCloser.Close()
	})
	return w.closed
}

// printedFile is a file that is read on as it grows.
type printedFile struct {
	path string
	mu   sync.Mutex
	at   int64
	when time.Time // it was last written to, when it was read
	Recogniser
}

// mostPrinted is how much is read at a look, in bytes. Of what came faster the
// beginning is passed over: a panic and its trace are the last that is printed.
const mostPrinted = 64 << 10

// look reads what is new, and returns the last words in the file.
func (f *printedFile) look(end bool) *Fatal {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.found == nil || f.wants {
		f.read()
	}
	if end {
		return f.Recogniser.end()
	}
	return f.Found()
}

// read reads what is new. A file that cannot be read has nothing new.
func (f *printedFile) read() {
	file, err := os.Open(f.path)
	if err != nil {
		return
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	switch changed := !info.ModTime().Equal(f.when); {
	case info.Size() < f.at: // it was emptied
		f.at = 0
	case info.Size() > headKept+tailKept && changed: // the end was put in place of another, see [Kept]
		f.at, f.part = 0, nil
	}
	f.when = info.ModTime()
	f.at = max(f.at, info.Size()-mostPrinted)
	n, err := io.Copy(&f.Recogniser, io.NewSectionReader(file, f.at, mostPrinted))
	if err == nil || errors.Is(err, io.EOF) {
		f.at += n
	}
}
