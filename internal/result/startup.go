package result

import "tare/internal/bench"

// StartUp is how the launches of one platform went: medians in milliseconds.
type StartUp struct {
	Platform string        `json:"platform"`
	Label    string        `json:"label,omitempty"`
	Phases   []LaunchPhase `json:"phases"` // those the platform has, in their order
	// Total is the median of whole launches, to the end of the first command. The
	// medians of the phases need not sum to it.
	Total float64 `json:"total_ms"`
	// Own is the median of Tare's own share of a launch, an upper bound, and
	// OwnWorst the largest; OwnParts are the medians of what it is made of, by name.
	Own      float64            `json:"own_ms"`
	OwnWorst float64            `json:"own_worst_ms"`
	OwnParts map[string]float64 `json:"own_parts_ms"`
	N        int                `json:"n"` // launches
}

// LaunchPhase is one phase of a platform's launches.
type LaunchPhase struct {
	Name   string      `json:"name"`
	Median float64     `json:"median_ms"`
	Whose  bench.Whose `json:"whose"`
	Source string      `json:"source"`
	// Known is the largest bound of what its ends are known to, in milliseconds.
	Known float64 `json:"known_ms"`
}
