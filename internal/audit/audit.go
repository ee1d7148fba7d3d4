// Package audit decides whether two platforms' results may be compared: it
// checks what must be alike between the two sides of a ratio and says of each
// whether it is the same, differs in a way that is part of the question, or
// makes the comparison invalid.
package audit

import "slices"

// State is the finding of one check.
type State string

const (
	Same    State = "same"
	Differs State = "differs" // said beside the comparison, which stands
	Invalid State = "invalid" // the ratio would not be about isolation
	Unknown State = "unknown" // it could not be read on one side; said, like Differs
)

// Check is one thing looked at on both sides.
type Check struct {
	Name  string `json:"name"` // such as "memory limit"
	State State  `json:"state"`
	// Subject and Baseline are what was found on each side, as text.
	Subject  string `json:"subject"`
	Baseline string `json:"baseline"`
	// Why says what a difference means for the ratio.
	Why string `json:"why,omitempty"`
}

// Audit is every check of one pair, in a fixed order.
type Audit struct {
	Checks []Check `json:"checks"`
}

// Study takes differences in the named checks as the question itself: they are
// said and forbid no comparison.
func (a *Audit) Study(names []string) {
	for i := range a.Checks {
		if c := &a.Checks[i]; c.State == Invalid && slices.Contains(names, c.Name) {
			c.State, c.Why = Differs, "this difference is what is studied; otherwise: "+c.Why
		}
	}
}

// Invalid returns the checks that forbid the comparison.
func (a *Audit) Invalid() []Check {
	var out []Check
	for _, c := range a.Checks {
		if c.State == Invalid {
			out = append(out, c)
		}
	}
	return out
}
