package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/bench"
	"tare/internal/host"
	"tare/internal/kept"
	"tare/internal/ledger"
	"tare/internal/stop"
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
self-test ends as it would have: with its finding, kept in the certificate.

Only what began on this host is resumed, as it was settled then: the state
directory remembers it. What a folder from elsewhere says is not obeyed; tare run
--from DIR measures its experiment anew. Trials of another machine, processor,
kernel or version of Tare are not mixed, unless --allow-mixed says so; then each
of them, and every report, tells what was otherwise.`,
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
	c.Flags().BoolVar(&m.allowMixed, "allow-mixed", false, "go on although host or program are not as when the run began; every report says so")
	return c
}

// resume runs what of the run in the folder has no outcome.
func (a *app) resume(ctx context.Context, dir string, m manner) error {
	if err := needRoot("resume"); err != nil {
		return err
	}
	began, err := store.Open(dir)
	if err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	err = a.closeState() // what it remembers is believed, so it is nobody else's
	if err == nil {
		err = a.checkBegun(began)
	}
	if err := errors.Join(err, began.Close()); err != nil {
		return err
	}
	if part := selftestOf(began.Header()); part != "" && m.end == nil {
		if m.allowMixed {
			return usageError("--allow-mixed: the certificate of the self-test speaks for one host and one version%w", bench.Hint("begin the part anew: tare selftest "+part))
		}
		again := (&app{stdout: a.stdout, stderr: a.stderr, screen: a.screen}).command()
		again.SetArgs(a.selftestAgain(began.Header(), part, dir, m))
		return again.ExecuteContext(ctx)
	}
	r, finished, err := store.OpenForResume(dir)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := a.checkBegun(r); err != nil { // it may have been exchanged
		return err
	}
	h := r.Header()
	open, err := stop.Left(r.Plan(), r.Outcomes(), finished)
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
	if m.mixed, err = a.otherwise(r); err != nil {
		return err
	}
	if len(m.mixed) > 0 && !m.allowMixed {
		return fmt.Errorf("not all is as it was when the run began: %s: %w%w", strings.Join(m.mixed, "; "), bench.ErrInvalid, mixedHint(r, m))
	}
	for _, d := range m.mixed {
		fmt.Fprintf(a.stderr, "! trials are mixed: %s\n", d)
	}
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

// checkBegun is an error unless the run began here and is as it was then. What a
// folder says is believed for no other reason: its plan is run as root, and its
// meters are asked with secrets of this host.
func (a *app) checkBegun(r *store.Run) error {
	digest, err := r.Digest()
	if err != nil {
		return err
	}
	err = kept.CheckBegun(a.state, r.Header().Run, digest)
	if errors.Is(err, bench.ErrInvalid) {
		err = fmt.Errorf("%w%w", err, bench.Hint("measure its experiment anew: tare run --from "+r.Dir()+"; or see what there is: tare report "+r.Dir()))
	}
	return err
}

// otherwise says what of host and program is not as it was when the run began.
func (a *app) otherwise(r *store.Run) ([]string, error) {
	now, err := host.Read("/", a.state)
	if err != nil {
		return nil, err
	}
	changed := r.Host().Changed(now)
	if was := r.Header().Tare; was != version {
		changed = append(changed, fmt.Sprintf("tare: %s when the run began, %s now", was, version))
	}
	return changed, nil
}

// mixedHint says what to do instead of mixing trials.
func mixedHint(r *store.Run, m manner) bench.Hint {
	if m.end != nil {
		return "the certificate speaks for one host and one version: begin the part anew, in another folder"
	}
	return bench.Hint("put it back as it was, or begin anew: tare run --from " + r.Dir() + "; or mix them with --allow-mixed, and every report says so")
}
