package overhead

import (
	"fmt"
	"slices"

	"tare/internal/audit"
	"tare/internal/bench"
	"tare/internal/stats"
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
	// Effect is the ratio to the other scene on the same platform, paired by block.
	Effect *Effect `json:"effect"`
	// Kept is the ratio in the direction in which more is better: 1 is all of
	// the performance, 0 none. Low and High bound its interval, both 0 if there is none.
	Kept float64 `json:"kept"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Against compares Kept with the baseline platform's; nil for that itself.
	Against *Effect `json:"against,omitempty"`
	// Differs are what the specification has otherwise than in the other scene,
	// besides neighbours and placement: "memory 1 GiB for 256 MiB".
	Differs []string `json:"differs,omitempty"`
	// Launches were wanted; of them N finished and DNF did not beside their
	// neighbour, which is a finding; Failed failed for other reasons, and Missing have no outcome.
	// Overdue were ended by the time of their own cages, which says nothing of the platform.
	Launches int `json:"launches"`
	N        int `json:"n"`
	DNF      int `json:"dnf,omitempty"`
	Overdue  int `json:"overdue,omitempty"`
	Failed   int `json:"failed,omitempty"`
	Missing  int `json:"missing,omitempty"`
	// Fairness is that between alike subjects; nil with one.
	Fairness *Fairness `json:"fairness,omitempty"`
	// Gone are launches in which the neighbour's own program or instance ended of
	// itself before the measurement did, and Ended those that the watchdog ended.
	Gone  int `json:"neighbour_gone,omitempty"`
	Ended int `json:"ended_by_watchdog,omitempty"`
	// Words say the cell in short.
	Words string `json:"words"`
}

// Cases are those in the table, by name; none of a nil table.
func (m *Matrix) Cases() map[string]bool {
	names := map[string]bool{}
	if m == nil {
		return names
	}
	for _, r := range m.Rows {
		names[r.Case] = true
		for _, c := range r.Cells {
			if c != nil {
				names[c.Case] = true
			}
		}
	}
	return names
}

// relative makes the table of the scenes that are set against others.
func (s *study) relative(observed *observed) {
	m := &Matrix{}
	for i := range s.plan.Scenes {
		if r := s.plan.Scenes[i].Relative; r != nil && !slices.Contains(m.Columns, r.Column) {
			m.Columns = append(m.Columns, r.Column)
		}
	}
	for i := range s.plan.Scenes {
		s.relate(m, &s.plan.Scenes[i], observed)
	}
	if len(m.Rows) == 0 {
		return
	}
	s.compareKept(m)
	s.result.Relative = m
}

// relate adds the cells of a scene, one for each metric.
func (s *study) relate(m *Matrix, sc *bench.Scene, observed *observed) {
	r := sc.Relative
	if r == nil {
		return
	}
	platform := sc.Platform.String()
	alone := s.plan.Scene(r.To + "/" + platform)
	if alone == nil {
		s.warn("%s is set against %s, which was not measured on %s", sc.Case, r.To, platform)
		return
	}
	fair, differs, caveats := s.changed(sc, alone, observed), differences(sc, alone), s.caveats(sc, alone)
	for _, metric := range s.plan.Metrics[sc.Case] {
		base := s.points(alone, metric.Name)
		k := slices.IndexFunc(m.Rows, func(x MatrixRow) bool {
			return x.Row == r.Row && x.Platform == platform && x.Metric.Name == metric.Name && x.Case == r.To
		})
		if k < 0 {
			k = len(m.Rows)
			row := MatrixRow{Row: r.Row, Case: r.To, Platform: platform, Label: s.labels[platform], Baseline: platform == s.plan.Baseline,
				Metric: metric, N: len(base), Cells: make([]*MatrixCell, len(m.Columns))}
			if len(base) > 0 {
				row.Alone = stats.Median(values(base))
			}
			m.Rows = append(m.Rows, row)
		}
		for _, c := range caveats {
			if !slices.Contains(m.Rows[k].Caveats, c) {
				m.Rows[k].Caveats = append(m.Rows[k].Caveats, c)
			}
		}
		c := s.cell(sc, metric, base, fair)
		c.Differs = differs
		m.Rows[k].Cells[slices.Index(m.Columns, r.Column)] = c
	}
}

// cell sets a scene's launches against the points of another's.
func (s *study) cell(sc *bench.Scene, metric bench.Metric, base []Point, fair *audit.Audit) *MatrixCell {
	own := s.points(sc, metric.Name)
	c := &MatrixCell{Case: sc.Case, N: len(own), Launches: len(s.scenes[sc.ID])}
	for _, t := range s.scenes[sc.ID] {
		o := s.last[t.ID]
		switch {
		case o == nil || o.Status == bench.Aborted:
			c.Missing++
			continue
		case o.Status == bench.Failed:
			c.Failed++
		case o.Status == bench.Overdue:
			c.Overdue++
		case o.Status == bench.DidNotFinish:
			c.DNF++
		}
		switch gone := slices.ContainsFunc(o.Actors, func(a bench.ActorOutcome) bool { return a.Ended != "" }); {
		case o.Watch != nil && o.Watch.Ended != "":
			c.Ended++
		case gone && (o.Watch == nil || !o.Watch.Overdue):
			c.Gone++
		}
	}
	c.Fairness = s.fairness(sc, metric.Name)
	level, _ := s.level(sc.Case, sc.Platform.String())
	c.Effect = relativeEffect(own, base, metric.Better, level, s.plan.Margin)
	c.Effect.Caution = s.caution(sc.Platform.String())
	c.Effect.judge(fair, s.options.AllowUnfair)
	if c.Effect.Ratio > 0 {
		c.Kept, c.Low, c.High = c.Effect.Ratio, c.Effect.Low, c.Effect.High
		if metric.Better == bench.LowerIsBetter {
			c.Kept = 1 / c.Kept
			if c.High > 0 {
				c.Low, c.High = 1/c.High, 1/c.Low
			}
		}
	}
	c.Words = cellWords(c)
	return c
}

// relativeEffect compares two sets of launches of one platform, paired by block.
func relativeEffect(own, base []Point, better bench.Direction, level, margin float64) *Effect {
	e := &Effect{Verdict: Refused, Ratios: []Point{}}
	ratios, interval, v, err := compare(byBlock(own), byBlock(base), level, margin)
	for _, r := range ratios {
		e.Ratios = append(e.Ratios, Point{Block: r.Block, Value: r.Value})
	}
	e.N = len(ratios)
	if err != nil {
		e.Why = fmt.Sprintf("%s in which both finished; an interval needs at least %d", blocks(e.N), stats.MinPairs)
		if mid, err := stats.GeoMean(numbers(ratios)); err == nil {
			e.set(mid, better)
		}
		return e
	}
	e.set(interval.Mid, better)
	e.Low, e.High, e.Confidence, e.Verdict = interval.Low, interval.High, level, v
	return e
}

func byBlock(points []Point) map[int]float64 {
	m := map[int]float64{}
	for _, p := range points {
		m[p.Block] = p.Value
	}
	return m
}

// compareKept sets what each platform keeps against what the baseline keeps,
// block by block: the ratio of two ratios, each within one platform.
func (s *study) compareKept(m *Matrix) {
	for i := range m.Rows {
		row := &m.Rows[i]
		k := slices.IndexFunc(m.Rows, func(x MatrixRow) bool {
			return x.Baseline && x.Row == row.Row && x.Case == row.Case && x.Metric.Name == row.Metric.Name
		})
		if row.Baseline || k < 0 {
			continue
		}
		for j, c := range row.Cells {
			base := m.Rows[k].Cells[j]
			if c == nil || base == nil {
				continue
			}
			if c.Effect.Verdict == Unfair || base.Effect.Verdict == Unfair {
				c.Against = &Effect{Verdict: Unfair, Ratios: []Point{}, Caution: c.Effect.Caution, Words: "no comparison with " + s.plan.Baseline + ": one of the two is unfair"}
				continue
			}
			level, _ := s.level(c.Case, row.Platform)
			c.Against = relativeEffect(c.Shares(row.Metric), base.Shares(row.Metric), bench.HigherIsBetter, level, s.plan.Margin)
			c.Against.Caution = c.Effect.Caution
			c.Against.Words = againstWords(c.Against, c, base, s.plan.Baseline)
		}
	}
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
