package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/bench"
	"tare/internal/host"
	"tare/internal/result"
	"tare/internal/selftest"
	"tare/internal/store"
)

// selftestPart is one part of the self-test: a verb of its own, with the flags
// --max-time and --json, and how long it takes if nothing limits it.
type selftestPart struct {
	command *cobra.Command
	takes   time.Duration
}

// selftestParts are the parts in the order in which they are run.
func (a *app) selftestParts() []selftestPart {
	return []selftestPart{
		{a.selftestAACommand(), 45 * time.Minute},
		{a.selftestInjectCommand(), 60 * time.Minute},
		{a.selftestCostCommand(), 25 * time.Minute},
		{a.selftestClockCommand(), 10 * time.Minute},
		{a.selftestSumCommand(), 8 * time.Minute},
		{a.selftestStopCommand(), 40 * time.Minute},
	}
}

func (a *app) selftestCommand() *cobra.Command {
	parts := a.selftestParts()
	c := a.selftestAllCommand("selftest", parts)
	c.AddCommand(a.selftestAllCommand("all", a.selftestParts()))
	c.AddCommand(a.selftestShowCommand())
	for _, p := range parts {
		c.AddCommand(p.command)
	}
	return c
}

// keeping is how a part's finding is printed and kept.
type keeping struct{ force, asJSON bool }

func (k *keeping) forceFlag(c *cobra.Command) {
	c.Flags().BoolVar(&k.force, "force", false, "put a smaller finding in the place of a larger one in the certificate")
}

// keep prints a part's finding and puts it into the certificate. The error is
// the status that its claims deserve.
func (a *app) keep(f *selftest.Finding, o selftest.Origin, h host.Facts, k keeping) error {
	print := func() error { return printFinding(a.stdout, f) }
	if k.asJSON {
		print = func() error { return writeJSON(a.stdout, f.Data) }
	}
	if err := print(); err != nil {
		return err
	}
	if err := a.certify(f, o, h, k.force); err != nil {
		return err
	}
	return claimStatus(f.Claims)
}

// certify puts a part's finding into the certificate.
func (a *app) certify(f *selftest.Finding, o selftest.Origin, h host.Facts, force bool) error {
	old, err := selftest.Read(a.certificateDir())
	if err != nil {
		return err
	}
	c, kept, err := old.Keep(f, o, h, force)
	if err != nil {
		return err
	}
	if kept != "" {
		fmt.Fprintln(a.stderr, kept+"; --force replaces it")
	}
	return c.Write(a.certificateDir())
}

// originOf is where a part comes from that was a run.
func originOf(r *store.Run) selftest.Origin {
	h := r.Header()
	o := selftest.Origin{Date: h.Started, Tare: h.Tare, Command: h.Command, Run: h.Run, Versions: map[string]string{}}
	for name, p := range h.Platforms {
		o.Versions[name] = p.Version
	}
	return o
}

// certificateDir is where the self-test's findings are kept.
func (a *app) certificateDir() string { return filepath.Join(a.state, "selftest") }

// checkCertificate is an error for a self-test that could not keep what it finds;
// an ordinary run says it now and goes on.
func (a *app) checkCertificate(m manner) error {
	_, err := selftest.Read(a.certificateDir())
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%w%w", err, bench.Hint("put it right or remove it: tare selftest writes it anew"))
	if m.end != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "! %v; %s\n", err, bench.HintOf(err))
	return nil
}

// cite puts what the self-test found on the run's host into the result. A
// certificate that can't be read is said and otherwise none.
func (a *app) cite(result *result.Result, r *store.Run) {
	c, err := selftest.Read(a.certificateDir())
	switch {
	case errors.Is(err, fs.ErrPermission):
		fmt.Fprintf(a.stderr, "! a certificate of the self-test, if there is one, is not cited: only root may look into %s\n", a.state)
	case err != nil:
		fmt.Fprintf(a.stderr, "! %v\n", err)
	}
	result.SelfTest = c.Cited(r.Host())
}

func printFinding(w io.Writer, f *selftest.Finding) error {
	for _, t := range f.Tables {
		fmt.Fprintf(w, "%s\n", t.Title)
		if t.Note != "" {
			fmt.Fprintf(w, "%s\n", t.Note)
		}
		fmt.Fprintln(w)
		if err := printTable(w, t.Head, t.Rows); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return printClaims(w, []*selftest.Finding{f})
}

// printClaims prints what each part promises and what was found.
func printClaims(w io.Writer, findings []*selftest.Finding) error {
	var rows [][]string
	for _, f := range findings {
		for _, c := range f.Claims {
			rows = append(rows, []string{string(f.Part), c.Claim, c.Found, string(c.Held)})
		}
	}
	return printTable(w, []string{"part", "claim", "found", "holds"}, rows)
}

func printTable(w io.Writer, head []string, rows [][]string) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, strings.ToUpper(strings.Join(head, "\t")))
	for _, row := range rows {
		fmt.Fprintln(tw, strings.Join(row, "\t"))
	}
	return tw.Flush()
}

// selftestAllCommand runs every part, one after the other.
func (a *app) selftestAllCommand(name string, parts []selftestPart) *cobra.Command {
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
			return a.selftestAll(c.Context(), parts, limit, wait)
		},
	}
	waitFlag(c, &wait)
	c.Flags().DurationVar(&limit, "max-time", 2*time.Hour, "time for all parts together")
	return c
}

func (a *app) selftestAll(ctx context.Context, parts []selftestPart, limit time.Duration, wait bool) error {
	if err := needRoot("selftest"); err != nil {
		return err
	}
	release, err := a.hold(ctx, "selftest", wait)
	if err != nil {
		return err
	}
	defer release()
	end := time.Now().Add(limit)
	var broken error
	for i, p := range parts {
		var all time.Duration
		for _, q := range parts[i:] {
			all += q.takes
		}
		share := time.Duration(float64(time.Until(end)) * p.takes.Seconds() / all.Seconds())
		if time.Until(end) <= 0 || ctx.Err() != nil {
			fmt.Fprintf(a.stderr, "no time left for %s\n", p.command.Name())
			continue
		}
		fmt.Fprintf(a.stderr, "self-test %s, at most %s\n", p.command.Name(), round(share))
		if err := p.command.ParseFlags([]string{"--max-time", share.String()}); err != nil {
			return err
		}
		a.repeat = []string{"tare", "selftest", p.command.Name(), "--max-time", share.Round(time.Second).String()}
		p.command.SetContext(ctx)
		err := p.command.RunE(p.command, nil)
		fmt.Fprintln(a.stdout)
		a.say(err)
		if err != nil && statusOf(err) != exitUndecided {
			broken = &statusError{exitHost, fmt.Errorf("not every part of the self-test passed")}
		}
	}
	if ctx.Err() != nil {
		broken = worst(broken, &statusError{exitUndecided, fmt.Errorf("stopped: %w", context.Cause(ctx))})
	}
	return worst(broken, a.showCertificate())
}

func (a *app) selftestShowCommand() *cobra.Command {
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

// showCertificate prints the certificate; the error is the status it deserves.
func (a *app) showCertificate() error {
	c, err := selftest.Read(a.certificateDir())
	if err != nil {
		return err
	}
	if err := a.printCertificate(c); err != nil {
		return err
	}
	if facts, err := host.Read("/", a.state); err == nil && c != nil && !c.OfHost(facts) {
		fmt.Fprintf(a.stderr, "! this certificate is of another host or kernel: %s, %s\n", c.Host.Hostname, c.Host.Kernel)
	}
	var claims []selftest.Claim
	for _, p := range selftest.Parts() {
		if s := c.Section(p); s != nil {
			claims = append(claims, s.Claims...)
		} else {
			claims = append(claims, selftest.Claim{Held: selftest.Open})
		}
	}
	return claimStatus(claims)
}

// printCertificate prints every section's claims.
func (a *app) printCertificate(c *selftest.Certificate) error {
	var rows [][]string
	for _, p := range selftest.Parts() {
		s := c.Section(p)
		if s == nil {
			rows = append(rows, []string{string(p), "", "not measured on this host", "", "", ""})
			continue
		}
		for _, claim := range s.Claims {
			rows = append(rows, []string{string(p), claim.Claim, claim.Found, string(claim.Held), s.Rests(), fmt.Sprintf("%.10s", s.Date)})
		}
	}
	if err := printTable(a.stdout, []string{"part", "claim", "found", "holds", "rests on", "date"}, rows); err != nil || c == nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "\ncertificate: %s\n", filepath.Join(a.certificateDir(), "certificate.html"))
	return err
}
