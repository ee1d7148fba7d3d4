package agent

import (
	"errors"
	"runtime"

	"golang.org/x/sys/unix"
)

// forker starts processes from one thread with nice value 0. The host may lower the nice value of
// the agent's other threads so that it reads its counters in time. A process inherits the nice
// value of the thread that forks it.
type forker struct {
	jobs    chan func()
	stopped chan struct{}
}

func newForker() *forker {
	f := &forker{jobs: make(chan func()), stopped: make(chan struct{})}
	go f.loop()
	return f
}

// loop never unlocks its thread, so the thread ends with it.
func (f *forker) loop() {
	runtime.LockOSThread()
	for {
		select {
		case job := <-f.jobs:
			// It fails if the agent itself was launched with a higher value. That value then stays.
			_ = unix.Setpriority(unix.PRIO_PROCESS, 0, 0)
			job()
		case <-f.stopped:
			return
		}
	}
}

// fork runs start on the thread.
func (f *forker) fork(start func() (pid int, err error)) (pid int, err error) {
	done := make(chan struct{})
	job := func() {
		defer close(done)
		pid, err = start()
	}
	select {
	case f.jobs <- job:
		<-done
		return pid, err
	case <-f.stopped:
		return 0, errors.New("the agent is ending")
	}
}

func (f *forker) stop() { close(f.stopped) }
