// Package analysis turns the outcomes and samples of a run into tables of
// effects: what each platform costs compared with the baseline, how sure that
// is, and where on the host the cost is paid.
//
// A run is read once, into a study. Each table is made in a file of its own, of
// the part of it that the table needs.
package analysis

import (
	"fmt"
	"slices"

	"tare/internal/analysis/effect"
	"tare/internal/analysis/stats"
	"tare/internal/result"
	"tare/internal/result/store"
)

// Options of an analysis.
type Options struct {
	// AllowUnfair gives the ratio of a comparison that the audit found invalid;
	// it wears the reason in its words.
	AllowUnfair bool
	// Baseline is the platform that the others are set against, instead of the plan's; "" for that.
	Baseline string
	// Others are cases that are set against others on the same platform, besides the plan's own.
	Others []Other
	// Repeat is the command line that measures the run's experiment anew; empty for
	// that of an experiment that tare run can be given.
	Repeat []string
}

// Analyze reads a run, finished or not, and works out everything a report
// shows. It streams the samples: its memory does not grow with their number. Samples that cannot be read cost the usage of their trial,
// which a warning says; an outcome that cannot be read is an error.
func Analyze(r *store.Run) (*result.Result, error) { return AnalyzeWith(r, Options{}) }

// AnalyzeWith is [Analyze] with options.
func AnalyzeWith(r *store.Run, options Options) (*result.Result, error) {
	s, err := read(r)
	if err != nil {
		return nil, fmt.Errorf("analyze run: %w", err)
	}
	h, p := r.Header(), *r.Plan()
	repeat := &again{given: options.Repeat, header: h, dir: r.Dir(), baseline: p.Baseline, seed: p.Seed}
	planned := p.Baseline
	if p.Baseline, err = s.baselineOf(&p, options.Baseline); err != nil {
		return nil, fmt.Errorf("analyze run: %w", err)
	}
	if err := s.relate(&p, options.Others); err != nil {
		return nil, fmt.Errorf("analyze run: %w", err)
	}
	fair := &auditor{header: h, host: r.Host(), plan: &p}
	judge := &judge{baseline: p.Baseline, planned: planned, margin: p.Margin, rare: p.Rare, ends: s.ends, labels: s.labels, allowUnfair: options.AllowUnfair}

	scenes, controls := withoutControls(s.scenes)
	if planned != p.Baseline {
		controls = nil // they are the planned one's
	}
	out := &result.Result{
		Format: result.Format, Run: h.Run, Experiment: p.Experiment, Repeat: repeat.all(), Title: p.Title, Question: p.Question,
		Started: h.Started, Seconds: seconds(s.trials), Seed: p.Seed, Baseline: p.Baseline, Margin: p.Margin, Answers: p.Answers,
		Blocks: p.Blocks, Trials: counts(s.trials, s.scenes, s.ends), Skipped: p.Skipped, Image: h.Image,
		HostFacts: append(hostFacts(r.Host()), furtherHosts(&p, s.trials)...), Platforms: s.platforms, Layout: layout(&p),
		Method: fmt.Sprintf("geometric mean of the ratios to %s paired by block, with a 95 %% studentized bootstrap interval (%d resamples; Student's t below 5 blocks); \"differs\" holds after Holm's correction over the ratios of a case",
			p.Baseline, stats.Resamples),
		Until: p.Until, Stops: s.ends.Cases,
		Observer: s.observed.observer(), Clocks: clocks(s.trials, s.platforms), Procedure: procedure(s.scenes, s.platforms),
		Mixed: mixed(s.trials), Watches: watches(s.scenes),
	}
	if p.Until != nil {
		levels := stats.LevelsOf(len(p.Until.Looks), effect.Confidence)
		out.Method += fmt.Sprintf("; since a platform may end after any of %d looks, intervals are made at the higher levels that leave 95 %% over all of them: %.4g %%, and %.4g %% where deciding ended it",
			len(p.Until.Looks), 100*levels.Usual, 100*levels.Strict)
	}
	if len(controls) > 0 {
		out.Method += "; where a case has a control, to the geometric mean of both launches of " + p.Baseline + " in the block"
	}
	out.Trials.Repeated = s.disturbed.n
	out.Complete = out.Trials.Missing == 0
	out.Going = r.Going()
	out.Failures, out.Unfinished, out.Overdue = failures(s.trials)
	cases := casesOf(scenes, controls, &p, fair)
	for _, c := range cases {
		out.Cases = append(out.Cases, c.table(judge, repeat, h.Power, s.observed.powers))
	}
	if planned == p.Baseline {
		out.Controls = controlsOf(cases, out.Cases, judge)
	}
	correct(out.Cases)
	warnOfOrder(out.Cases, s.trials)
	power := &powerTable{plan: &p, trials: s.trials, observed: s.observed, cases: out.Cases}
	for _, src := range h.Power {
		out.Power = append(out.Power, power.of(src))
	}
	out.Sweeps = sweeps(out.Cases, &p)

	warned := warnings(slices.Clone(p.Warnings))
	if n := len(r.Torn()); n > 0 {
		warned.add("the last %d bytes of trials.jsonl are a line that was never finished; its trial counts as missing", n)
	}
	if planned != p.Baseline {
		warned.add("set against %s, though the run was planned against %s: by that it decided how long to measure each platform", p.Baseline, planned)
	}
	for _, x := range options.Others {
		warned.add("%s is set against %s, which the run was not planned for", x.Case, x.To)
	}
	warned.ofMixed(out.Mixed, s.trials)
	warned.ofDisturbed(&s.disturbed, s.trials)
	warned = append(warned, s.warnings...)
	relative := &relativeTable{judge: judge, fair: fair, metrics: p.Metrics}
	out.Relative = relative.of(s.scenes)
	warned = append(warned, relative.warnings...)
	warned.ofOtherWork(out.Cases)
	if trial := representative(s.trials, s.labels, p.Baseline, s.observed.counts); trial != "" {
		if out.Series, err = SeriesOf(r, trial); err != nil {
			warned.add("no time series: %v", err)
		}
	}
	out.Warnings = warned
	out.Summarize()
	return out, nil
}

// correct corrects the tests of the headline effects for their number.
func correct(cases []result.Case) {
	var rows []*result.Row
	for i := range cases {
		for j := range cases[i].Rows {
			row := &cases[i].Rows[j]
			if row.Metric.Headline && row.Effect != nil && row.Effect.HasRatio() {
				rows = append(rows, row)
			}
		}
	}
	effect.Correct(rows)
}
