package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"tare/internal/bench"
	"tare/internal/result"
)

func allowUnfairFlag(c *cobra.Command, allow *bool) {
	c.Flags().BoolVar(allow, "allow-unfair", false, "show ratios of comparisons that the audit found invalid, marked as such")
}

// unfairStatus is the exit status a result deserves in which headline
// comparisons are invalid; nil if none is, or if they were allowed. Of cases
// that are set against others on the same platform these are the ones asked for.
func unfairStatus(r *result.Result) error {
	n := 0
	within := r.Relative.Cases()
	for _, c := range r.Cases {
		for _, row := range c.Rows {
			if within[c.Name] {
				continue
			}
			if row.Metric.Headline && row.Effect != nil && row.Effect.Verdict == result.Unfair {
				n++
			}
		}
	}
	if r.Relative != nil {
		for _, row := range r.Relative.Rows {
			for _, cell := range row.Cells {
				if cell != nil && row.Metric.Headline && cell.Effect.Verdict == result.Unfair {
					n++
				}
			}
		}
	}
	if n == 0 {
		return nil
	}
	what := "1 comparison is unfair"
	if n > 1 {
		what = fmt.Sprintf("%d comparisons are unfair", n)
	}
	return &statusError{exitInvalid, fmt.Errorf("%s: the report says why%w", what,
		bench.Hint("remove the cause and measure again, or see the ratios with --allow-unfair"))}
}
