package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/app/prove"
	"tare/internal/host"
	"tare/internal/selftest"
)

func selftestCommand(a *app) *cobra.Command {
	var turns []prove.Turn
	c := selftestAllCommand(a, "selftest", &turns)
	c.AddCommand(selftestAllCommand(a, "all", &turns), selftestShowCommand(a))
	for _, p := range []struct {
		command *cobra.Command
		takes   time.Duration
	}{
		{selftestAACommand(a), 45 * time.Minute},
		{selftestInjectCommand(a), 60 * time.Minute},
		{selftestCostCommand(a), 25 * time.Minute},
		{selftestClockCommand(a), 10 * time.Minute},
		{selftestSumCommand(a), 8 * time.Minute},
		{selftestStopCommand(a), 40 * time.Minute},
	} {
		c.AddCommand(p.command)
		turns = append(turns, a.turn(p.command, p.takes))
	}
	return c
}

// turn is a part of the self-test, a verb of its own with the flag --max-time, among others.
func (a *app) turn(c *cobra.Command, takes time.Duration) prove.Turn {
	return prove.Turn{Name: c.Name(), Takes: takes, Run: func(ctx context.Context, limit time.Duration) error {
		if err := c.ParseFlags([]string{"--max-time", limit.String()}); err != nil {
			return err
		}
		a.repeat = []string{"tare", "selftest", c.Name(), "--max-time", limit.Round(time.Second).String()}
		c.SetContext(ctx)
		return c.RunE(c, nil)
	}}
}

// print prints what was found.
func (t *part) print(a *app, f *selftest.Finding) error {
	return a.show(t.m.asJSON, f.Data, func(w io.Writer) error { return printFinding(w, f) })
}

// keep prints a part's finding and puts it into the certificate. The error is
// the status that its claims deserve.
func (t *part) keep(a *app, f *selftest.Finding, o selftest.Origin, h host.Facts) error {
	if err := t.print(a, f); err != nil {
		return err
	}
	if err := prove.Certify(a.site, f, o, h, t.force); err != nil {
		return err
	}
	return claimStatus(f.Claims)
}

func printFinding(w io.Writer, f *selftest.Finding) error {
	for _, t := range f.Tables {
		fmt.Fprintf(w, "%s\n", t.Title)
		if t.Note != "" {
			fmt.Fprintf(w, "%s\n", t.Note)
		}
		fmt.Fprintln(w)
		if err := selftest.WriteTable(w, t.Head, t.Rows); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return selftest.WriteClaims(w, f)
}

// selftestAllCommand runs every part, one after the other.
func selftestAllCommand(a *app, name string, turns *[]prove.Turn) *cobra.Command {
	var limit time.Duration
	var wait bool
	c := &cobra.Command{
		Use:   name,
		Short: "Test on this host whether the numbers can be trusted",
		Long: `Tests this program on this host: every part, one after the other, or the one that
is named. Each part writes its findings into the certificate,
STATE/selftest/certificate.json and .html, which reports of runs on this host
cite. It ends with the table of all that is promised and what was found.

Each part gets its share of the time that is left; what does not fit is left out
and says so. A part that was stopped goes on with tare resume.

Exit status: 0 every claim holds; 2 one is open or not measured; 4 one surely
does not hold, or a part failed.`,
		Example: "  tare selftest aa\n  tare selftest\n  tare selftest all --max-time 1h\n  tare selftest show",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if limit <= 0 {
				return usageError("--max-time %v: must be positive", limit)
			}
			return a.selftestAll(c.Context(), *turns, limit, wait)
		},
	}
	waitFlag(c, &wait)
	c.Flags().DurationVar(&limit, "max-time", 2*time.Hour, "time for all parts together")
	return c
}

func (a *app) selftestAll(ctx context.Context, turns []prove.Turn, limit time.Duration, wait bool) error {
	if err := needRoot("selftest"); err != nil {
		return err
	}
	release, err := a.site.Hold(ctx, "selftest", wait)
	if err != nil {
		return err
	}
	defer release()
	var broken error
	prove.InTurn(ctx, turns, limit, a.stderr, func(err error) {
		fmt.Fprintln(a.stdout)
		a.say(err)
		if err != nil && statusOf(err) != exitUndecided {
			broken = &statusError{exitHost, fmt.Errorf("not every part of the self-test passed")}
		}
	})
	if ctx.Err() != nil {
		broken = worst(broken, &statusError{exitUndecided, fmt.Errorf("stopped: %w", context.Cause(ctx))})
	}
	return worst(broken, a.showCertificate())
}

func selftestShowCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "Show what is promised and what was found on this host; measure nothing",
		Long: `Prints the table that tare selftest ends with, from the certificate of this host.

Exit status: 0 every claim holds; 2 one is open or not measured; 4 one surely
does not hold.`,
		Example: "  tare selftest show",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return a.showCertificate() },
	}
}

// showCertificate prints the claims of every section; the error is the status they deserve.
func (a *app) showCertificate() error {
	dir := a.site.CertificateDir()
	c, err := selftest.Read(dir)
	if err != nil {
		return err
	}
	var rows [][]string
	var claims []selftest.Claim
	for _, p := range selftest.Parts() {
		s := c.Section(p)
		if s == nil {
			rows = append(rows, []string{string(p), "", "not measured on this host", "", "", ""})
			claims = append(claims, selftest.Claim{Held: selftest.Open})
			continue
		}
		for _, claim := range s.Claims {
			rows = append(rows, []string{string(p), claim.Claim, claim.Found, string(claim.Held), s.RestsOn(), fmt.Sprintf("%.10s", s.Date)})
		}
		claims = append(claims, s.Claims...)
	}
	if err := selftest.WriteTable(a.stdout, []string{"part", "claim", "found", "holds", "rests on", "date"}, rows); err != nil {
		return err
	}
	if c != nil {
		fmt.Fprintf(a.stdout, "\ncertificate: %s\n", filepath.Join(dir, "certificate.html"))
		if facts, err := host.Read("/", a.site.Dir); err == nil && !c.OfHost(facts) {
			fmt.Fprintf(a.stderr, "! this certificate is of another host or kernel: %s, %s\n", c.Host.Hostname, c.Host.Kernel)
		}
	}
	return claimStatus(claims)
}
