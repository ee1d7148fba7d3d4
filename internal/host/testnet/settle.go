package testnet

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"tare/internal/bench"
	"tare/internal/host/tool"
)

// devices are the test network's own, as iptables matches them; "+" stands for any ending.
var devices = []string{bridgeName, wire + "+"}

// Settle lets packets pass between the bridge and the wires under any policy of the test network's
// FORWARD chain. Call it after a daemon that sets the policy to DROP, such as dockerd, has started.
// It puts rules at the head of the chain. The daemon's own rules, before or after them, do not
// match packets of the test network's devices. Settle may be called again. It uses the iptables in
// PATH, which dockerd uses too.
func (l *Network) Settle(ctx context.Context) error {
	if _, err := exec.LookPath("iptables"); err != nil {
		return fmt.Errorf("settle test network: %w: %w%w", bench.ErrUnavailable, err, bench.Hint("install the package iptables"))
	}
	for _, dev := range devices {
		for _, way := range []string{"-i", "-o"} {
			rule := []string{way, dev, "-j", "ACCEPT"}
			present := l.iptables(ctx, append([]string{"-C", "FORWARD"}, rule...))
			if present == nil {
				continue
			}
			if err := l.iptables(ctx, append([]string{"-I", "FORWARD"}, rule...)); err != nil {
				return fmt.Errorf("settle test network: %w", errors.Join(err, ctx.Err()))
			}
		}
	}
	return nil
}

// iptables runs the program in the test network's namespace.
func (l *Network) iptables(ctx context.Context, args []string) error {
	return l.Do(func() error {
		cmd := exec.Command("iptables", append([]string{"--wait"}, args...)...)
		if err := tool.Run(ctx, tool.Deadline, cmd); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
		}
		return nil
	})
}
