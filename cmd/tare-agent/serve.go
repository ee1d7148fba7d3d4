package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/guest/agent"
)

// portWait is how long serve waits for its character device to appear.
const portWait = 60 * time.Second

// serve runs the agent until its client leaves or the process is asked to end.
func serve(ctx context.Context, began int64, args []string) error {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	port := flags.String("port", "", "")
	ownKernel := flags.Bool("own-kernel", false, "")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("serve: %v: %w", err, errUsage)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("serve: unexpected %q: %w", flags.Arg(0), errUsage)
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	// A client that is gone must be an error of the write, not the end of the
	// agent; ignoring the signal would pass on to the commands.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

	in, out := os.Stdin, os.Stdout
	if *port != "" {
		f, err := openPort(ctx, *port)
		if err != nil {
			return err
		}
		defer f.Close()
		in, out = f, f
	}
	for _, f := range []*os.File{in, out} {
		restore, err := agent.MakeRaw(f)
		if err != nil {
			return err
		}
		defer restore()
	}
	return agent.Serve(ctx, in, out, agent.Options{OwnKernel: *ownKernel, Dedicated: true, Began: began})
}

// openPort opens a character device once it exists. Reads and writes block.
func openPort(ctx context.Context, path string) (*os.File, error) {
	ctx, cancel := context.WithTimeout(ctx, portWait)
	defer cancel()
	for {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
		if err == unix.ENXIO {
			fd, err = connect(path)
		}
		if err == nil {
			return os.NewFile(uintptr(fd), path), nil
		}
		if err != unix.ENOENT && err != unix.ENXIO && err != unix.ENODEV {
			return nil, fmt.Errorf("open port %s: %w", path, err)
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			return nil, fmt.Errorf("open port %s: %w%w", path, err, bench.Hint("the virtual machine needs a device of that name"))
		}
	}
}

// connect connects to the socket at path; ENXIO if it is none.
func connect(path string) (fd int, err error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return -1, unix.ENXIO
	}
	fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}
