package selftest

import "fmt"

// Part names what the self-test consists of.
type Part string

const (
	PartAA     Part = "aa"     // intervals of identical platforms hold 1
	PartInject Part = "inject" // a known slowdown is found
	PartCost   Part = "cost"   // observing costs little
	PartClock  Part = "clock"  // the clocks inside are known
	PartSum    Part = "sum"    // the parts sum to the whole
	PartStop   Part = "stop"   // stopping saves time
)

// The parts of scripts/numbers.
const (
	PartObserve      Part = "observe"
	PartDensity      Part = "density"
	PartProcedure    Part = "procedure"
	PartStartup      Part = "startup"
	PartShare        Part = "share"
	PartByHand       Part = "byhand"
	PartApplications Part = "applications"
	PartRepeat       Part = "repeat"
	PartReport       Part = "report"
)

// Parts lists those of tare selftest in the order in which they are run and shown.
func Parts() []Part { return []Part{PartAA, PartInject, PartCost, PartClock, PartSum, PartStop} }

// Held is whether a claim was found to hold.
type Held string

const (
	Yes  Held = "yes"
	No   Held = "no"
	Open Held = "open" // what was measured does not decide
)

// A Finding is what one part of the self-test found.
type Finding struct {
	Part Part
	// Size is how much the finding rests on, in Unit: a smaller one does not
	// take the place of a larger one.
	Size int
	Unit string // "comparisons"
	// Complete says that it is enough for the claims; where it isn't, Short says
	// what it lacks, such as "fewer than 200".
	Complete bool
	Short    string
	Claims   []Claim
	Tables   []Table
	Data     any // the part's own result, kept as JSON
}

// A Claim is a number this program promises, with what was found.
type Claim struct {
	Claim string `json:"claim"` // "a slowdown of 10 % is found always"
	Found string `json:"found"` // "36 of 36 (90.3-100.0 %)"
	Held  Held   `json:"held"`
}

// A Table is shown as it is, in text and in the certificate's page.
type Table struct {
	Title string     `json:"title"`
	Note  string     `json:"note,omitempty"` // how it is to be read
	Head  []string   `json:"head"`
	Rows  [][]string `json:"rows"`
}

// AtMost judges a share that is to be no more than a limit: by its whole
// interval, so that few comparisons leave it open.
func AtMost(p Proportion, limit float64) Held {
	switch {
	case p.High <= limit:
		return Yes
	case p.Low > limit:
		return No
	}
	return Open
}

// Nominal judges a share that is a test's error and so to be the limit itself or
// less. No finite number of comparisons can show that of a test that is exact. So
// the claim fails if the limit lies below the whole interval, and holds if enough
// comparisons did not bring that about.
func Nominal(p Proportion, limit float64, enough int) Held {
	switch {
	case p.Low > limit:
		return No
	case p.N >= enough:
		return Yes
	}
	return Open
}

// AtLeast judges a share that is to be no less than a limit.
func AtLeast(p Proportion, limit float64) Held {
	switch {
	case p.Low >= limit:
		return Yes
	case p.High < limit:
		return No
	}
	return Open
}

// size is such as "200 comparisons" or "60 comparisons, fewer than 200".
func size(n int, unit, short string) string {
	text := fmt.Sprintf("%d %s", n, unit)
	if short != "" {
		text += ", " + short
	}
	return text
}
