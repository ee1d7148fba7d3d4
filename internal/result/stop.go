package result

// Stop says why a case ended when it did.
type Stop struct {
	Case   string `json:"case"`
	Blocks int    `json:"blocks"` // that were run, every scene of them that goes on
	// Ended: the rule needs no more blocks; until then the case goes on.
	Ended bool `json:"ended"`
	// Platforms are the blocks at which each platform ended; one that goes on is
	// absent. The baseline goes on as long as any other.
	Platforms map[string]int `json:"platforms"`
	// Narrow: every subject's interval is as narrow as was asked.
	Narrow bool   `json:"narrow"`
	Why    string `json:"why"`
	// Confidence is the level of the case's intervals, corrected for looking.
	Confidence float64 `json:"confidence"`
	// Widths are the half widths reached, relative, by platform, at each look.
	Looks []Look `json:"looks"`
}

// Look is what the stopping rule saw at one declared point.
type Look struct {
	Blocks int `json:"blocks"`
	// Confidence is the level of the intervals looked at.
	Confidence float64            `json:"confidence"`
	Widths     map[string]float64 `json:"widths"` // by platform; a platform without an interval is absent
}
