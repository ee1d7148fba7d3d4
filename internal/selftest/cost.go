package selftest

import (
	"fmt"
	"iter"
	"math"

	"tare/internal/analysis/effect"
	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/result"
)

// Cost is what observing costs.
type Cost struct {
	Margin float64 `json:"margin"`
	// Effects are the results with meters over those without.
	Effects []CostRow `json:"effects,omitempty"`
	// Meters are what the readings cost.
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
	Ratio   float64        `json:"ratio"`
	Low     float64        `json:"low"`
	High    float64        `json:"high"`
	Verdict result.Verdict `json:"verdict"`
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
	c := &Cost{Margin: costMargin()}
	c.effects(p, found)
	w := newWatch()
	for o, err := range outcomes {
		if err != nil {
			return nil, fmt.Errorf("evaluate: %w", err)
		}
		s := p.Scene(o.Scene)
		if o.Status != bench.Done || o.Unmetered {
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
			if s.Unmetered || name == WatchCase || off == nil {
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
	interval, verdict, err := effect.Compare(ratios, one, effect.Confidence, costMargin())
	r.Ratio, r.Low, r.High, r.Verdict = interval.Mid, interval.Low, interval.High, verdict
	if err != nil {
		r.Why = err.Error()
	}
	if p, err := stats.Equivalence(list, costMargin()); err == nil {
		r.P = &p
	}
	return r
}

// enoughCostBlocks is from how many on the finding is kept as whole.
const enoughCostBlocks = 10

// Finding is the part's section of the certificate; done says that all of the
// run was measured.
func (c *Cost) Finding(done bool) *Finding {
	f := &Finding{Part: PartCost, Unit: "blocks", Data: c}
	for _, r := range c.Effects {
		f.Size = max(f.Size, r.Blocks)
	}
	if c.Tools != nil {
		f.Size = max(f.Size, c.Tools.Launches)
	}
	f.Complete = done && len(c.Effects) > 0 && c.Tools != nil && f.Size >= enoughCostBlocks
	switch {
	case len(c.Effects) == 0:
		f.Short = "without the effect on results"
	case c.Tools == nil:
		f.Short = "without pidstat and docker stats"
	case f.Size < enoughCostBlocks:
		f.Short = fmt.Sprintf("fewer than %d", enoughCostBlocks)
	}
	if len(c.Effects) > 0 {
		f.Claims = append(f.Claims, c.unchanged())
		f.Tables = append(f.Tables, c.effectTable())
	}
	f.Claims = append(f.Claims, c.cheap())
	if c.Tools != nil {
		f.Tables = append(f.Tables, c.Tools.table())
	}
	if len(c.Meters) > 0 {
		f.Tables = append(f.Tables, c.meterTable())
	}
	return f
}

// unchanged holds if each workload is equivalent over all platforms, and none
// surely differs by more than the margin on any.
func (c *Cost) unchanged() Claim {
	claim := Claim{Claim: Promises[ResultsKept].Claim(), Held: Yes}
	all, k, n := false, 0, 0
	for _, r := range c.Effects {
		all = all || r.Platform == allPlatforms
	}
	for _, r := range c.Effects {
		if r.Why == "" && (r.Low > 1+costMargin() || r.High < 1-costMargin()) {
			claim.Held = No
		}
		if all && r.Platform != allPlatforms {
			continue
		}
		n++
		if r.Verdict == result.Equivalent {
			k++
		} else if claim.Held == Yes {
			claim.Held = Open
		}
		claim.Found += fmt.Sprintf(", %s %s", r.Case, r.interval())
	}
	claim.Found = fmt.Sprintf("%d of %d workloads equivalent%s", k, n, claim.Found)
	return claim
}

func (r *CostRow) interval() string {
	if r.Why != "" {
		return "no interval"
	}
	return fmt.Sprintf("%+.2f %% (%+.2f to %+.2f)", 100*(r.Ratio-1), 100*(r.Low-1), 100*(r.High-1))
}

func (c *Cost) effectTable() Table {
	t := Table{Title: "Results with meters on over those with meters off",
		Note: fmt.Sprintf("Each is a fresh launch, paired by block; 95 %% intervals; equivalent: within %g %%. All four are rates: above 0 is better with meters on. "+
			"p is of the two one-sided tests. The claim holds if every workload is equivalent over all platforms, and fails if one's interval lies beyond the margin on any.", 100*costMargin()),
		Head: []string{"workload", "platform", "on over off", "verdict", "p", "blocks"}}
	for _, r := range c.Effects {
		p := ""
		if r.P != nil {
			p = fmt.Sprintf("%.3f", *r.P)
		}
		t.Rows = append(t.Rows, []string{r.Case, r.Platform, r.interval(), string(r.Verdict), p, fmt.Sprint(r.Blocks)})
	}
	return t
}

// cheap compares with the tools.
func (c *Cost) cheap() Claim {
	claim := Claim{Claim: Promises[Cheap].Claim(), Held: Open}
	switch t := c.Tools; {
	case t == nil:
		claim.Found = "not compared: " + c.NoTools
	case t.Why != "":
		claim.Found = fmt.Sprintf("%.2f, without an interval: %s", t.Share, t.Why)
	default:
		claim.Found = fmt.Sprintf("%.3f of it (%.3f-%.3f)", t.Share, t.Low, t.High)
		if t.High <= Promises[Cheap].share() {
			claim.Held = Yes
		} else if t.Low > Promises[Cheap].share() {
			claim.Held = No
		}
	}
	return claim
}

func (t *ToolsCost) table() Table {
	percent := func(v float64) string { return fmt.Sprintf("%.3f", v) }
	return Table{Title: fmt.Sprintf("Watching the same %d containers at the same time", t.Instances),
		Note: fmt.Sprintf("In %% of a core, mean of %d launches. This program: its whole process, running the trial included.", t.Launches),
		Head: []string{"", "% of a core"},
		Rows: [][]string{
			{"this program", percent(t.Tare)}, {"its agents inside", percent(t.Agents)},
			{"pidstat 1", percent(t.Pidstat)}, {"docker stats, the client", percent(t.DockerStats)},
			{"dockerd, containerd and shims for docker stats, above idle", percent(t.Daemons)},
		}}
}

func (c *Cost) meterTable() Table {
	t := Table{Title: "What each meter costs",
		Note: "CPU time of a reading, and in % of a core at one reading a second of one instance. The agent's is all it used between two readings.",
		Head: []string{"platform", "level", "meter", "readings", "µs each", "% of a core"}}
	for _, r := range c.Meters {
		t.Rows = append(t.Rows, []string{r.Platform, string(r.Level), r.Meter, fmt.Sprint(r.Readings), fmt.Sprintf("%.0f", r.Each), fmt.Sprintf("%.4f", r.Percent)})
	}
	return t
}
