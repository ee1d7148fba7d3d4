package result

import "tare/internal/bench"

// Scheduling is how often one domain was put on a CPU, how long it stayed and
// how long it waited for one, as the host's scheduler counts it (tso2014 figures
// 2, 3 and 4). A domain is an instance: all tasks in its control groups.
type Scheduling struct {
	Platform string `json:"platform"` // the subject's
	Label    string `json:"label,omitempty"`
	Baseline bool   `json:"baseline,omitempty"`
	// Domain is the actor's name or, of several idle ones or more than a few of another role, the role.
	Domain string     `json:"domain"`
	Role   bench.Role `json:"role"`
	// On is the domain's own platform, and Domains how many the figures are the mean of.
	On      string `json:"on"`
	Domains int    `json:"domains"`
	// N is the number of launches in which executions were counted.
	N          int        `json:"n"`
	Quantities []Quantity `json:"quantities"`
	Notes      []string   `json:"notes,omitempty"`
	// Why there are no figures at all.
	Why string `json:"why,omitempty"`
}

// Quantity is one figure of a domain.
type Quantity struct {
	Metric bench.Metric `json:"metric"`
	Points []Point      `json:"points"`
	Median float64      `json:"median"`
	// Effect compares with the same domain of the baseline platform; nil for that itself.
	Effect *Effect `json:"effect,omitempty"`
	// Alone compares a subject with that of the scene this one is set against, on
	// the same platform; nil where there is none.
	Alone *Effect `json:"alone,omitempty"`
}

// Of returns the quantity by its metric's name, or nil.
func (d *Scheduling) Of(metric string) *Quantity {
	for i := range d.Quantities {
		if d.Quantities[i].Metric.Name == metric {
			return &d.Quantities[i]
		}
	}
	return nil
}

// The names of the quantities. Those of virtual CPUs are the same with [VCPU] before them.
const (
	Executions   = "executions"
	PerExecution = "cpu_per_execution"
	Waited       = "cpu_wait"
	VCPU         = "vcpu_"
)

// SchedulingRows are the figures of the case's single launches, as rows for
// exports that have a line for each launch; the metric names the domain.
func (c *Case) SchedulingRows() []Row {
	var rows []Row
	for _, d := range c.Scheduling {
		for _, q := range d.Quantities {
			m := q.Metric
			m.Name += " of " + d.Domain
			rows = append(rows, Row{Metric: m, Platform: d.Platform, Label: d.Label, Baseline: d.Baseline,
				Points: q.Points, Median: q.Median, N: len(q.Points), Effect: q.Effect})
		}
	}
	return rows
}
