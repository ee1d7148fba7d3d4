package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"tare/internal/bench"
	"tare/internal/ledger"
	"tare/internal/store"
)

func (a *app) resumeCommand() *cobra.Command {
	var m manner
	c := &cobra.Command{
		Use:   "resume DIR",
		Short: "Go on with a run that was stopped",
		Long: `Runs the trials of a run that have no outcome yet, in the planned order, and
reports. Finished trials, failed ones among them, are kept as they are. A
stopping rule decides as if the run had not been stopped. A part of the
self-test ends as it would have: with its finding, kept in the certificate.`,
		Example: "  tare resume results/20260102-030405-abcd",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := m.check(); err != nil {
				return err
			}
			return a.resume(c.Context(), args[0], m)
		},
	}
	m.flags(c)
	return c
}

// resume runs what of the run in the folder has no outcome.
func (a *app) resume(ctx context.Context, dir string, m manner) error {
	if err := needRoot("resume"); err != nil {
		return err
	}
	if m.end == nil {
		args, err := a.selftestAgain(dir, m)
		if err != nil {
			return err
		}
		if args != nil {
			again := (&app{stdout: a.stdout, stderr: a.stderr}).command()
			again.SetArgs(args)
			return again.ExecuteContext(ctx)
		}
	}
	r, finished, err := store.OpenForResume(dir)
	if err != nil {
		return err
	}
	defer r.Close()
	h := r.Header()
	open, err := left(r, finished)
	if err != nil {
		return err
	}
	if open == 0 {
		fmt.Fprintln(a.stderr, "every trial that is needed has an outcome already")
		return a.finish(r, m)
	}
	if m.power, err = reopenPower(ctx, h.Power); err != nil {
		return err
	}
	defer m.power.close()
	if err := a.checkCertificate(m); err != nil {
		return err
	}
	release, err := a.claim(ctx, h.Run, m.wait)
	if err != nil {
		return err
	}
	defer release()
	led, err := ledger.Open(a.state, h.Run)
	if err != nil {
		return err
	}
	img, err := a.images(led).Build(ctx)
	if err != nil {
		return err
	}
	defer img.Close()
	if img.Digest() != h.Image {
		return fmt.Errorf("the run used image %s, this program has %s: %w%w", h.Image, img.Digest(), bench.ErrInvalid,
			bench.Hint("trials on different images must not be mixed; start a new run"))
	}
	found := a.checkAll(ctx, runCheckDeadline)
	for _, p := range found {
		if was, ok := h.Platforms[p.Name()]; ok && p.err == nil && was.Version != p.Version {
			return fmt.Errorf("the run used %s %s, this host has %s now: %w%w", p.Name(), was.Version, p.Version, bench.ErrInvalid,
				bench.Hint("trials of different versions must not be mixed; start a new run"))
		}
	}
	atMost := ""
	if r.Plan().Until != nil {
		atMost = "at most "
	}
	n := finishedTrials(r.Plan(), finished)
	fmt.Fprintf(a.stderr, "run %s: %d of %s%d trials are finished\n", h.Run, n, atMost, n+open)
	return a.carryOut(ctx, r, found, img, led, finished, m)
}
