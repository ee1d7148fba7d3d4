package report

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/bench/figure"
	"tare/internal/result"
)

// selfTestText cites the self-test of the run's host.
func selfTestText(t *result.SelfTest) []block {
	if t == nil {
		return nil
	}
	return []block{blank, text{"self-test of this program on this host: ", "  ", selfTestWords(t)}}
}

// selfTestWords cites the self-test of the run's host in a line: how many claims
// hold, which do not, when that was found and where it is told.
func selfTestWords(t *result.SelfTest) string {
	parts := map[string][]string{} // by what became of their claims
	first, last := "", ""
	for _, c := range t.Claims {
		parts[c.Held] = append(parts[c.Held], c.Part)
		day := fmt.Sprintf("%.10s", c.Date)
		if first == "" || day < first {
			first = day
		}
		last = max(last, day)
	}
	found := []string{fmt.Sprintf("%d of %s hold", len(parts["yes"]), figure.Count(len(t.Claims), "claim"))}
	for _, k := range []struct{ held, words string }{{"no", "NOT"}, {"open", "undecided"}} {
		if of := parts[k.held]; len(of) > 0 {
			found = append(found, fmt.Sprintf("%d %s (%s)", len(of), k.words, strings.Join(slices.Compact(of), ", ")))
		}
	}
	when := first
	if last != first {
		when += " to " + last
	}
	return fmt.Sprintf("%s; found %s; tare selftest show", strings.Join(found, ", "), when)
}

// claimWords cites one number of the self-test of the run's host.
func claimWords(c result.SelfTestClaim) string {
	held := map[string]string{"yes": "holds", "no": "does NOT hold", "open": "undecided"}[c.Held]
	return fmt.Sprintf("%s; %s; %s (%s; %.10s, tare %s)", c.Claim, c.Found, held, c.RestsOn, c.Date, c.Tare)
}
