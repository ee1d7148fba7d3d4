package reproduce

import (
	"slices"
	"strings"

	"tare/internal/papers"
)

// PaperRow is a paper as it can be reproduced here.
type PaperRow struct {
	ID         string       `json:"paper"`
	Title      string       `json:"title"`
	States     string       `json:"states"`     // "22 as published, 34 narrower"
	Measurable int          `json:"measurable"` // exhibits in which the paper measures something
	Here       int          `json:"here"`       // of them those of which this host can measure something
	Claims     int          `json:"claims"`
	Seconds    float64      `json:"estimate_s"` // that all of it takes here at most
	Exhibits   []ExhibitRow `json:"exhibits"`
}

// ExhibitRow is an exhibit as it can be reproduced here.
type ExhibitRow struct {
	ID          string       `json:"id"`
	Title       string       `json:"title"`
	State       papers.State `json:"state"`
	Claims      int          `json:"claims"`
	Experiments []string     `json:"experiments,omitempty"`
	Platforms   []string     `json:"platforms,omitempty"` // ours, that this host has
	// Why this host lacks some of it: platforms, a meter, room.
	Why     string  `json:"why,omitempty"`
	Seconds float64 `json:"estimate_s,omitempty"` // that it alone takes here at most
}

// Takes is how long the part takes at most, in seconds.
func (p *Part) Takes() float64 {
	if p.budget > 0 {
		return min(p.Estimate, max(p.Least, p.budget.Seconds()))
	}
	return p.Estimate
}

// State is how near the experiments come to an exhibit.
func (h *Host) State(p *papers.Paper, x *papers.Exhibit) papers.State {
	return p.State(x, h.experiments)
}

// List says of papers what can be reproduced of them here.
func (h *Host) List(ask *Ask) []PaperRow {
	var rows []PaperRow
	for _, c := range ask.Papers {
		row := PaperRow{ID: c.Paper.ID, Title: c.Paper.Title}
		whole := *ask
		whole.Papers = []Chosen{c}
		for _, p := range h.Parts(&whole) {
			if p.Why == "" {
				row.Seconds += p.Takes()
			}
		}
		var states []papers.State
		for i := range c.Paper.Exhibits {
			x := &c.Paper.Exhibits[i]
			if !c.has(x) {
				continue
			}
			e := h.exhibit(c.Paper, x, ask)
			states = append(states, e.State)
			row.Claims += e.Claims
			if e.State.Kind != papers.Described {
				row.Measurable++
			}
			if e.Seconds > 0 {
				row.Here++
			}
			row.Exhibits = append(row.Exhibits, e)
		}
		row.States = papers.Counts(states)
		rows = append(rows, row)
	}
	return rows
}

func (h *Host) exhibit(p *papers.Paper, x *papers.Exhibit, ask *Ask) ExhibitRow {
	row := ExhibitRow{ID: x.ID, Title: x.Title, State: p.State(x, h.experiments), Claims: len(x.Claims), Experiments: x.Experiments()}
	if len(row.Experiments) == 0 {
		return row
	}
	var why []string
	for _, name := range x.Platforms {
		ref, lacks := h.Platform(p, x, name, ask.As)
		if ref == "" {
			why = append(why, name+": "+lacks)
		} else if !slices.Contains(row.Platforms, ref) {
			row.Platforms = append(row.Platforms, ref)
		}
	}
	alone := *ask
	alone.Papers = []Chosen{{Paper: p, Exhibits: []string{x.ID}}}
	for _, part := range h.Parts(&alone) {
		if part.Why != "" {
			why = append(why, part.Experiment+": "+part.Why)
			continue
		}
		row.Seconds += part.Takes()
	}
	if len(ask.Meters) == 0 && slices.ContainsFunc(x.Shows, func(s papers.Show) bool { return slices.Contains(s.Metrics, "power") }) {
		why = append(why, "power needs a meter (--power)")
	}
	row.Why = strings.Join(why, "; ")
	return row
}
