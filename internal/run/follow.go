package run

import (
	"errors"
	"os"
	"slices"
	"time"

	"tare/internal/host/opened"
	"tare/internal/run/trace"
)

// drained is how often the kernel's report of processes is read while a launch is followed: what
// waits of it is bounded, and other programs of the host are in it too.
const drained = 50 * time.Millisecond

// following learns which files processes of the run open: what its platforms execute and map, and what
// these read. This process and its program, which helpers of it run too, are left out.
type following struct {
	files  *opened.Watch
	events *trace.Execs
	kin    *trace.Kin
	end    chan struct{}
	forks  chan []trace.Fork
}

// follow begins to follow. Where the kernel does not list files and processes for this one, the
// error wraps [bench.ErrUnavailable].
func follow(run string) (*following, error) {
	files, err := opened.Begin()
	if err != nil {
		return nil, err
	}
	events, err := trace.Listen()
	if err != nil {
		return nil, errors.Join(err, files.Close())
	}
	f := &following{files, events, trace.KinOf(run), make(chan struct{}), make(chan []trace.Fork)}
	go f.drain()
	return f, nil
}

// drain reads which processes were made until the end.
func (f *following) drain() {
	var forks []trace.Fork
	for over := false; !over; {
		select {
		case <-f.end:
			over = true
		case <-time.After(drained):
		}
		if e, err := f.events.Read(); err == nil { // of what is lost, a last look finds who still lives
			forks = append(forks, e.Forks...)
		}
	}
	f.forks <- forks
}

// close ends it and returns the files.
func (f *following) close() (files []string, err error) {
	close(f.end)
	f.kin.Add(<-f.forks)
	f.kin.Look()
	list, err := f.files.Files()
	own, _ := os.Executable() // "" is no path of a file
	for _, o := range list {
		if f.kin.Has(o.PID) && o.PID != os.Getpid() && o.Path != own {
			files = append(files, o.Path)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), errors.Join(err, f.events.Close(), f.files.Close())
}
