package plan

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"tare/internal/bench"
	"tare/internal/bench/figure"
)

// Render writes the plan for people: what it takes, what to mind, and the trials in order.
func Render(w io.Writer, p *bench.Plan) error {
	platforms, cases := map[string]bool{}, map[string]bool{}
	for _, s := range p.Scenes {
		platforms[s.Platform.String()], cases[s.Case] = true, true
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", p.Experiment, p.Title)
	if p.Question != "" {
		fmt.Fprintf(&b, "%s\n", strings.TrimSpace(p.Question))
	}
	trials, blocks, took := Extent(p)
	fmt.Fprintf(&b, "%s: %s, %s, %s\n", trials, figure.Count(len(cases), "case"), figure.Count(len(platforms), "platform"), blocks)
	fmt.Fprintf(&b, "a block launches each case once on each platform, and what is launched is a trial\n")
	if u := p.Until; u != nil {
		fmt.Fprintf(&b, "each platform of a case until its interval decides or is within ±%g%%; looked at after %s blocks\n", u.Interval*100, joined(u.Looks))
	}
	if n := len(p.Idles()); n > 0 {
		fmt.Fprintf(&b, "power is measured: the machine rests before and after the trials of each block, %d times %v\n", n, p.Idle)
	}
	if d := p.Disturbed; d != nil && d.Repeats > 0 {
		fmt.Fprintf(&b, "a launch beside which other work holds more than %g CPUs is repeated at the end of its block, at most %s: up to %s if each is\n", d.Above, times(d.Repeats), figure.Span(MostEstimate(p)))
	}
	fmt.Fprintf(&b, "%s; seed %d; compared with %s, margin %g%%\n", took, p.Seed, p.Baseline, p.Margin*100)
	if len(p.Exchanged) > 0 {
		fmt.Fprintf(&b, "from block to block instances and the observer, which reads the meters, change places among CPUs that are alike\n")
	}
	renderSkipped(&b, p.Skipped)
	if len(p.Warnings) > 0 {
		b.WriteString("\nmind:\n")
	}
	for _, warning := range p.Warnings {
		fmt.Fprintf(&b, "  %s\n", warning)
	}
	b.WriteString("\n")

	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TRIAL\tBLOCK\tCASE\tPLATFORM\tCPUS\tSECONDS")
	for _, t := range p.Trials {
		s := p.Scene(t.Scene)
		if s == nil {
			return fmt.Errorf("plan: trial %s names scene %q, which is not in it: %w", t.ID, t.Scene, bench.ErrInvalid)
		}
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t%.1f\n", t.ID, t.Block, s.Case, s.Platform, seats(p, t.Block, s.Actors), s.Estimate)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	set := map[string]bool{}
	for _, s := range p.Scenes {
		if line := s.Case + ": " + bench.ConditionsText(s.Conditions); len(s.Conditions) > 0 && !set[line] {
			if len(set) == 0 {
				b.WriteString("\nset on the host for the trials, and put back after each:\n")
			}
			set[line] = true
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// renderSkipped says which platforms are left out and why.
func renderSkipped(b *strings.Builder, skipped []bench.Skip) {
	if len(skipped) > 0 {
		b.WriteString("\nleft out:\n")
	}
	for _, s := range bench.Together(skipped) {
		fmt.Fprintf(b, "  %s: %s\n", s.Platform, s.Reason)
		if s.Hint != "" {
			fmt.Fprintf(b, "    hint: %s\n", s.Hint)
		}
	}
}

// times says how often: once, twice, 3 times.
func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// seats says where each actor sits, instances of one actor with the same seat together.
func seats(p *bench.Plan, block int, actors []bench.Actor) string {
	const most = 4
	var all []string
	for i, a := range actors {
		if i == most && len(actors) > most+1 {
			all = append(all, fmt.Sprintf("and %d more", len(actors)-most))
			break
		}
		if a.Away() {
			all = append(all, a.Name+" on host "+a.Host)
			continue
		}
		all = append(all, a.Name+" "+CPUList(p.CPUsIn(block, a.CPUSet)))
	}
	return strings.Join(all, ", ")
}

// CPUList writes CPUs as the kernel does: 0-2,5.
func CPUList(cpus []int) string {
	var parts []string
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		if i == j {
			parts = append(parts, fmt.Sprint(cpus[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", cpus[i], cpus[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// joined writes numbers for people: 5, 8 and 12.
func joined(ns []int) string {
	var parts []string
	for _, n := range ns {
		parts = append(parts, fmt.Sprint(n))
	}
	if n := len(parts); n > 1 {
		return strings.Join(parts[:n-1], ", ") + " and " + parts[n-1]
	}
	return strings.Join(parts, "")
}
