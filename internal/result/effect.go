package result

import (
	"tare/internal/analysis/audit"
	"tare/internal/bench/figure"
)

// Verdict is what the data allow to be said of an effect.
type Verdict string

const (
	// Differs: the interval lies wholly outside ratio 1, also after correction for the
	// ratios that share its baseline.
	Differs Verdict = "differs"
	// Equivalent: the interval lies wholly within the margin around 1.
	Equivalent Verdict = "equivalent"
	// Inconclusive: neither; more blocks or a quieter host may decide.
	Inconclusive Verdict = "inconclusive"
	// Refused: no interval is given; Why says the reason.
	Refused Verdict = "refused"
	// Unfair: the audit found the two sides not comparable; no ratio is given.
	Unfair Verdict = "unfair"
)

// Effect is a ratio to the baseline, paired by block.
type Effect struct {
	// Ratio is the geometric mean over blocks of value / baseline value.
	Ratio float64 `json:"ratio"`
	// OfTotals is the arithmetic mean of the values over that of the baseline's, in the
	// same blocks: what is to be expected in all, where rare slow launches count in full.
	// 0 if there is no ratio.
	OfTotals float64 `json:"ratio_of_totals,omitempty"`
	// Added is the difference to the baseline, of a metric that platforms add to.
	Added *Added `json:"added,omitempty"`
	// Low and High bound the interval of Ratio; both are 0 if it is refused.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Confidence is the level the interval was made at: 0.95, or higher where a
	// stopping rule looks more than once so that 0.95 remains over all looks.
	Confidence float64 `json:"confidence,omitempty"`
	// PInterval is the p value that belongs to the interval: it excludes 1 where that is
	// below 1 - Confidence. PFamily is the same, scaled to 0.05 where looks raised
	// the level, after Holm's correction over the ratios that share the baseline; the verdict
	// "differs" stands on it. It is nil for an exploratory effect.
	PInterval *float64 `json:"p_interval,omitempty"`
	PFamily   *float64 `json:"p_family,omitempty"`
	// Exploratory: the verdict is not corrected for how many others there are.
	Exploratory bool `json:"exploratory,omitempty"`
	// Finds is the smallest change of the ratio, up or down, that so many blocks with this scatter
	// find in 90 % of runs: 0.03 is 3 %. 0 if all ratios are equal.
	Finds float64 `json:"finds,omitempty"`
	// Unseen is the largest share of launches that may behave otherwise though none
	// of those measured did (95 % confidence). Typical says that it is above the
	// share declared, so that the verdict "equivalent" is one of typical launches.
	Unseen  float64 `json:"unseen_share,omitempty"`
	Typical bool    `json:"typical,omitempty"`
	// Supposes is what the interval stands on.
	Supposes []string `json:"supposes,omitempty"`
	// Waiting is the share of a CPU that the baseline's program left idle while it waited for nothing
	// that is measured: the rate tells how long it waits. 0 if it worked. With it nothing is decided.
	Waiting float64 `json:"waiting,omitempty"`
	// P is of the permutation test of no effect, Holm the same corrected over
	// the headline effects of the table, Equivalence of the two one-sided tests
	// of an effect beyond the margin; nil if there are too few blocks.
	P           *float64 `json:"p,omitempty"`
	Holm        *float64 `json:"p_holm,omitempty"`
	Equivalence *float64 `json:"p_equivalence,omitempty"`
	// Drift of the ratios over blocks, if there are enough to tell.
	Drift *Drift `json:"drift,omitempty"`
	// Audit is the fairness of the comparison.
	Audit *audit.Audit `json:"audit,omitempty"`
	// Unfair says why the comparison is invalid; it is shown wherever the effect is.
	Unfair string `json:"unfair,omitempty"`
	// N is the number of blocks in which both finished.
	N int `json:"n"`
	// Needed is in how many blocks an inconclusive effect would be decided in 90 % of runs if ratio
	// and scatter stay as they are; 0 if that is not known, and [stats.MostNeeded] + 1 if it is more.
	Needed int `json:"blocks_needed,omitempty"`
	// Overhead is equation 1 of tesfatsion2018 with the sign kept:
	// (virt - native) / native. Positive means the number went up.
	Overhead float64 `json:"overhead"`
	// Cost is the same in the direction that hurts: positive is worse whatever the metric's direction.
	Cost    float64 `json:"cost"`
	Verdict Verdict `json:"verdict"`
	// Why explains a refusal or a doubt.
	Why string `json:"why,omitempty"`
	// Words says the effect in words with its direction, such as "7.1 % slower (5.0 to 9.3)".
	Words string `json:"words"`
	// Caution, if not empty, must be shown wherever the effect is: the two
	// sides were not measured alike, such as an emulated platform beside a real one.
	Caution string `json:"caution,omitempty"`
	// Loaded, if not empty, must be shown so, too: the load side was busy enough to be what limits one
	// of the two, or did not hold its rate.
	Loaded string `json:"loaded,omitempty"`
	// Ratios are the paired ratios by block, every one.
	Ratios []Point `json:"ratios"`
}

// HasRatio says whether the effect states a ratio with an interval.
func (e *Effect) HasRatio() bool { return e.Verdict != Refused && e.Verdict != Unfair }

// AddWhy adds a reason to those there are; an empty one is none.
func (e *Effect) AddWhy(text string) {
	switch {
	case text == "":
	case e.Why == "":
		e.Why = text
	default:
		e.Why += "; " + text
	}
}

// Bounds are those of its interval: "1.021 to 1.094".
func (e *Effect) Bounds() string { return figure.Ratio(e.Low) + " to " + figure.Ratio(e.High) }

// RatioWords are its ratio with the interval, "1.057 (1.021 to 1.094)", or "1.057 (scatters)" where that
// bounds nothing; "" without.
func (e *Effect) RatioWords() string {
	if e == nil || !e.HasRatio() {
		return ""
	}
	if e.High > widest*e.Low {
		return figure.Ratio(e.Ratio) + " (scatters)"
	}
	return figure.Ratio(e.Ratio) + " (" + e.Bounds() + ")"
}

// UnfairWords say why the comparison is invalid, "" if it is not.
func (e *Effect) UnfairWords() string {
	if e.Unfair == "" {
		return ""
	}
	return "unfair: " + e.Unfair
}

// Added is the mean difference to the baseline over blocks, in the metric's unit, with its interval
// at the effect's confidence. Where that holds 0 though the ratio differs, or there are two blocks, it is
// what the ratio and its bounds make of the baseline's mean, which counts as exact.
type Added struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Drift is a trend of values over blocks.
type Drift struct {
	// PerBlock is the relative change per block, such as 0.01.
	PerBlock float64 `json:"per_block"`
	// P is of the hypothesis that the order of blocks does not matter.
	P float64 `json:"p"`
}
