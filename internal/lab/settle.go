package lab

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"tare/internal/bench"
	"tare/internal/tool"
)

// devices are the lab's own, as iptables matches them; "+" stands for any ending.
var devices = []string{bridgeName, wire + "+"}

// Settle lets packets be routed between the bridge and the wires, whatever the
// policy of the lab's FORWARD chain. Call it after a daemon that sets the policy
// to DROP, such as dockerd, has started: the rules go to the head of the chain,
// where that daemon's own rules, put before or after, do not touch packets of
// the lab's devices. It may be called again. It uses the iptables in PATH,
// which is the one dockerd uses.
func (l *Lab) Settle(ctx context.Context) error {
	if _, err := exec.LookPath("iptables"); err != nil {
		return fmt.Errorf("settle lab: %w: %w%w", bench.ErrUnavailable, err, bench.Hint("install the package iptables"))
	}
	for _, dev := range devices {
		for _, way := range []string{"-i", "-o"} {
			rule := []string{way, dev, "-j", "ACCEPT"}
			present := l.iptables(ctx, append([]string{"-C", "FORWARD"}, rule...))
			if present == nil {
				continue
			}
			if err := l.iptables(ctx, append([]string{"-I", "FORWARD"}, rule...)); err != nil {
				return fmt.Errorf("settle lab: %w", errors.Join(err, ctx.Err()))
			}
		}
	}
	return nil
}

// iptables runs the program in the lab's namespace.
func (l *Lab) iptables(ctx context.Context, args []string) error {
	return l.Do(func() error {
		cmd := exec.Command("iptables", append([]string{"--wait"}, args...)...)
		if err := tool.Run(ctx, tool.Deadline, cmd); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
		}
		return nil
	})
}
