package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"tare/internal/overhead"
)

// Text writes the result as tables for a terminal.
func Text(w io.Writer, r *overhead.Result) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s\n", r.Title)
	fmt.Fprintf(out, "run %s, %s, %d blocks, seed %d, baseline %s, equivalence within %.3g %%\n",
		r.Run, r.Started, r.Blocks, r.Seed, r.Baseline, 100*r.Margin)
	if !r.Complete {
		fmt.Fprintf(out, "NOT COMPLETE: %d of %d trials have no outcome yet\n", r.Trials.Missing, r.Trials.Planned)
	}
	for _, c := range r.Cases {
		fmt.Fprintf(out, "\n%s\n  %s\n", c.Title, c.Answer)
		t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "  METRIC\tPLATFORM\tMEDIAN\tN\tRATIO\t95 % INTERVAL\tVERDICT\t")
		last := ""
		for _, row := range c.Rows {
			name := row.Metric.Name + " (" + string(row.Metric.Better) + " is better)"
			if name == last {
				name = ""
			} else {
				last = name
			}
			fmt.Fprintf(t, "  %s\t%s\t%s\t%d\t%s\t\n", name, labelled(row.Platform, row.Label),
				quantity(row.Median, row.Metric.Unit), row.N, effectColumns(row))
		}
		if err := t.Flush(); err != nil {
			return err
		}
		if err := usageText(out, c); err != nil {
			return err
		}
	}
	closing(out, r)
	return out.Flush()
}

func effectColumns(row overhead.Row) string {
	e := row.Effect
	switch {
	case row.Baseline:
		return "1\t\tbaseline"
	case e == nil:
		return "\t\tnothing to compare with"
	case e.Verdict == overhead.Refused:
		return "\t\trefused: " + e.Why
	}
	return fmt.Sprintf("%.3f\t%.3f to %.3f\t%s: %s", e.Ratio, e.Low, e.High, e.Verdict, e.Words)
}

func usageText(out io.Writer, c overhead.Case) error {
	if len(c.Usage) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  CPU (cores)\tGUEST\tLAYER\tREST OF HOST\tSTEAL\tLAYER/GUEST\tMEMORY GUEST\tLAYER\t")
	for i := range c.Usage {
		u := &c.Usage[i]
		cell := func(field string, text string) string {
			if !u.Has(field) {
				return "not measured"
			}
			return text
		}
		over := "–"
		if u.CPUOverhead != nil {
			over = percent(*u.CPUOverhead)
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", labelled(u.Platform, u.Label),
			cell("guest_cpu", fmt.Sprintf("%.3f", u.GuestCPU)), cell("layer_cpu", fmt.Sprintf("%.3f", u.LayerCPU)),
			cell("rest_cpu", fmt.Sprintf("%.3f", u.RestCPU)), cell("steal_cpu", fmt.Sprintf("%.3f", u.StealCPU)), over,
			cell("guest_mem_bytes", quantity(u.GuestMem, "bytes")), cell("layer_mem_bytes", quantity(u.LayerMem, "bytes")))
	}
	return t.Flush()
}

// closing says what the tables do not.
func closing(out io.Writer, r *overhead.Result) {
	if len(r.Failures) > 0 {
		fmt.Fprintf(out, "\n%s did not finish:\n", plural(len(r.Failures), "trial"))
		for _, f := range r.Failures {
			fmt.Fprintf(out, "  %s %s, in %s: %s\n", f.Trial, f.Scene, f.Phase, strings.ReplaceAll(f.Error, "\n", "\n    "))
			if f.Hint != "" {
				fmt.Fprintf(out, "    hint: %s\n", f.Hint)
			}
		}
	}
	for _, s := range r.Skipped {
		fmt.Fprintf(out, "\nleft out: %s: %s\n", s.Platform, s.Reason)
		if s.Hint != "" {
			fmt.Fprintf(out, "  hint: %s\n", s.Hint)
		}
	}
	fmt.Fprintln(out)
	for _, wa := range r.Warnings {
		fmt.Fprintf(out, "! %s\n", wa)
	}
	for _, f := range r.HostFacts {
		if f.Caveat != "" {
			fmt.Fprintf(out, "! %s\n", f.Caveat)
		}
	}
}
