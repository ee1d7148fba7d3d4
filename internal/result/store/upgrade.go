package store

import (
	"encoding/json"

	"tare/internal/bench"
)

// formatBefore is the earlier version of the folder's layout, which is still read:
// limits of adversaries are called "cage", the steps of a ramp "crowd", and
// metrics by the names of [metricsBefore].
const formatBefore = "tare-run/1"

// metricsBefore are metrics by the names they had in the earlier version.
var metricsBefore = map[string]string{
	"ready": "time_to_ready", "first_command": "time_to_first_command",
	"latency_mean": "mean_latency", "latency_p95": "p95_latency", "latency_p99": "p99_latency",
	"read_latency_p95": "read_p95_latency", "read_latency_p99": "read_p99_latency",
	"write_latency_p95": "write_p95_latency", "write_latency_p99": "write_p99_latency",
}

// userProgram is the workload whose metrics its user names.
const userProgram = "command"

// upgrade reads what an earlier version wrote as this one would have written it.
// The nil upgrade changes nothing.
type upgrade struct {
	users map[string]bool // cases whose metrics the user named, and scenes of these cases
}

// planUpgrade upgrades the plan and returns what upgrades its outcomes.
func planUpgrade(text []byte, p *bench.Plan) (*upgrade, error) {
	var before struct {
		Scenes []struct {
			Actors []struct {
				Cage *bench.Containment `json:"cage"`
			} `json:"actors"`
		} `json:"scenes"`
	}
	if err := json.Unmarshal(text, &before); err != nil {
		return nil, err
	}
	u := &upgrade{users: map[string]bool{}}
	for i := range p.Scenes {
		s := &p.Scenes[i]
		for j := range s.Actors {
			a := &s.Actors[j]
			if a.Containment == nil {
				a.Containment = before.Scenes[i].Actors[j].Cage
			}
			if a.Role == bench.Subject && a.Workload == userProgram {
				u.users[s.Case], u.users[s.ID] = true, true
			}
		}
	}
	for name, metrics := range p.Metrics {
		for i := range metrics {
			metrics[i].Name = u.metric(name, metrics[i].Name)
		}
	}
	return u, nil
}

// outcome upgrades the outcome that was read from the line.
func (u *upgrade) outcome(line []byte, o *bench.Outcome) error {
	if u == nil {
		return nil
	}
	var before struct {
		Crowd *bench.Density `json:"crowd"`
	}
	if err := json.Unmarshal(line, &before); err != nil {
		return err
	}
	if o.Density == nil {
		o.Density = before.Crowd
	}
	rename := func(values []bench.Value) {
		for i := range values {
			values[i].Metric = u.metric(o.Scene, values[i].Metric)
		}
	}
	rename(o.Values)
	for i := range o.Actors {
		rename(o.Actors[i].Values)
	}
	return nil
}

// metric is the name that a metric of the scene or case has now.
func (u *upgrade) metric(of, name string) string {
	if now, ok := metricsBefore[name]; ok && !u.users[of] {
		return now
	}
	return name
}
