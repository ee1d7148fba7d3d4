// Package claims judges what papers claim by what was measured on this host: of every claim whether
// it holds here, and apart from that whether the effect is as large as published. It is pure: stored
// runs go in, a document comes out.
package claims

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/papers"
	"tare/internal/result"
)

// Format is the version of the JSON of a [Document].
const Format = "tare-claims/1"

// Verdict is what was measured says of a claim.
type Verdict string

const (
	Holds     Verdict = "holds here"
	DoesNot   Verdict = "does not hold here"
	Undecided Verdict = "undecided"
	NotAsked  Verdict = "not asked" // nothing was measured that it is about
)

// Verdicts lists them in order.
var Verdicts = []Verdict{Holds, DoesNot, Undecided, NotAsked}

// Run is a stored run that claims are judged by.
type Run struct {
	Dir    string
	Result *result.Result
	// Against works the run out anew with another of its platforms as the baseline, for the audit of
	// that pair.
	Against func(platform string) (*result.Result, error)

	audits map[string]*result.Result
}

// Measured are runs by the experiment they are of, what counts first.
type Measured map[string][]*Run

// Document is what a reproduction says: papers with their exhibits, drawn and judged.
type Document struct {
	Format string  `json:"format"` // "tare-claims/1"
	Papers []Paper `json:"papers"`
	Runs   []Basis `json:"runs"`
}

// Basis is a run that the document rests on.
type Basis struct {
	Dir        string `json:"dir"`
	Experiment string `json:"experiment"`
	Started    string `json:"started"`
	Repeat     string `json:"repeat"`
	Complete   bool   `json:"complete"`
}

// Paper is what this host says of one.
type Paper struct {
	ID       string    `json:"id"`
	Title    string    `json:"title"`
	Cite     string    `json:"cite"` // authors, venue, DOI
	Machine  string    `json:"machine,omitempty"`
	Exhibits []Exhibit `json:"exhibits"`
	Tally    Tally     `json:"tally"`
	// Sizes count the published sizes of claims that hold.
	Sizes  Tally    `json:"sizes"`
	Doubts []string `json:"doubts,omitempty"`
}

// Tally counts verdicts.
type Tally struct {
	Holds     int `json:"holds"`
	DoesNot   int `json:"does_not"`
	Undecided int `json:"undecided"`
	NotAsked  int `json:"not_asked"`
}

// Add counts one.
func (t *Tally) Add(v Verdict) {
	switch v {
	case Holds:
		t.Holds++
	case DoesNot:
		t.DoesNot++
	case Undecided:
		t.Undecided++
	case NotAsked:
		t.NotAsked++
	}
}

// Words say the tally: "3 hold here, 1 does not, 2 undecided, 4 not asked".
func (t Tally) Words() string {
	if t == (Tally{}) {
		return "no claims"
	}
	verb := func(n int, one, many string) string {
		if n == 1 {
			return fmt.Sprintf("1 %s", one)
		}
		return fmt.Sprintf("%d %s", n, many)
	}
	return strings.Join([]string{verb(t.Holds, "holds here", "hold here"), verb(t.DoesNot, "does not", "do not"),
		fmt.Sprintf("%d undecided", t.Undecided), fmt.Sprintf("%d not asked", t.NotAsked)}, ", ")
}

// Exhibit is a figure or table as measured here, beside what was published.
type Exhibit struct {
	ID      string         `json:"id"`
	Title   string         `json:"title"`
	Section string         `json:"section,omitempty"`
	Drawn   papers.Drawing `json:"drawn"`
	State   papers.State   `json:"state"`
	Scale   []string       `json:"scale,omitempty"`
	Doubts  []string       `json:"doubts,omitempty"`
	// Runs are the folders it rests on; none if nothing of it was measured. Lacks are what the runs have
	// none of: "memory of overhead".
	Runs     []string  `json:"runs,omitempty"`
	Lacks    []string  `json:"lacks,omitempty"`
	Plots    []Plot    `json:"plots,omitempty"`
	Findings []Finding `json:"claims,omitempty"`
}

// Finding is one claim as judged here.
type Finding struct {
	Says    string  `json:"says"`
	Test    string  `json:"test"`
	Verdict Verdict `json:"verdict"`
	// Size is whether the effect is as large as published; empty if no size is, or it is not asked.
	Size      Verdict   `json:"size,omitempty"`
	Published []float64 `json:"published,omitempty"`
	// Parts are the combinations of platforms and cases that the claim is about.
	Parts []Part `json:"parts,omitempty"`
	// P is that of the verdict, and Holm the same corrected over the claims of the paper.
	P    *float64 `json:"p,omitempty"`
	Holm *float64 `json:"p_holm,omitempty"`
	// Why it is not decided, or not asked.
	Why string `json:"why,omitempty"`
	// Needed are the blocks that would decide it; 0 if that is not known.
	Needed int `json:"blocks_needed,omitempty"`
	// But is in what the test is not quite the claim.
	But string `json:"but,omitempty"`
}

// Share is the unit of a part that is a share of a whole.
const Share = "share"

// Part is one combination that a claim is about.
type Part struct {
	What string  `json:"what"` // "docker / native in memory"
	Q    float64 `json:"q"`    // geometric mean over blocks of what the claim tests
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	N    int     `json:"n"`
	// Unit is Q's where it is a value alone: the metric's, the factor's of a knee or a peak, or share.
	// "" of a ratio.
	Unit string `json:"unit,omitempty"`
	// Slope: Q is exp of a slope.
	Slope   bool    `json:"slope,omitempty"`
	Verdict Verdict `json:"verdict"`
	Size    Verdict `json:"size,omitempty"`
	Why     string  `json:"why,omitempty"`
	Needed  int     `json:"blocks_needed,omitempty"`
	Caution string  `json:"caution,omitempty"`

	holds, not float64 // p values
}

// Judge judges exhibits of a paper, all if none is named.
func Judge(p *papers.Paper, exhibits []string, from papers.Experiments, m Measured) (Paper, error) {
	out := Paper{ID: p.ID, Title: p.Title, Cite: cite(p), Machine: p.Machine, Doubts: p.Doubts}
	for i := range p.Exhibits {
		x := &p.Exhibits[i]
		if len(exhibits) > 0 && !slices.Contains(exhibits, x.ID) {
			continue
		}
		e := Exhibit{ID: x.ID, Title: x.Title, Section: x.Section, Drawn: x.Drawn, State: p.State(x, from), Scale: x.Scale, Doubts: x.Doubts}
		for _, name := range x.Experiments() {
			for _, r := range m[name] {
				e.Runs = append(e.Runs, r.Dir)
			}
		}
		j := &judge{paper: p, exhibit: x, runs: m}
		e.State = j.standIns(e.State)
		e.Lacks = j.lacks()
		for c := range x.Claims {
			f, err := j.claim(&x.Claims[c])
			if err != nil {
				return Paper{}, fmt.Errorf("judge %s %s: %w", p.ID, x.ID, err)
			}
			e.Findings = append(e.Findings, f)
		}
		e.Plots = j.plots()
		out.Exhibits = append(out.Exhibits, e)
	}
	out.correct()
	return out, nil
}

// standIns lowers a state by the platforms for which others stood in the exhibit's runs.
func (j *judge) standIns(s papers.State) papers.State {
	for _, name := range j.exhibit.Platforms {
		for _, experiment := range j.exhibit.Experiments() {
			for _, r := range j.runs[experiment] {
				ref, _, ok := r.platform(j.paper.Ours(j.exhibit, name))
				text := fmt.Sprintf("platform %s, for which %s stands here", name, ref)
				if !ok || !j.paper.StandsIn(j.exhibit, name, ref) || slices.Contains(s.Missing, text) {
					continue
				}
				s.Missing = append(s.Missing, text)
				if s.Kind == papers.AsPublished {
					s.Kind = papers.Narrower
				}
			}
		}
	}
	return s
}

// lacks are the scenes that the exhibit needs and no run has.
func (j *judge) lacks() (all []string) {
	for _, show := range j.exhibit.Shows {
		for _, scene := range show.Scenes {
			if run, _, _ := j.find(show.Experiment+":"+scene, ""); run == nil {
				if text := scene + " of " + show.Experiment; !slices.Contains(all, text) {
					all = append(all, text)
				}
			}
		}
	}
	return all
}

func cite(p *papers.Paper) string {
	text := strings.Join(p.Authors, ", ")
	for _, part := range []string{p.Venue, p.DOI} {
		if part != "" {
			if text != "" {
				text += ". "
			}
			text += part
		}
	}
	return text
}

// significance is the error at which a claim is decided, over all claims of a paper.
const significance = 0.05

// correct corrects the verdicts for how many claims were asked, by Holm's method, and counts them.
func (p *Paper) correct() {
	var all []*Finding
	var tests []float64
	for i := range p.Exhibits {
		for j := range p.Exhibits[i].Findings {
			if f := &p.Exhibits[i].Findings[j]; f.P != nil {
				all, tests = append(all, f), append(tests, *f.P)
			}
		}
	}
	for i, holm := range stats.Holm(tests) {
		f := all[i]
		f.Holm = &holm
		if f.Verdict != Undecided && holm > significance {
			f.Why = strings.TrimPrefix(fmt.Sprintf("%s; alone it would be decided, but not among the paper's %d claims that were asked", f.Why, len(all)), "; ")
			f.Verdict = Undecided
		}
	}
	for _, e := range p.Exhibits {
		for _, f := range e.Findings {
			p.Tally.Add(f.Verdict)
			if f.Verdict == Holds && f.Size != "" {
				p.Sizes.Add(f.Size)
			}
		}
	}
}

// against is the result with a platform as the baseline.
func (r *Run) against(platform string) (*result.Result, error) {
	if platform == r.Result.Baseline || r.Against == nil {
		return r.Result, nil
	}
	if r.audits == nil {
		r.audits = map[string]*result.Result{}
	}
	if r.audits[platform] == nil {
		a, err := r.Against(platform)
		if err != nil {
			return nil, err
		}
		r.audits[platform] = a
	}
	return r.audits[platform], nil
}

// confidence is the level of an interval of the run's: higher where a stopping rule looked more than
// once, so that 95 % remain.
func (r *Run) confidence() float64 {
	if u := r.Result.Until; u != nil && len(u.Looks) > 1 {
		return stats.LevelsOf(len(u.Looks), 1-significance).Strict
	}
	return 1 - significance
}

// platform is the first of the references that took part, with its label; ok is false if none did.
func (r *Run) platform(refs []string) (name, label string, ok bool) {
	for _, ref := range refs {
		i := slices.IndexFunc(r.Result.Platforms, func(p result.Platform) bool { return p.Name == ref })
		if i >= 0 {
			return ref, r.Result.Platforms[i].Label, true
		}
	}
	return "", "", false
}

// cases are the run's by the name of a scene or of a case.
func (r *Run) cases(name string) (all []*result.Case) {
	for i := range r.Result.Cases {
		c := &r.Result.Cases[i]
		if scene, _, _ := strings.Cut(c.Name, "["); c.Name == name || scene == name {
			all = append(all, c)
		}
	}
	return all
}

// row is a platform's in a case, by the metric; nil without one.
func row(c *result.Case, platform, metric string) *result.Row {
	for i := range c.Rows {
		if r := &c.Rows[i]; r.Platform == platform && r.Metric.Name == metric {
			return r
		}
	}
	return nil
}

// emulated says whether a platform's label tells of a processor that is emulated.
func emulated(label string) bool { return strings.Contains(label, "emulated") }

// levelCPU is the CPU of the subjects or of the layer alone, by what both used and by how much that is
// more than the subjects did.
func levelCPU(c *result.Case, platform, metric string) (points []result.Point, m bench.Metric, caution, why string) {
	m = bench.Metric{Name: metric, Unit: bench.UsageMetrics[0].Unit, Better: bench.LowerIsBetter}
	used, over := row(c, platform, bench.UsageMetrics[0].Name), row(c, platform, bench.UsageMetrics[1].Name)
	if used == nil || over == nil {
		return nil, m, "", fmt.Sprintf("the CPU of each level is not known of %s in %s", platform, c.Name)
	}
	for _, p := range used.Points {
		i := slices.IndexFunc(over.Points, func(q result.Point) bool { return q.Block == p.Block })
		if i < 0 {
			continue
		}
		guest := p.Value / over.Points[i].Value
		if metric == papers.LayerCPU {
			p.Value -= guest
		} else {
			p.Value = guest
		}
		points = append(points, p)
	}
	if len(points) == 0 {
		why = fmt.Sprintf("no launch of %s in %s tells the CPU of each level", platform, c.Name)
	}
	return points, m, "", why
}

// aboveRest is the power of each launch less that at rest around its block, by the first meter that
// measures both. A launch of a block without a rest has none.
func (r *Run) aboveRest(c *result.Case, platform string) (points []result.Point, m bench.Metric, caution, why string) {
	m = bench.PowerMetric
	m.Name, m.Doc = papers.PowerAboveRest, "mean power less that at rest around the block"
	i := slices.IndexFunc(c.Energy, func(e result.Energy) bool { return e.Platform == platform && len(e.Points) > 0 && !e.Modelled })
	if i < 0 {
		_, _, _, why = r.values(c, platform, bench.PowerMetric.Name)
		return nil, m, "", why
	}
	rests := map[int]float64{}
	for _, p := range r.Result.Power {
		if p.Meter != c.Energy[i].Meter {
			continue
		}
		for _, rest := range p.Idles {
			rests[rest.Block] = rest.Watts
		}
	}
	for _, p := range c.Energy[i].Points {
		if rest, ok := rests[p.Block]; ok {
			p.Value -= rest
			points = append(points, p)
		}
	}
	if len(points) == 0 {
		why = "the power at rest is not known"
	}
	return points, m, "", why
}

// values are what a platform's launches of a case had of a metric; why says the reason where there
// are none, and caution what has to be said with them.
func (r *Run) values(c *result.Case, platform, metric string) (points []result.Point, m bench.Metric, caution, why string) {
	switch metric {
	case bench.PowerMetric.Name:
		for i := range c.Energy {
			e := &c.Energy[i]
			switch {
			case e.Platform != platform || len(e.Points) == 0:
			case e.Modelled:
				why = "power is modelled by the CPU's use, not measured"
			default:
				return e.Points, bench.PowerMetric, "", ""
			}
		}
		if why == "" {
			why = "no power meter was read"
		}
		return nil, bench.PowerMetric, "", why
	case papers.PowerAboveRest:
		return r.aboveRest(c, platform)
	case papers.GuestCPU, papers.LayerCPU:
		return levelCPU(c, platform, metric)
	case papers.PSS:
		for i := range c.Density {
			if d := &c.Density[i]; d.Platform == platform {
				for k := range d.Memory {
					if d.Memory[k].Of == "pss" {
						return d.Memory[k].Slopes, bench.Metric{Name: papers.PSS, Unit: d.Memory[k].Unit, Better: bench.LowerIsBetter}, "", ""
					}
				}
			}
		}
		return nil, bench.Metric{}, "", "no finished ramp"
	}
	for i := range c.Scheduling {
		d := &c.Scheduling[i]
		if d.Platform != platform || d.Role != bench.Subject {
			continue
		}
		if q := d.Of(metric); q != nil {
			return q.Points, q.Metric, "", ""
		}
	}
	x := row(c, platform, metric)
	switch {
	case x == nil:
		return nil, bench.Metric{}, "", fmt.Sprintf("%s has no %s in %s", platform, metric, c.Name)
	case len(x.Points) == 0:
		return nil, x.Metric, "", fmt.Sprintf("no launch of %s finished in %s", platform, c.Name)
	case x.Effect != nil && x.Effect.Waiting > 0:
		return nil, x.Metric, "", fmt.Sprintf("in %s the program mostly waits", c.Name)
	case x.Effect != nil && x.Effect.Loaded != "":
		caution = x.Effect.Loaded
	}
	return x.Points, x.Metric, caution, ""
}
