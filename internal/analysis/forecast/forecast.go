// Package forecast says what an experiment will take, and with what power, by what
// earlier runs of the same scenes found: how much launches scatter and what each costs
// in time. It is pure.
package forecast

import (
	"fmt"
	"slices"

	"tare/internal/analysis/effect"
	"tare/internal/analysis/stats"
	"tare/internal/analysis/stop"
	"tare/internal/bench"
	"tare/internal/bench/figure"
)

// Format is the version of the JSON of a [Forecast].
const Format = "tare-forecast/1"

// Run is what an earlier run measured of the plan's scenes.
type Run struct {
	ID     string
	Scenes map[string]*Scene // by the scene's id in the plan
}

// Scene is what a run measured of one scene.
type Scene struct {
	// Window is the measured window in seconds as it was planned, 0 where the launch is
	// what is measured.
	Window float64
	// Warmup is that before it; some programs report both together.
	Warmup   float64
	Launches []Launch // finished, one of each block
	// Spent is the seconds of all launches, also of those that were repeated or failed, and Trials
	// how many trials those were of.
	Spent  float64
	Trials int
}

// Launch is one that counts.
type Launch struct {
	Block  int
	Values map[string]float64 // by metric
	// Series are how metrics went within the window, of those of which it is known.
	Series map[string]bench.Series
	Took   float64 // seconds from its trial's begin to the next one's
	Window float64 // seconds measured
}

// Count is how many blocks do with the document's power, and the range if the scatter lies anywhere
// in its own 80 % interval. 0 stands for more than 1000.
type Count struct {
	Blocks int `json:"blocks"`
	Low    int `json:"low"`
	High   int `json:"high"`
}

// Forecast is the answer for an experiment.
type Forecast struct {
	Format     string   `json:"format"` // "tare-forecast/1"
	Experiment string   `json:"experiment"`
	Title      string   `json:"title"`
	Baseline   string   `json:"baseline"`
	Margin     float64  `json:"margin"`
	Archive    []string `json:"archive"` // the runs that were used
	// Width is the half width asked for, relative to the ratio, at the level of Confidence.
	Width      float64 `json:"width"`
	Confidence float64 `json:"confidence"`
	Power      float64 `json:"power"`
	// Least and Most are the blocks that the plan allows: the same without a rule.
	Least int `json:"least_blocks"`
	Most  int `json:"most_blocks"`
	// Budget is the plan's in seconds; 0 for none.
	Budget float64 `json:"budget_s,omitempty"`
	Cases  []Case  `json:"cases"`
	// Seconds is the time of all trials until each row has reached its goal with the power, and
	// AtMost that of the plan's most blocks; Unknown is the share of Seconds that is the plan's own
	// guess.
	Seconds  float64  `json:"seconds"`
	AtMost   float64  `json:"at_most_s"`
	Unknown  float64  `json:"guessed_share"`
	Words    string   `json:"words"`
	Warnings []string `json:"warnings,omitempty"`
}

// Case is the answer for one case, with those that are set against it and end with it.
type Case struct {
	Name    string   `json:"case"`
	Further []string `json:"further_cases,omitempty"`
	Title   string   `json:"title"`
	Rows    []Row    `json:"rows"`
	// Window is the seconds measured in each trial as planned; 0 where the launch is what is
	// measured.
	Window float64 `json:"window_s,omitempty"`
	// Blocks and Seconds are those until the last row has reached its goal.
	Blocks  int     `json:"blocks"`
	Seconds float64 `json:"seconds"`
	// Better is the window that takes the least time to the half width; nil if none is known to.
	Better *Better `json:"better_window,omitempty"`
	// Why says why there is no forecast, or none of another window.
	Why string `json:"why,omitempty"`
	costs
}

// costs are what a case's trials take in seconds.
type costs struct {
	trial   map[string]float64 // by platform, in each block
	trials  map[string]int     // how many those are
	shared  float64            // of the baseline and its control in each block
	sharing int                // how many those are
	guess   map[string]float64 // what of both is the plan's guess, by platform
	guessed float64            // what of the case's time is
}

// Better is a window that is better than the planned one.
type Better struct {
	Window  float64 `json:"window_s"`
	Blocks  int     `json:"blocks"`    // to the half width, of the row that needs the most
	Seconds float64 `json:"seconds"`   // of the case
	Planned float64 `json:"planned_s"` // to the same half width with the planned window
}

// Row is the answer for one ratio that decides.
type Row struct {
	Name     string `json:"name"` // the platform, and what tells it from its others
	Platform string `json:"platform"`
	Case     string `json:"case"`
	Metric   string `json:"metric"`
	// Runs and Launches are those that it rests on: pairs in a block with what it is compared with.
	Runs     int     `json:"runs"`
	Launches int     `json:"launches"`
	Ratio    float64 `json:"ratio,omitempty"` // geometric mean of all
	// SD is the standard deviation of a block's log ratio within a run, of a window as planned.
	SD float64 `json:"sd,omitempty"`
	// Between and Within are what it consists of: the standard deviation between launches, and that
	// within a window as planned; nil if they are not known apart.
	Between *float64 `json:"sd_between,omitempty"`
	Within  *float64 `json:"sd_within,omitempty"`
	// By says what told them apart: BySeries or ByWindows.
	By string `json:"apart_by,omitempty"`
	// Fixed is the seconds of a launch besides its window, in the mean of both sides.
	Fixed float64 `json:"fixed_s,omitempty"`
	// Narrow is to the half width, and Ends to that or to a decision if the ratio stays as it is.
	Narrow *Count `json:"narrow,omitempty"`
	Ends   *Count `json:"ends,omitempty"`
	// Chance is that of having ended by the plan's most blocks, and Reach the half width expected
	// there.
	Chance float64 `json:"chance,omitempty"`
	Reach  float64 `json:"reach,omitempty"`
	Why    string  `json:"why,omitempty"` // there is no answer

	components *stats.Components
	alone      string  // what is to be said of a run without a control
	through    bool    // its program runs until it is through, so no window is chosen
	within     float64 // variance of a second within launches by their series, of both sides; 0 if not known
}

// What told the scatter between launches from that within them.
const (
	BySeries  = "series"  // how the metric went within each launch
	ByWindows = "windows" // earlier runs that measured for different times
)

// Of works out what a plan takes by earlier runs.
func Of(p *bench.Plan, earlier []Run) *Forecast {
	f := &Forecast{Format: Format, Experiment: p.Experiment, Title: p.Title, Baseline: p.Baseline, Margin: p.Margin, Archive: []string{},
		Width: p.Margin, Power: stats.Power, Least: p.Blocks, Most: p.Blocks, Cases: []Case{}}
	levels := stats.LevelsOf(1, effect.Confidence)
	if u := p.Until; u != nil {
		f.Width, f.Least, f.Most, f.Budget = u.Interval, u.Min, u.Max, u.Budget.Seconds()
		levels = stats.LevelsOf(len(u.Looks), effect.Confidence)
	}
	f.Confidence = levels.Usual
	for _, r := range earlier {
		if len(r.Scenes) > 0 {
			f.Archive = append(f.Archive, r.ID)
		}
	}
	narrowing := stats.NewNarrowing(f.Width, f.Confidence)
	for _, g := range stop.Groups(p) {
		c := &caseData{Group: g, plan: p, earlier: earlier, narrowing: narrowing,
			goal: stats.Goal{Width: f.Width, Margin: p.Margin, Levels: levels}}
		f.Cases = append(f.Cases, c.answer(f))
	}
	guessed := 0.0
	for i := range f.Cases {
		c := &f.Cases[i]
		f.Seconds += c.Seconds
		f.AtMost += c.atMost(f.Most)
		guessed += c.guessed
	}
	if f.Seconds > 0 {
		f.Unknown = guessed / f.Seconds
	}
	f.Words = f.say()
	return f
}

// say sums up.
func (f *Forecast) say() string {
	rows, known, likely := 0, 0, 0
	for _, c := range f.Cases {
		for _, r := range c.Rows {
			rows++
			if r.Ends == nil {
				continue
			}
			known++
			if r.Chance >= f.Power {
				likely++
			}
		}
	}
	if known == 0 {
		return "The archive has too little of these scenes to tell."
	}
	about := "About"
	if slices.ContainsFunc(f.Cases, func(c Case) bool { return c.Endless() }) {
		about = "More than"
	}
	text := fmt.Sprintf("%s %s for all trials until each row is within ±%s or decided, with a chance of %.0f %% each; %d of %s come there within %s.",
		about, figure.Span(f.Seconds), figure.Share(f.Width), 100*f.Power, likely, figure.Count(rows, "row"), figure.Count(f.Most, "block"))
	if f.Unknown > 0 {
		text += fmt.Sprintf(" %.0f %% of that time is the plan's guess, for want of earlier launches.", 100*f.Unknown)
	}
	if f.Budget > 0 && f.Seconds > f.Budget {
		text += fmt.Sprintf(" That is more than the budget of %s, which leaves some undecided.", figure.Span(f.Budget))
	}
	return text
}

// Endless reports whether a row would need more blocks than are worth recommending.
func (c *Case) Endless() bool {
	return slices.ContainsFunc(c.Rows, func(r Row) bool { return r.Ends != nil && r.Ends.Blocks == 0 })
}

// Unknown counts the rows of which nothing is known: for these the most blocks are supposed.
func (c *Case) Unknown() int {
	n := 0
	for _, r := range c.Rows {
		if r.Ends == nil {
			n++
		}
	}
	return n
}

// caseData is what a case is answered from.
type caseData struct {
	stop.Group
	plan      *bench.Plan
	earlier   []Run
	narrowing stats.Narrowing
	goal      stats.Goal
}

// answer fills the rows, the time, and the better window.
func (c *caseData) answer(f *Forecast) Case {
	out := Case{Name: c.Cases[0], Further: c.Cases[1:], Rows: []Row{}, costs: costs{trial: map[string]float64{}, trials: map[string]int{}, guess: map[string]float64{}}}
	alike := true
	for _, s := range c.Scenes {
		window := 0.0
		if s.Kind.Sampled() {
			window = s.Timing.Measure.Seconds()
		}
		if out.Title == "" || s.Case == out.Name {
			out.Title, out.Window = s.Title, window
		}
		alike = alike && window == out.Window
		cost, known := c.trial(s)
		platform := s.Platform.String()
		if !known {
			out.guess[platform] += cost
		}
		if s.Control || platform == c.plan.Baseline {
			out.shared, out.sharing = out.shared+cost, out.sharing+1
		} else {
			out.trial[platform] += cost
			out.trials[platform]++
		}
	}
	for _, q := range c.Questions {
		row := Row{Name: q.Name, Platform: q.Platform, Case: q.Case, Metric: q.Metric}
		if len(q.Against) == 0 {
			row.Why = "the baseline, " + c.plan.Baseline + ", has no part in this case"
		} else {
			c.fill(&row, &q, f)
			if row.alone != "" && !slices.Contains(f.Warnings, row.alone) {
				f.Warnings = append(f.Warnings, row.alone)
			}
		}
		out.Rows = append(out.Rows, row)
	}
	out.total(f)
	switch {
	case len(out.Rows) == 0:
		out.Why = "nothing is asked of it that a number of blocks decides"
	case out.Window > 0 && !alike:
		out.Why = "its scenes measure for different times"
	case out.Window > 0:
		least := stats.MinTested
		if c.plan.Until != nil {
			least = f.Least
		}
		out.better(c, least)
	}
	return out
}

// trial is what a trial of the scene takes with a window as planned, its repeats included: what it
// took in the mean of the earlier ones, or else what the plan guesses. A control that no earlier
// run has takes what the baseline does.
func (c *caseData) trial(s *bench.Scene) (cost float64, known bool) {
	spent, trials := 0.0, 0
	of := func(id string) {
		for _, r := range c.earlier {
			if e := r.Scenes[id]; e != nil && e.Trials > 0 {
				longer := 0.0
				if s.Kind.Sampled() && e.chosen() {
					longer = s.Timing.Measure.Seconds() - e.Window
				}
				spent += e.Spent + longer*float64(e.Trials)
				trials += e.Trials
			}
		}
	}
	of(s.ID)
	if trials == 0 && s.Control {
		of(s.Case + "/" + c.plan.Baseline)
	}
	if trials == 0 {
		return s.Estimate, false
	}
	return max(0, spent/float64(trials)), true
}

// chosen reports whether the measured stretch is about as long as planned: some programs
// run until they are through, whatever is planned.
func (s *Scene) chosen() bool {
	var all []float64
	for _, l := range s.Launches {
		all = append(all, l.Window)
	}
	const slack = 0.35
	found := stats.Median(all)
	return found > s.Window*(1-slack) && found < s.Window*(1+slack)+s.Warmup
}

// total is the time of the case until each platform has reached its goal; the baseline goes on
// with the last.
func (c *Case) total(f *Forecast) {
	blocks := map[string]int{}
	for _, r := range c.Rows {
		n := f.Most // nothing is known, or more than is allowed
		if r.Ends != nil {
			n = max(f.Least, r.Ends.Blocks)
			if r.Ends.Blocks == 0 {
				n = stats.MostNeeded
			}
		}
		blocks[r.Platform] = max(blocks[r.Platform], n)
	}
	if len(blocks) == 0 {
		c.Blocks = f.Most
	}
	for platform, n := range blocks {
		c.Blocks = max(c.Blocks, n)
		c.Seconds += float64(n) * c.trial[platform]
	}
	c.Seconds += float64(c.Blocks) * c.shared
	for platform, guess := range c.guess {
		n, compared := blocks[platform]
		if _, subject := c.trial[platform]; !compared || !subject { // the baseline, or its control
			n = c.Blocks
		}
		c.guessed += float64(n) * guess
	}
}

// atMost is the time of so many blocks of all.
func (c *Case) atMost(blocks int) float64 {
	sum := c.shared
	for _, cost := range c.trial {
		sum += cost
	}
	return sum * float64(blocks)
}
