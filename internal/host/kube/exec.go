package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/klog/v2"
)

// Exec is a program that was started in a pod. It is a byte stream to its standard input and from its
// standard output, which ends with the program or the connection.
type Exec struct {
	in     *io.PipeWriter
	out    *io.PipeReader
	cancel context.CancelFunc
	done   chan struct{}

	mu   sync.Mutex
	said []byte // the end of its standard error
}

// Exec starts the program in the container. It returns at once; whether it could be started shows at
// the first read.
func (c *Cluster) Exec(p *corev1.Pod, container string, argv ...string) (*Exec, error) {
	request := c.core.Post().Namespace(p.Namespace).Resource("pods").Name(p.Name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: container, Command: argv, Stdin: true, Stdout: true, Stderr: true}, c.words)
	with, err := remotecommand.NewWebSocketExecutor(c.config, "GET", request.URL().String())
	if err != nil {
		return nil, fmt.Errorf("exec in pod %s: %w", p.Name, err)
	}
	// What it would log tells that a connection was closed, which is known here, or is the error.
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), klog.Logger{}))
	theirIn, in := io.Pipe()
	out, theirOut := io.Pipe()
	e := &Exec{in: in, out: out, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(e.done)
		err := with.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: theirIn, Stdout: theirOut, Stderr: e.stderr()})
		if err != nil {
			err = fmt.Errorf("exec in pod %s: %w", p.Name, err)
		}
		if err == nil || ctx.Err() != nil {
			err = io.EOF
		}
		theirOut.CloseWithError(err)
		theirIn.CloseWithError(err)
	}()
	return e, nil
}

// Read implements [io.Reader].
func (e *Exec) Read(p []byte) (int, error) { return e.out.Read(p) }

// Write implements [io.Writer].
func (e *Exec) Write(p []byte) (int, error) { return e.in.Write(p) }

// Close ends the connection, with which the program's standard input ends.
func (e *Exec) Close() error {
	e.cancel()
	err := errors.Join(e.in.Close(), e.out.Close())
	<-e.done
	return err
}

// keptWords is how much of what the program says is kept, in bytes.
const keptWords = 4 << 10

// Said is the end of what the program said on its standard error.
func (e *Exec) Said() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return string(e.said)
}

func (e *Exec) stderr() io.Writer {
	return writer(func(p []byte) (int, error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.said = append(e.said, p...)
		e.said = e.said[max(0, len(e.said)-keptWords):]
		return len(p), nil
	})
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }
