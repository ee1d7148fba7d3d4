package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"

	"tare/internal/bench"
	"tare/internal/host/clock"
)

// How the server of a machine without an agent is waited for.
const (
	// solicitEvery is how often the test network asks, in milliseconds, which machine has the address,
	// while it waits: the kernel's own second would be the error of a start-up's time.
	solicitEvery = "10"
	// acceptTry bounds one attempt to connect, acceptPause is between two.
	acceptTry   = 250 * time.Millisecond
	acceptPause = 2 * time.Millisecond
)

// serves waits until the server of a machine without an agent accepts a connection. From then on the
// trial ends if the machine does.
func (l *launcher) serves(ctx context.Context, a *actor) error {
	addr := a.instance.Addr()
	if l.network == nil || !addr.IsValid() {
		return fmt.Errorf("a machine without an agent can only be asked over a network, and it has none: %w", bench.ErrUnavailable)
	}
	ended := make(chan error, 1)
	go func() { // ends with the machine
		_, err := io.Copy(io.Discard, a.instance.Stream())
		ended <- err
	}()
	at, err := l.accepted(ctx, netip.AddrPortFrom(addr, uint16(l.kernel.Port)), ended)
	if err != nil {
		return a.withLastWords(err)
	}
	if err := l.up(a, at, "its server accepted"); err != nil {
		return err
	}
	began := time.Now()
	alive, forget := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		select {
		case err := <-ended:
			how := fmt.Errorf("the machine of %s ended %.1f s after it was up%s", a.Name, time.Since(began).Seconds(), because(err))
			l.beside.halt(&serviceEnded{&ownEnd{a.withLastWords(how)}})
		case <-alive.Done():
		}
	}()
	a.forget = func() { // it may be reading the log, which the close of the instance takes away
		forget()
		<-over
	}
	return nil
}

// accepted returns when a connection from the test network was accepted first.
func (l *launcher) accepted(ctx context.Context, target netip.AddrPort, ended <-chan error) (at int64, err error) {
	defer l.solicit()()
	d := net.Dialer{Timeout: acceptTry}
	for {
		var conn net.Conn
		refused := l.network.Do(func() (err error) {
			conn, err = d.DialContext(ctx, "tcp", target.String())
			return err
		})
		if refused == nil {
			return clock.Now(), conn.Close()
		}
		if !errors.Is(err, syscall.ECONNREFUSED) { // the deadline may cut off a later attempt, and once it answered
			err = refused
		}
		select {
		case how := <-ended:
			return 0, fmt.Errorf("the machine ended before its server accepted on %s%s%w", target, because(how), endedEarly)
		case <-ctx.Done():
			return 0, unready(ctx, target, err)
		case <-time.After(acceptPause):
		}
	}
}

// solicit has the test network ask often for hardware addresses until the returned function is called.
// Where that cannot be had a start-up's time is known less well.
func (l *launcher) solicit() (restore func()) {
	file := "/proc/sys/net/ipv4/neigh/" + l.network.Bridge() + "/retrans_time_ms" // of the thread's network namespace
	write := func(value string) (before string) {
		_ = l.network.Do(func() error {
			before = word(file)
			return os.WriteFile(file, []byte(value), 0)
		})
		return before
	}
	before := write(solicitEvery)
	if before == "" {
		l.account.warn("when a machine without an agent was up is known to a second only: %s cannot be written", file)
		return func() {}
	}
	return func() { write(before) }
}

// because says in what way a machine ended, as the end of a sentence.
func because(err error) string {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) {
		return ""
	}
	return ": " + err.Error()
}

// endedEarly is advice on a machine that ended before it was up.
const endedEarly = bench.Hint("see its last words: the monitor may not start such a kernel, or the kernel lacks a driver, its initial RAM file system (image.initrd) or memory (shape.memory)")

// unready is the error of a server that was not up in time, with advice by what the last attempt met.
func unready(ctx context.Context, target netip.AddrPort, err error) error {
	how := fmt.Errorf("its server does not accept on %s: %w", target, context.Cause(ctx))
	switch {
	case errors.Is(context.Cause(ctx), context.Canceled) || err == nil:
		return how
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%w: %w%w", how, err, bench.Hint(fmt.Sprintf("the machine answers, and nothing listens on port %d: "+
			"image.port must be its server's, which listens on all addresses; if it was only slow, raise timing.deadline", target.Port())))
	}
	return fmt.Errorf("%w: %w%w", how, err, bench.Hint(fmt.Sprintf("nothing answers at %s: image.append must give the guest that address, "+
		"such as ip={address}::{gateway}:{netmask}::eth0:off for Linux, and it needs a driver for virtio-net; if it was only slow, raise timing.deadline", target.Addr())))
}

// mostWords bounds the last words in an error, in bytes.
const mostWords = 600

// withLastWords adds the end of what the machine and its monitor printed.
func (a *actor) withLastWords(err error) error {
	words := strings.TrimSpace(a.log())
	if words == "" {
		return fmt.Errorf("%w\nit printed nothing: a kernel needs to be told its console, such as console=ttyS0 for Linux (image.append)", err)
	}
	return fmt.Errorf("%w\nits last words: %q", err, words[max(0, len(words)-mostWords):])
}
