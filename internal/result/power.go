package result

import (
	"fmt"

	"tare/internal/analysis/stats"
	"tare/internal/bench"
)

// Power is one meter of what the machine drew, and what it told of the run as a whole.
type Power struct {
	Meter string `json:"meter"` // as the user named it
	Of    string `json:"of"`    // what it measures, in words
	// Part: not the whole machine. Modelled: worked out from CPU time, not measured.
	Part     bool `json:"part,omitempty"`
	Modelled bool `json:"modelled,omitempty"`
	// StepW and StepJ are the least difference it shows, in watts or joules;
	// Update how often it has a new value, in seconds; 0 is unknown.
	StepW  float64 `json:"step_w,omitempty"`
	StepJ  float64 `json:"step_j,omitempty"`
	Update float64 `json:"update_s,omitempty"`
	// Idle is the mean power at rest over the blocks; nil if it is not known.
	Idle  *float64    `json:"idle_w,omitempty"`
	Idles []IdlePower `json:"rests,omitempty"`
	// Fit is the straight line through power over busy cores, of all launches
	// and rests: what the model of a host without a meter would be told.
	Fit *PowerFit `json:"fit,omitempty"`
	// Shares is what each resource adds to the power at rest, by the baseline.
	Shares []PowerShare `json:"shares,omitempty"`
	// Curves are power over load, where a case is there at several loads.
	Curves []PowerCurve `json:"curves,omitempty"`
	Notes  []string     `json:"notes,omitempty"`
}

// IdlePower is the power at rest around the trials of a block.
type IdlePower struct {
	Block int `json:"block"`
	// Before and After the trials; nil if not known.
	Before *float64 `json:"before_w,omitempty"`
	After  *float64 `json:"after_w,omitempty"`
	// Watts is their mean, and Bound the most by which it may be off: by the
	// meter, and by half of what the two differ.
	Watts float64 `json:"power_w"`
	Bound float64 `json:"bound_w"`
}

// PowerFit is watts = Rest + Core * busy cores, by least squares.
type PowerFit struct {
	Idle float64 `json:"idle_w"`
	Core float64 `json:"core_w"`
	// Residual is the root of the mean squared deviation of the points, in watts.
	Residual float64 `json:"residual_w"`
	Points   int     `json:"points"`
}

// ModelName is how a host without a meter would be told of the line.
func (f PowerFit) ModelName() string { return fmt.Sprintf("model:idle=%.4g,core=%.3g", f.Idle, f.Core) }

// PowerShare is what keeping one resource busy adds (tesfatsion2018, figure 16).
type PowerShare struct {
	Resource string  `json:"resource"`
	Case     string  `json:"case"` // the one that adds the most
	Net      float64 `json:"net_w"`
	Bound    float64 `json:"bound_w"`
	// Share is Net by all that is drawn meanwhile.
	Share float64 `json:"share"`
}

// PowerCurve is the power of one platform over load (tesfatsion2018, figure 2c).
type PowerCurve struct {
	Name     string       `json:"name"` // of the scene whose cases differ in load
	Platform string       `json:"platform"`
	Points   []PowerPoint `json:"points"` // by load, the machine at rest first
	// Proportionality is 1 if power rises from 0 in proportion to load and 0 if
	// it is always that of the highest: 2 - 2 * area below the curve, both axes
	// scaled to their highest.
	Proportionality float64 `json:"proportionality"`
}

// PowerPoint is one load.
type PowerPoint struct {
	Case  string  `json:"case,omitempty"` // empty at rest
	Cores float64 `json:"busy_cpu"`       // of the host
	Watts float64 `json:"power_w"`
	// OfPeak is by the highest power, OfDynamic above rest by the highest above rest.
	OfPeak    float64 `json:"of_peak"`
	OfDynamic float64 `json:"of_dynamic_peak"`
}

// Energy is what one platform's launches of a case drew by one meter.
type Energy struct {
	Meter    string `json:"meter"`
	Platform string `json:"platform"`
	Label    string `json:"label,omitempty"`
	Baseline bool   `json:"baseline,omitempty"`
	Modelled bool   `json:"modelled,omitempty"`
	// N launches have a known power; Points are their watts.
	N      int     `json:"n"`
	Points []Point `json:"points"`
	// Watts is the mean over the launches' windows, and Bound the most by which
	// the meter may be off in any of them; 0 where N is.
	Watts float64 `json:"power_w,omitzero"`
	Bound float64 `json:"bound_w,omitzero"`
	// Joules is the mean energy of a window.
	Joules float64 `json:"energy_j,omitzero"`
	// NetWatts and NetJoules are above the block's power at rest; nil without it.
	NetWatts  *float64 `json:"net_w,omitempty"`
	NetJoules *float64 `json:"net_j,omitempty"`
	NetBound  float64  `json:"net_bound_w,omitempty"`
	// PerUnit and NetPerUnit are joules for one unit of work, which Unit names:
	// "event", "MB", "launch"; nil where nothing is counted.
	Unit       string   `json:"unit,omitempty"`
	PerUnit    *float64 `json:"j_per_unit,omitempty"`
	NetPerUnit *float64 `json:"net_j_per_unit,omitempty"`
	// Effect is on the power while the case runs: its overhead is equation 2 of
	// tesfatsion2018 with the sign kept. Its interval holds what the meter
	// cannot tell. Nil for the baseline.
	Effect *Effect  `json:"effect,omitempty"`
	Notes  []string `json:"notes,omitempty"`
}

// PowerRows are the powers of the case's single launches, as rows for exports
// that have a line for each launch; the metric names the meter, and says if it
// is a model.
func (c *Case) PowerRows() []Row {
	var rows []Row
	for i := range c.Energy {
		e := &c.Energy[i]
		if e.N == 0 {
			continue
		}
		row := e.row()
		row.Metric.Name = "power by " + e.Meter
		if e.Modelled {
			row.Metric.Name = "modelled " + row.Metric.Name
		}
		rows = append(rows, row)
	}
	return rows
}

// row is the power of the launches.
func (e *Energy) row() Row {
	return Row{Metric: bench.PowerMetric, Platform: e.Platform, Label: e.Label, Baseline: e.Baseline, Points: e.Points,
		Median: stats.Median(Values(e.Points)), N: e.N, Effect: e.Effect}
}

// meter names the first meter that measured the machine at rest; "" if none did.
func (r *Result) meter() string {
	for _, p := range r.Power {
		if p.Idle != nil && !p.Modelled {
			return p.Meter
		}
	}
	return ""
}

// powerRows are what the case's launches drew by a meter.
func (c *Case) powerRows(meter string) []Row {
	var rows []Row
	for i := range c.Energy {
		if e := &c.Energy[i]; e.Meter == meter {
			rows = append(rows, e.row())
		}
	}
	return rows
}
