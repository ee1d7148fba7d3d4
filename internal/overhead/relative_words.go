package overhead

import (
	"fmt"
	"strings"
)

// cellWords are such as "54 %", "DNF 3 of 3" or "54 %, DNF 1 of 3".
func cellWords(c *MatrixCell) string {
	var words []string
	if c.Effect.Verdict == Unfair {
		words = append(words, "unfair: "+c.Effect.unfairNames())
	}
	if c.Kept > 0 {
		kept := fmt.Sprintf("%.0f %%", 100*c.Kept)
		if c.Effect.Unfair != "" {
			kept += " [unfair: " + c.Effect.unfairNames() + "]"
		}
		words = append(words, kept)
	}
	for _, x := range []struct {
		n    int
		what string
	}{{c.DNF, "DNF"}, {c.Overdue, "cage's time over"}, {c.Failed, "failed"}, {c.Missing, "missing"}} {
		if x.n > 0 {
			words = append(words, fmt.Sprintf("%s %d of %d", x.what, x.n, c.Launches))
		}
	}
	if len(words) == 0 {
		return "no pair of launches"
	}
	return strings.Join(words, ", ")
}

// againstWords say how a platform compares with the baseline in what it keeps.
func againstWords(e *Effect, c, base *MatrixCell, name string) string {
	text := ""
	switch {
	case c.DNF > base.DNF && c.N == 0 && base.N > 0:
		text = "does not finish where " + name + " does"
	case c.DNF < base.DNF && base.N == 0 && c.N > 0:
		text = "finishes where " + name + " does not"
	case e.Verdict == Differs && e.Ratio > 1:
		text = fmt.Sprintf("keeps %s times what %s keeps (%s to %s)", digits2(e.Ratio), name, digits2(e.Low), digits2(e.High))
	case e.Verdict == Differs:
		text = fmt.Sprintf("keeps %s %% less than %s (%s to %s)", digits(100*(1-e.Ratio)), name, digits(100*(1-e.High)), digits(100*(1-e.Low)))
	case e.Verdict == Equivalent:
		text = "as " + name
	case e.Verdict == Inconclusive:
		text = fmt.Sprintf("undecided: %s to %s times what %s keeps", digits2(e.Low), digits2(e.High), name)
	default:
		text = "no statement: " + e.Why
	}
	if e.Caution != "" {
		text += " [" + e.Caution + "]"
	}
	return text
}

func digits2(v float64) string { return fmt.Sprintf("%.2f", v) }
