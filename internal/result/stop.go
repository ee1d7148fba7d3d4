package result

// Stop says why a case ended when it did.
type Stop struct {
	Case   string `json:"case"`
	Blocks int    `json:"blocks"` // that were run, every scene of them that goes on
	// Ended: no more blocks are needed; until then the case goes on.
	Ended bool `json:"ended"`
	// Platforms are the blocks at which each platform ended; one that goes on is
	// absent. The baseline goes on as long as any other.
	Platforms map[string]int `json:"platforms"`
	// Settled: every headline ratio and cell is decided or as narrow as was asked.
	Settled bool   `json:"settled"`
	Why     string `json:"why"`
	// Confidence is the level of the case's intervals, corrected for looking, and
	// Levels are the higher ones of the platforms that ended because one was decided.
	Confidence float64            `json:"confidence"`
	Levels     map[string]float64 `json:"levels,omitempty"`
	Looks      []Look             `json:"looks"`
}

// Look is what the stopping rule saw at one declared point.
type Look struct {
	Blocks int `json:"blocks"`
	// Confidence is the level of the intervals whose widths are looked at.
	Confidence float64 `json:"confidence"`
	// Widths are the half widths reached, relative, by platform, and of a cell by
	// platform and case; one without an interval is absent.
	Widths map[string]float64 `json:"widths"`
	// Decided are the verdicts of intervals that decide at the stricter level.
	Decided map[string]Verdict `json:"decided,omitempty"`
}
