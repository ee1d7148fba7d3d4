package report

import (
	"fmt"
	"io"
	"slices"

	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/result"
)

// Text writes the whole result as tables for a terminal. [Brief] is what of it answers the question.
func Text(w io.Writer, r *result.Result) error { return writeBlocks(w, document(r)) }

// document is the text: its sections in their order, each made by one function
// of its topic.
func document(r *result.Result) []block {
	doc := slices.Concat(headText(r), relativeText(r), watchText(r))
	audited := map[string]bool{} // by platform and text, what was said
	for _, c := range r.Cases {
		doc = slices.Concat(doc, caseText(c), stopText(r, c), effectsText(c.Rows), fairnessText(c.Rows),
			[]block{testsText(c.Rows)}, steadinessText(c.Rows), []block{notesText(c.Rows)}, auditText(c.Rows, audited),
			densityText(c), poolText(c), launchesText(c), latencyText(c), usageText(c), schedulingText(c), energyText(c, r.Power))
	}
	return slices.Concat(doc, controlsText(r.Controls), sweepsText(r.Sweeps), powerText(r.Power), balanceText(r), clocksText(r.Clocks),
		programsText(r.Platforms), failuresText(r), skippedText(r.Skipped), warningsText(slices.Concat(r.Warnings, caveatsOf(r.HostFacts))), selfTestText(r.SelfTest))
}

func headText(r *result.Result) []block {
	doc := []block{text{"", "", r.Title},
		text{"", "  ", fmt.Sprintf("run %s, %s, %s, seed %d, baseline %s, equivalence within %s",
			r.Run, r.Started, blocksOf(r), r.Seed, r.Baseline, figure.Share(r.Margin))}}
	if !r.Complete {
		going := ""
		if r.Going {
			going = ": the run is still going on"
		}
		doc = append(doc, lines{fmt.Sprintf("NOT COMPLETE: %d of %d trials%s have no outcome yet%s", r.Trials.Missing, r.Trials.Asked, soFar(r), going)})
	}
	return doc
}

// caseText is a case's title with its answer in a sentence.
func caseText(c result.Case) []block {
	doc := []block{blank, text{"", "", c.Title}, said{c.Answer}}
	if len(c.Conditions) > 0 {
		doc = append(doc, said{"Conditions of the host: " + conditionsOf(c) + "."})
	}
	return doc
}

// conditionsOf are the conditions a case was measured under. Swap space is not
// always made for it, so what there was is said.
func conditionsOf(c result.Case) string {
	text := bench.ConditionsText(c.Conditions)
	if c.SwapSpaces != "" {
		text += " (swap spaces there: " + c.SwapSpaces + ")"
	}
	return text
}

// controlsTitle stands over how the baseline compares with itself.
const controlsTitle = "Controls: the baseline against itself"

func controlsText(c *result.Controls) []block {
	if c == nil {
		return nil
	}
	doc := []block{blank, text{"", "", controlsTitle}}
	for _, w := range c.Words {
		doc = append(doc, said{w})
	}
	return doc
}

// programsText lists the files of the platforms' programs.
func programsText(platforms []result.Platform) []block {
	var doc []block
	for _, p := range platforms {
		for _, f := range p.Files {
			doc = append(doc, text{p.Name + " runs ", "  ", fmt.Sprintf("%s, %s", f, f.Size)})
		}
	}
	if doc == nil {
		return nil
	}
	return append([]block{blank}, doc...)
}

// skippedText lists the platforms that were left out.
func skippedText(skipped []bench.Skip) []block {
	if len(skipped) == 0 {
		return nil
	}
	doc := []block{blank}
	for _, s := range bench.Together(skipped) {
		doc = append(doc, text{"left out: ", "  ", s.Platform + ": " + s.Reason})
		if s.Hint != "" {
			doc = append(doc, said{"hint: " + s.Hint})
		}
	}
	return doc
}

// warningsText lists what limits all the numbers.
func warningsText(notes []string) []block {
	if len(notes) == 0 {
		return nil
	}
	doc := []block{blank}
	for _, n := range notes {
		doc = append(doc, text{"! ", "  ", n})
	}
	return doc
}
