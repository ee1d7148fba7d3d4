// Package audit decides whether two results may be compared, be they of two
// platforms, of two scenes on one or of two runs: it checks what must be alike
// between the two sides of a ratio and says of each whether it is the same, differs
// in a way that is part of the question, or makes the comparison invalid.
package audit

import (
	"slices"
	"strings"
)

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
	// Caused: the difference came about while the sides ran, and nothing from outside is known to have
	// made it: it is part of what the platform costs.
	Caused bool `json:"caused,omitempty"`
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

// Between is what the two sides of an audit are, which tells them apart in words.
type Between int

const (
	Platforms Between = iota // the subject against the baseline
	Runs                     // the subject is run B, the baseline run A
)

// Unfair says why the two sides must not be compared, each reason once; "" if they may.
func (a *Audit) Unfair(sides Between) string {
	var reasons []string
	for _, c := range a.Invalid() {
		text := c.Name + " (" + c.Subject + " against " + c.Baseline + "): " + c.Why
		if sides == Runs {
			text = c.Name + ": " + c.Baseline + " in A, " + c.Subject + " in B"
		}
		if !slices.Contains(reasons, text) {
			reasons = append(reasons, text)
		}
	}
	return strings.Join(reasons, "; ")
}

// Mark names the checks that failed, to stand beside a ratio.
func (a *Audit) Mark() string {
	var names []string
	for _, c := range a.Invalid() {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// Caused returns the differences that a platform itself made while it ran; of no audit none.
func (a *Audit) Caused() []Check {
	if a == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(a.Checks), func(c Check) bool { return !c.Caused || c.State != Differs })
}

// Invalid returns the checks that forbid the comparison; of no audit none.
func (a *Audit) Invalid() []Check {
	if a == nil {
		return nil
	}
	var out []Check
	for _, c := range a.Checks {
		if c.State == Invalid {
			out = append(out, c)
		}
	}
	return out
}
