package result

import (
	"slices"

	"tare/internal/bench"
)

// Matrix sets scenes against others on the same platform: what is left, beside
// a neighbour, of the performance alone. Any scene of a specification can say
// relative: {to, row, column}; the table is made of those that do.
type Matrix struct {
	Columns []string    `json:"columns"` // in the plan's order
	Rows    []MatrixRow `json:"rows"`    // a row of the specification for every platform and metric
}

// MatrixRow is one metric of one platform against the same scene.
type MatrixRow struct {
	Row      string       `json:"row"`
	Case     string       `json:"case"` // the one the others are set against
	Platform string       `json:"platform"`
	Label    string       `json:"label,omitempty"`
	Baseline bool         `json:"baseline,omitempty"`
	Metric   bench.Metric `json:"metric"`
	// Alone is the median of the scene they are set against; N how many launches of it finished.
	Alone float64 `json:"alone"`
	N     int     `json:"n"`
	// Cells are by column; nil where the row has none.
	Cells []*MatrixCell `json:"cells"`
	// Caveats are what the launches found of the platform: "limits ignored: ...", "not enforced: ...".
	Caveats []string `json:"caveats,omitempty"`
}

// MatrixCell is one scene set against its other.
type MatrixCell struct {
	Case string `json:"case"`
	// Besides: the reader of the run sets it against the other, and the plan does not. So the cases of
	// both speak for themselves as well.
	Besides bool `json:"besides,omitempty"`
	// Effect is the ratio to the other scene on the same platform, paired by block.
	Effect *Effect `json:"effect"`
	// Kept is the ratio in the direction in which more is better: 1 is all of
	// the performance, 0 none. Low and High bound its interval, both 0 if there is none.
	Kept float64 `json:"retained"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Against compares Kept with the baseline platform's; nil for that itself.
	Against *Effect `json:"against,omitempty"`
	// Differs are what the specification has otherwise than in the other scene,
	// besides neighbours and placement: "memory 1 GiB for 256 MiB".
	Differs []string `json:"differs,omitempty"`
	// Launches were wanted; of them N finished beside a neighbour and DNF did not beside their
	// neighbour, which is a finding; Failed failed for other reasons, and Missing have no outcome.
	// Overdue were ended by the time of their own containments, which says nothing of the platform.
	Launches int `json:"launches"`
	N        int `json:"n"`
	DNF      int `json:"dnf,omitempty"`
	// Alone are launches that finished without a neighbour: its program had ended before half of the
	// window was over. They are in no ratio. Why they ended is in AloneWhy, of the first.
	Alone    int    `json:"without_neighbour,omitempty"`
	AloneWhy string `json:"without_neighbour_why,omitempty"`
	Overdue  int    `json:"overdue,omitempty"`
	Failed   int    `json:"failed,omitempty"`
	Missing  int    `json:"missing,omitempty"`
	// SharedCPUs: the subjects share CPUs with a neighbour.
	SharedCPUs bool `json:"shared_cpus,omitempty"`
	// Fairness is that between alike subjects; nil with one.
	Fairness *Fairness `json:"fairness,omitempty"`
	// Gone are launches in which the neighbour's own program or instance ended of
	// itself before the measurement did, and Ended those that the watchdog ended. Stopped are those of
	// Gone in which it meant harm and a limit of its own stopped it: StoppedBy, of the first.
	Gone      int    `json:"neighbour_gone,omitempty"`
	Stopped   int    `json:"neighbour_stopped,omitempty"`
	StoppedBy string `json:"neighbour_stopped_by,omitempty"`
	Ended     int    `json:"ended_by_watchdog,omitempty"`
	// Words say the cell in short.
	Words string `json:"words"`
}

// Lost says whether launches of both sides finished and yet have no ratio, as that of
// a subject starved to zero: the effect's Why says which.
func (c *MatrixCell) Lost() bool {
	return c.Effect.Verdict == Refused && c.Effect.N > 0 && len(c.Effect.Ratios) == 0
}

// Cases are those in the table for which it speaks, by name; none of a nil table.
func (m *Matrix) Cases() map[string]bool {
	names := map[string]bool{}
	if m == nil {
		return names
	}
	for _, r := range m.Rows {
		for _, c := range r.Cells {
			if c != nil && !c.Besides {
				names[r.Case], names[c.Case] = true, true
			}
		}
	}
	return names
}

// Shares are a cell's ratios by block, in the direction in which more is better: 1
// is all of the performance.
func (c *MatrixCell) Shares(m bench.Metric) []Point {
	points := slices.Clone(c.Effect.Ratios)
	if m.Better == bench.LowerIsBetter {
		for i := range points {
			points[i].Value = 1 / points[i].Value
		}
	}
	return points
}
