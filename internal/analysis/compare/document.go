package compare

import (
	"slices"
	"tare/internal/analysis/audit"
	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/result"
)

// Format is the version of the JSON of a [Comparison].
const Format = "tare-compare/3"

// Basis is what the error of a change was learnt from.
type Basis string

const (
	// OfLaunches: from the launches within two runs, one a side.
	OfLaunches Basis = "launches"
	// OfRuns: from the means of several runs on both sides.
	OfRuns Basis = "runs"
	// OfArchive: from how much runs of the host differ from each other.
	OfArchive Basis = "archive"
	// OfBlocks: from the blocks of one run that holds both sides.
	OfBlocks Basis = "blocks"
)

// Reach is what a change speaks for.
type Reach string

const (
	// TheseRuns: what differs from one run to the next is not in the interval.
	TheseRuns Reach = "these two runs"
	// ThePlatform: it is.
	ThePlatform Reach = "the platform"
)

// Reach returns what a change with this basis speaks for.
func (b Basis) Reach() Reach {
	if b == OfLaunches {
		return TheseRuns
	}
	return ThePlatform
}

// Comparison is what changed from run A to run B, or from the runs A to the runs B.
type Comparison struct {
	Format string `json:"format"` // "tare-compare/3"
	A      []Side `json:"a"`
	B      []Side `json:"b"`
	// Archive are the further runs that the variance between runs was learnt from.
	Archive []Side `json:"archive,omitempty"`
	// SpeaksFor is the least that any of the changes speaks for; "" if none has a ratio.
	SpeaksFor Reach `json:"speaks_for,omitempty"`
	// Relative: values are ratios to the baseline of the same block.
	Relative bool    `json:"relative"`
	Baseline string  `json:"baseline,omitempty"` // if it is the same in all
	Margin   float64 `json:"margin"`             // of equivalence, the narrowest of all
	// Method says in words what was compared and how.
	Method string `json:"method"`
	// Checks of what concerns all rows; subject is the first run of B and baseline that of A.
	Checks []audit.Check `json:"checks"`
	Rows   []Row         `json:"rows"`
	// OnlyA and OnlyB are the scenes, CASE/PLATFORM, and metrics that not every run of the
	// other side has; of a platform that the other side lacks "PLATFORM, everywhere".
	OnlyA    []string `json:"only_a,omitempty"`
	OnlyB    []string `json:"only_b,omitempty"`
	Warnings []string `json:"warnings,omitempty"`

	unlike string // why the runs of a side are not of one thing, "" if they are
}

// Side is a run by name.
type Side struct {
	// Platform is the side's in a run that holds both sides; "" otherwise.
	Platform   string `json:"platform,omitempty"`
	Run        string `json:"run"`
	Experiment string `json:"experiment"`
	Started    string `json:"started"` // RFC 3339
	Tare       string `json:"tare"`
	Missing    int    `json:"missing,omitempty"` // planned trials without an outcome
}

// Row is one metric of one platform in one case.
type Row struct {
	Case     string       `json:"case"`
	Title    string       `json:"title"`
	Platform string       `json:"platform"`
	Label    string       `json:"label,omitempty"`
	Baseline bool         `json:"baseline,omitempty"` // it is the runs' own baseline
	Metric   bench.Metric `json:"metric"`
	Relative *Relative    `json:"relative,omitempty"` // of a row of what is left
	A        Values       `json:"a"`
	B        Values       `json:"b"`
	Change   Change       `json:"change"`
	// Checks are those of this scene that are not the same on both sides.
	Checks []audit.Check `json:"checks,omitempty"`

	archive [][]float64 // the same of the archived runs
}

// Values are one side's share of a row.
type Values struct {
	// Values of every finished launch in block order, or their ratios to the baseline's, by run.
	Values  [][]float64 `json:"values"`
	Median  float64     `json:"median"` // of all; 0 if there are no values
	Failed  int         `json:"failed,omitempty"`
	Overdue int         `json:"overdue,omitempty"` // ended by the time of their containments, which says nothing of the platform
	Missing int         `json:"missing,omitempty"`
	Alone   int         `json:"without_neighbour,omitempty"` // finished without their neighbour, and not among Values
	Version string      `json:"version,omitempty"`           // of the platform, in the first run
	broken  int         // of Failed, those that did not fail beside a neighbour, which is a finding
}

// N is how many values there are.
func (v Values) N() int { return len(v.all()) }

// broke reports whether launches failed and none gave a value.
func (v Values) broke() bool { return v.N() == 0 && v.broken > 0 }

func (v Values) all() []float64 { return slices.Concat(v.Values...) }

// Broke reports whether a side has no value since its launches failed: the row says nothing of B
// against A.
func (r *Row) Broke() bool { return r.A.broke() || r.B.broke() }

// Change is B over A.
type Change struct {
	// Ratio is the geometric mean of B's values over that of A's, with equal weight for
	// each run of a side; Low and High bound its interval. All are 0 if refused or unfair.
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	// Confidence is the interval's level: 0.95, or the higher one of a run that a stopping rule ended.
	Confidence float64 `json:"confidence,omitempty"`
	// Basis is what the interval was learnt from, with so many degrees of freedom, and
	// SpeaksFor what the change is about, therefore.
	Basis     Basis   `json:"basis,omitempty"`
	DF        float64 `json:"df,omitempty"`
	SpeaksFor Reach   `json:"speaks_for,omitempty"`
	// Cost is the change in the direction that hurts: positive is worse.
	Cost float64 `json:"cost"`
	// P is of the test of no change, Holm the same corrected over the headline rows.
	P       *float64       `json:"p,omitempty"`
	Holm    *float64       `json:"p_holm,omitempty"`
	Verdict result.Verdict `json:"verdict"`
	Why     string         `json:"why,omitempty"`
	// Words says the change with its direction, such as "7.1 % slower (5.0 to 9.3)".
	Words string `json:"words"`
	// Unfair says why the two must not be compared; it is shown wherever the change is.
	Unfair string `json:"unfair,omitempty"`

	bounds bounds // nil without a ratio
}

// bounds tell how far a change may lie from its estimate. Limits and bounds are ratios.
type bounds interface {
	Lower(tail float64) float64
	Upper(tail float64) float64
	// Above and Below may take into account the tail at which they are judged.
	Above(limit, tail float64) float64
	Below(limit, tail float64) float64
	// Needed is on the scale of logs.
	Needed(distance, tail float64) stats.Need
}
