package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tare/internal/app/doctor"
	"tare/internal/bench"
	"tare/internal/host"
)

func doctorCommand(a *app) *cobra.Command {
	var asJSON bool
	var packagesFor string
	c := &cobra.Command{
		Use:        "doctor [PLATFORM...]",
		SuggestFor: []string{"check"},
		Short:      "Say what this host can measure, and what stands in the way",
		Long: `Checks every platform, meter and program and lists the facts of this host
that matter to a measurement. Where platforms are named, only these and their
programs. Changes nothing: a platform that a run decides on by starting it once
is "not tried yet" until one has.

With --packages it prints nothing but the Debian or Ubuntu packages that are
missing for an experiment, or for "tests", one a line. Names with | between
them are one package in different releases: take the first that there is.`,
		Example: "  tare doctor\n  tare doctor docker\n  tare doctor --packages quick\n  tare doctor --json | jq '.platforms[] | select(.available | not)'",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 && packagesFor != "" {
				return usageError("--packages names the experiment, so %q cannot be a platform to look at", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if packagesFor != "" {
				packages, err := doctor.Missing(a.catalog(), packagesFor)
				for _, p := range packages {
					fmt.Fprintln(a.stdout, p)
				}
				return err
			}
			d, err := doctor.Diagnose(c.Context(), a.catalog(), args...)
			if err != nil {
				return err
			}
			return a.show(asJSON, d, func(w io.Writer) error { return printDiagnosis(w, d, len(args) > 0) })
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	c.Flags().StringVar(&packagesFor, "packages", "", "print only the packages that are missing for this experiment, or for \"tests\"")
	c.MarkFlagsMutuallyExclusive("json", "packages")
	return c
}

// printDiagnosis prints what was found, or of some platforms what is theirs alone.
func printDiagnosis(out io.Writer, d *doctor.Diagnosis, some bool) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PLATFORM\tSTATE\tVERSION")
	shown := map[string]bool{}
	for _, p := range d.Platforms {
		// Nestings lack the same thing, and what is between those three deep is what any
		// outer guest runs: those alike have one line.
		if deep := strings.Count(p.Name, "@"); deep > 1 || deep == 1 && !p.Available {
			alike := p.Name[strings.IndexByte(p.Name, '@'):] + p.State() + p.Reason
			if shown[alike] {
				continue
			}
			shown[alike] = true
			p.Name = nestingsLike(d.Platforms, p)
			p.Version, p.Caveats, p.Lacks, p.Unmoved = "", nil, nil, nil
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", p.Name, p.State(), p.Version)
		if p.Reason != "" {
			fmt.Fprintf(w, "  %s\n", explained(p.Reason, p.Hint))
		}
		for _, c := range p.Caveats {
			fmt.Fprintf(w, "  %s\n", c)
		}
		printLacks(w, p)
		if p.Unmoved != nil {
			fmt.Fprintf(w, "  without %s: %s\n", p.Unmoved.Options, explained(p.Unmoved.Reason, p.Unmoved.Hint))
		}
	}
	if some {
		printPrograms(w, d)
		return w.Flush()
	}
	fmt.Fprintln(w, "\nMETER\tLEVEL\tSTATE")
	for _, m := range d.Meters {
		state := "ready"
		if !m.Available {
			state = m.Reason
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", m.Name, m.Level, state)
	}
	printPrograms(w, d)
	fmt.Fprintln(w, "\nHOST\t")
	for _, l := range d.Host.Lines() {
		fmt.Fprintf(w, "%s\t%s\n", l.Name, l.Value)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, c := range d.Host.Caveats {
		fmt.Fprintf(out, "! %s\n", c)
	}
	return nil
}

func printPrograms(w io.Writer, d *doctor.Diagnosis) {
	fmt.Fprintln(w, "\nPROGRAM\tVERSION\tPACKAGE")
	for _, p := range d.Programs {
		if len(p.For) == 1 && p.For[0] == host.Tests {
			continue
		}
		version := cmp.Or(p.Problem, p.Version, "installed")
		fmt.Fprintf(w, "%s\t%s\t%s\n", p.Name, version, strings.ReplaceAll(p.Package, "|", " or "))
	}
}

// printLacks has a line for each variant, or for all of a nesting, the outer
// platform's own being explained there.
func printLacks(w io.Writer, p doctor.Platform) {
	var own []string
	for _, l := range p.Lacks {
		if _, outer := bench.OuterOption(l.Options); !outer {
			own = append(own, l.Options)
		}
	}
	if strings.Contains(p.Name, "@") {
		if len(own) > 0 {
			fmt.Fprintf(w, "  without %s\n", strings.Join(own, ", "))
		}
		return
	}
	for _, l := range p.Lacks {
		fmt.Fprintf(w, "  without %s: %s\n", l.Options, explained(strings.TrimPrefix(l.Reason, l.Options+": "), l.Hint))
	}
}

// explained is a reason and what to do about it, in one line.
func explained(reason, hint string) string {
	if hint == "" {
		return reason
	}
	return reason + "; " + hint
}

// nestingsLike names all nestings in the outer platform of p that lack what it lacks.
func nestingsLike(all []doctor.Platform, p doctor.Platform) string {
	inner, outer, _ := strings.Cut(p.Name, "@")
	names := []string{inner}
	for _, q := range all {
		in, out, nested := strings.Cut(q.Name, "@")
		if nested && in != inner && out == outer && q.Reason == p.Reason && q.Untried == p.Untried {
			names = append(names, in)
		}
	}
	return strings.Join(names, "|") + "@" + outer
}
