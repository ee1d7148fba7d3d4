package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"tare/internal/analysis/forecast"
	"tare/internal/bench/figure"
)

// Forecast writes what an experiment will take as tables for a terminal.
func Forecast(w io.Writer, f *forecast.Forecast) error {
	doc := []block{
		lines{fmt.Sprintf("%s: %s", f.Experiment, f.Title)},
		text{"", "  ", figure.Count(len(f.Archive), "earlier run") + " of this host: " + joined(f.Archive)},
		text{"", "  ", goalText(f)},
		text{"", "  ", f.Words},
	}
	var unknown []string
	for i := range f.Cases {
		c := &f.Cases[i]
		doc = append(doc, forecastCase(f, c)...)
		if c.Why == forecast.MoreWindows {
			unknown = append(unknown, c.Name)
		}
	}
	if unknown != nil {
		doc = append(doc, blank, text{"", "  ", "Windows of " + joined(unknown) + ": " + forecast.MoreWindows + "."})
	}
	return writeBlocks(w, append(doc, warningsText(f.Warnings)...))
}

// joined lists names, the first of many.
func joined(names []string) string {
	const most = 5
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func goalText(f *forecast.Forecast) string {
	blocks := figure.Count(f.Most, "block")
	if f.Least < f.Most {
		blocks = fmt.Sprintf("%d to %s", f.Least, blocks)
	}
	return fmt.Sprintf("Compared with %s, margin %s, %s. A row ends where its %.4g %% interval is within ±%s, or decides. Blocks are said for a chance of %.0f %%; their range holds wherever in its 80 %% interval the scatter lies. COST is of a launch besides its window.",
		f.Baseline, figure.Share(f.Margin), blocks, 100*f.Confidence, figure.Share(f.Width), 100*f.Power)
}

func forecastCase(f *forecast.Forecast, c *forecast.Case) []block {
	about := "about"
	if c.Endless() {
		about = "more than"
	}
	answer := fmt.Sprintf("%s %s, %s", about, figure.Span(c.Seconds), figure.Count(c.Blocks, "block"))
	switch unknown, most := c.Unknown(), figure.Count(f.Most, "block"); {
	case unknown == 0:
	case unknown < len(c.Rows):
		answer += fmt.Sprintf(", supposing %s for what is not known", most)
	case f.Least < f.Most:
		answer = fmt.Sprintf("not known; %s, the most that the plan allows, take about %s", most, figure.Span(c.Seconds))
	default:
		answer = fmt.Sprintf("not known; the %s of the plan take about %s", most, figure.Span(c.Seconds))
	}
	doc := []block{blank, text{"", "", fmt.Sprintf("%s (%s): %s", c.Title, c.Name, answer)}}
	var metrics []string
	for _, r := range c.Rows {
		if !slices.Contains(metrics, r.Metric) {
			metrics = append(metrics, r.Metric)
		}
	}
	for _, m := range metrics {
		rows := slices.DeleteFunc(slices.Clone(c.Rows), func(r forecast.Row) bool { return r.Metric != m || r.Ends == nil })
		doc = append(doc, table[forecast.Row]{rows: rows, columns: forecastColumns(f, m, rows)})
	}
	return slices.Concat(doc, withoutForecast(c), windowText(c))
}

// withoutForecast lists the rows without an answer, those with one reason together.
func withoutForecast(c *forecast.Case) []block {
	by := map[string][]string{}
	var order []string
	for _, r := range c.Rows {
		if r.Ends != nil {
			continue
		}
		if by[r.Why] == nil {
			order = append(order, r.Why)
		}
		by[r.Why] = append(by[r.Why], r.Name)
	}
	var doc []block
	for _, why := range order {
		doc = append(doc, said{joined(by[why]) + ": " + why + "."})
	}
	return doc
}

// forecastColumns are those of a metric's rows that have an answer.
func forecastColumns(f *forecast.Forecast, metric string, rows []forecast.Row) []column[forecast.Row] {
	all := []column[forecast.Row]{
		{strings.ToUpper(metric), func(r forecast.Row) string { return r.Name }},
		{"LAUNCHES", func(r forecast.Row) string { return fmt.Sprintf("%d in %s", r.Launches, figure.Count(r.Runs, "run")) }},
		{"COST", func(r forecast.Row) string { return figure.Fixed(r.Fixed, 2) + " s" }},
		{"SCATTER", func(r forecast.Row) string { return figure.Share(r.SD) }},
	}
	if slices.ContainsFunc(rows, func(r forecast.Row) bool { return r.Between != nil }) {
		of := func(part func(forecast.Row) *float64) func(forecast.Row) string {
			return func(r forecast.Row) string {
				if v := part(r); v != nil {
					return figure.Share(*v)
				}
				return ""
			}
		}
		all = append(all, column[forecast.Row]{"BETWEEN", of(func(r forecast.Row) *float64 { return r.Between })},
			column[forecast.Row]{"WITHIN", of(func(r forecast.Row) *float64 { return r.Within })})
	}
	return append(all,
		column[forecast.Row]{"±" + figure.Share(f.Width), func(r forecast.Row) string { return r.Narrow.Say() }},
		column[forecast.Row]{"ENDS", func(r forecast.Row) string { return r.Ends.Say() }},
		column[forecast.Row]{fmt.Sprintf("AFTER %d", f.Most), func(r forecast.Row) string {
			return fmt.Sprintf("±%s %%, %.0f %% ended", figure.Digits(100*r.Reach, 2), 100*r.Chance)
		}})
}

func windowText(c *forecast.Case) []block {
	switch b := c.Better; {
	case b != nil && b.Planned > 0:
		return []block{said{fmt.Sprintf("Measure for %g s in the place of %g s: the half width takes about %s in the place of %s (%s).",
			b.Window, c.Window, figure.Span(b.Seconds), figure.Span(b.Planned), figure.Count(b.Blocks, "block"))}}
	case b != nil:
		return []block{said{fmt.Sprintf("Measure for %g s in the place of %g s, which cannot reach the half width: about %s (%s).",
			b.Window, c.Window, figure.Span(b.Seconds), figure.Count(b.Blocks, "block"))}}
	case c.Why != "" && c.Why != forecast.MoreWindows: // which is said once
		return []block{said{"Window: " + c.Why + "."}}
	}
	return nil
}
