package session

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"time"

	"tare/internal/bench"
	"tare/internal/guest/agent"
	"tare/internal/guest/spawn"
	"tare/internal/host/ssh"
	"tare/internal/run"
)

// openHosts connects the further hosts of the plan, and learns how fast the wire to each is.
func (a *attempt) openHosts(ctx context.Context, s *Session) error {
	for _, to := range a.run.Plan().Hosts {
		if err := s.testnet.Attach(ctx, to.Reach); err != nil {
			return fmt.Errorf("host %s: %w", to.Name, err)
		}
		h, err := ssh.Connect(ctx, to, s.agent, filepath.Dir(s.testnet.NetNS()), s.Ledger)
		if err != nil {
			return err
		}
		s.hosts[to.Name] = run.FurtherHost{Engine: h, Kernel: h.Kernel, CPUs: h.CPUs, Reach: to.Reach.Addr()}
		rate, err := wireSpeed(ctx, s, h)
		if err != nil {
			return fmt.Errorf("host %s does not reach the subjects at %v: %w%w", to.Name, to.Reach.Addr(), err,
				bench.Hint("it must be on the network "+to.Reach.Masked().String()+"; some switches, clouds and wireless networks carry no frames of a second hardware address (macvlan)"))
		}
		h.Facts = map[string]string{bench.FactWire: strconv.FormatFloat(rate, 'f', 0, 64)}
		a.say("connected host %s: Linux %s, %d CPUs; a connection to it carries %.0f Mbit/s", to.Name, h.Kernel, h.CPUs, rate/1e6)
	}
	return nil
}

// How long the wire is measured, and what it may take as a whole.
const (
	wireTime  = 500 * time.Millisecond
	wireLimit = 20 * time.Second
)

// wireSpeed is how fast one TCP connection carries data from the subjects' network to the host, in bits per second.
func wireSpeed(ctx context.Context, s *Session, h *ssh.Host) (float64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, wireLimit, fmt.Errorf("not done after %v", wireLimit))
	defer cancel()
	i, err := h.Start(ctx, bench.Launch{ID: s.ID + "-wire", Shape: bench.Shape{CPUs: 1}})
	if err != nil {
		return 0, err
	}
	defer i.Close(ctx)
	c, err := agent.Dial(ctx, i.Stream())
	if err != nil {
		return 0, err
	}
	defer c.Close()
	var ln *net.TCPListener
	err = s.testnet.Do(func() (err error) {
		ln, err = net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(netip.AddrPortFrom(h.Reach.Addr(), 0)))
		return err
	})
	if err != nil {
		return 0, err
	}
	defer ln.Close()
	go pour(ln) // ends with the listener, or with the connection
	out, err := c.Exec(ctx, bench.Command{Argv: []string{spawn.AgentPath, "wire", ln.Addr().String()}, Timeout: wireLimit})
	if err != nil {
		return 0, err
	}
	var bytes, ns float64
	if _, err := fmt.Sscan(string(out.Stdout), &bytes, &ns); err != nil || out.Exit != 0 || !(bytes > 0 && ns > 0) {
		return 0, fmt.Errorf("exit status %d: %.200q", out.Exit, append(out.Stdout, out.Stderr...))
	}
	return 8 * bytes / (ns / 1e9), nil
}

// pour writes to the one that calls, for a while.
func pour(ln *net.TCPListener) {
	conn, err := ln.Accept()
	if err != nil {
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(wireTime))
	_, _ = io.Copy(conn, zeros{}) // until then
}

// zeros is a source of them.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
