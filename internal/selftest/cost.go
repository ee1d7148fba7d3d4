package selftest

import (
	"fmt"
	"iter"
	"math"

	"tare/internal/bench"
	"tare/internal/overhead"
	"tare/internal/stats"
)

// Cost is what observing costs.
type Cost struct {
	Margin float64 `json:"margin"`
	// Effects are the results with meters over those without.
	Effects []CostRow `json:"effects,omitempty"`
	// Meters are what the readings of the watched instances cost.
	Meters []MeterRow `json:"meters,omitempty"`
	// Whole is, by platform, what this program and its agents used while they
	// watched, in % of a core.
	Whole []WholeRow `json:"whole,omitempty"`
	Tools *ToolsCost `json:"tools,omitempty"`
	// NoTools says why pidstat and docker stats were not compared with.
	NoTools string `json:"no_tools,omitempty"`
}

// CostRow is one workload's result with meters over that without. Above 1 is better.
type CostRow struct {
	Case     string `json:"case"`
	Platform string `json:"platform"` // "all" is the geometric mean over the platforms, by block
	Metric   string `json:"metric"`
	// Ratio, Low and High are of the 95 % interval; 0 if refused.
	Ratio   float64          `json:"ratio"`
	Low     float64          `json:"low"`
	High    float64          `json:"high"`
	Verdict overhead.Verdict `json:"verdict"`
	// P is of the two one-sided tests; absent if there are too few blocks.
	P      *float64 `json:"p_equivalence,omitempty"`
	Blocks int      `json:"blocks"` // with both
	Why    string   `json:"why,omitempty"`
}

// allPlatforms is the platform of a row over all of them.
const allPlatforms = "all"

// WholeRow is what this program and the agents used on one platform.
type WholeRow struct {
	Platform  string  `json:"platform"`
	Instances int     `json:"instances"`
	Launches  int     `json:"launches"`
	Tare      float64 `json:"tare_percent"` // all of its process, relaying output included
	Agents    float64 `json:"agents_percent"`
}

// ToolsCost sets what this program used against what pidstat and docker stats
// did, watching the same instances at the same time, in % of a core.
type ToolsCost struct {
	Instances   int     `json:"instances"`
	Launches    int     `json:"launches"`
	Tare        float64 `json:"tare_percent"`
	Agents      float64 `json:"agents_percent"`
	Pidstat     float64 `json:"pidstat_percent"`
	DockerStats float64 `json:"docker_stats_percent"` // the client
	// Daemons is what dockerd, containerd and the shims used beyond what they
	// use in the block's launch without docker stats.
	Daemons float64 `json:"daemons_percent"`
	// Share is ours over theirs, with its 95 % interval.
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Why   string  `json:"why,omitempty"` // there is no interval
}

// The parts of the processes that run beside.
const (
	PartPidstat     = "pidstat"
	PartDockerStats = "docker-stats"
)

// SamplesOf reads the samples of a trial.
type SamplesOf func(trial string, f func(*bench.Sample) error) error

// EvaluateCost reads what observing cost.
func EvaluateCost(p *bench.Plan, outcomes iter.Seq2[*bench.Outcome, error], samples SamplesOf) (*Cost, error) {
	found, err := headlines(p, outcomes)
	if err != nil {
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	c := &Cost{Margin: CostMargin}
	c.effects(p, found)
	w := newWatch()
	for o, err := range outcomes {
		if err != nil {
			return nil, fmt.Errorf("evaluate: %w", err)
		}
		s := p.Scene(o.Scene)
		if o.Status != bench.Done || o.Unmetered || s.Case != watchCase {
			continue
		}
		if err := w.add(s, o, samples); err != nil {
			return nil, fmt.Errorf("evaluate trial %s: %w", o.Trial, err)
		}
	}
	c.Meters = w.meters()
	c.Whole = w.whole()
	c.Tools = w.tools()
	return c, nil
}

// effects compares each scene with the like one without meters.
func (c *Cost) effects(p *bench.Plan, found map[string]values) {
	for i := 0; i < len(p.Scenes); {
		name := p.Scenes[i].Case
		metric := ""
		for _, m := range p.Metrics[name] {
			if m.Headline {
				metric = m.Name
			}
		}
		var pairs []values // with over without, by block
		for ; i < len(p.Scenes) && p.Scenes[i].Case == name; i++ {
			s := &p.Scenes[i]
			off := found[name+"/"+aliased(s.Platform, Unmetered).String()]
			if s.Unmetered || name == watchCase || off == nil {
				continue
			}
			ratios := ratiosOf(found[s.ID], off)
			pairs = append(pairs, ratios)
			c.Effects = append(c.Effects, costRow(name, s.Platform.String(), metric, ratios))
		}
		if len(pairs) > 1 {
			c.Effects = append(c.Effects, costRow(name, allPlatforms, metric, meanOf(pairs)))
		}
	}
}

// ratiosOf pairs two scenes by block.
func ratiosOf(value, base values) values {
	out := values{}
	for b, v := range value {
		if w, ok := base[b]; ok && v > 0 && w > 0 {
			out[b] = v / w
		}
	}
	return out
}

// meanOf is the geometric mean over the scenes, of the blocks that all have.
func meanOf(pairs []values) values {
	out := values{}
	for b := range pairs[0] {
		sum, n := 0.0, 0
		for _, p := range pairs {
			if v, ok := p[b]; ok {
				sum, n = sum+math.Log(v), n+1
			}
		}
		if n == len(pairs) {
			out[b] = math.Exp(sum / float64(n))
		}
	}
	return out
}

func costRow(name, platform, metric string, ratios values) CostRow {
	one, list := values{}, []float64{}
	for b, v := range ratios {
		one[b] = 1
		list = append(list, v)
	}
	r := CostRow{Case: name, Platform: platform, Metric: metric, Blocks: len(ratios)}
	interval, verdict, err := overhead.Compare(ratios, one, CostMargin)
	r.Ratio, r.Low, r.High, r.Verdict = interval.Mid, interval.Low, interval.High, verdict
	if err != nil {
		r.Why = err.Error()
	}
	if p, err := stats.Equivalence(list, CostMargin); err == nil {
		r.P = &p
	}
	return r
}
