package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"tare/internal/figure"
	"tare/internal/result"
)

// latencyText writes the table and, with detail, the ratios and the percentiles as marks on a line.
func latencyText(out io.Writer, c result.Case, detail bool) {
	for _, group := range byHistogram(c) {
		var t table
		head := []string{"  " + strings.ToUpper(latencyTitle(group[0].Histogram))}
		for _, name := range percentileNames(group) {
			head = append(head, strings.ToUpper(name))
		}
		head = append(head, "MAX", "REQUESTS")
		t.row(head...)
		for _, l := range group {
			cells := []string{"  " + labelled(l.Platform, l.Label)}
			for _, p := range l.Percentiles {
				cells = append(cells, duration(p.Bounds))
			}
			if l.Max != nil {
				cells = append(cells, duration(l.Max), figure.Number(float64(l.Requests)))
			}
			t.row(filled(cells, len(head))...)
		}
		t.write(out)
		paragraph(out, "  ", "  ", "of all requests of all launches together, known to the bins of "+gridOf(group))
		notes := latencyNotes(group)
		if detail {
			tailRatios(out, group)
			curvesText(out, group)
		} else {
			notes = slices.DeleteFunc(notes, func(n note) bool { return !strings.Contains(n.Text, "not given: ") })
		}
		for _, n := range notes {
			paragraph(out, "  - ", "    ", n.Of+": "+n.Text)
		}
	}
}

// tailRatios writes the ratios of single launches' percentiles.
func tailRatios(out io.Writer, group []result.Latency) {
	var t table
	head := []string{"  RATIO BY LAUNCH"}
	for _, name := range percentileNames(group) {
		head = append(head, strings.ToUpper(name))
	}
	t.row(head...)
	for _, l := range group {
		if l.Baseline {
			continue
		}
		cells := []string{"  " + labelled(l.Platform, l.Label)}
		for _, p := range l.Percentiles {
			text := tailRatio(p)
			if text == "" {
				text = "–"
			}
			cells = append(cells, text)
		}
		t.row(filled(cells, len(head))...)
	}
	t.write(out)
}

// filled gives a row that lacks cells a dash for each.
func filled(cells []string, n int) []string {
	for len(cells) < n {
		cells = append(cells, "–")
	}
	return cells
}

// curvesText draws each platform's percentiles on one logarithmic line of time.
func curvesText(out io.Writer, group []result.Latency) {
	const columns = 72
	marks := []rune("59nN")
	low, high, name := math.Inf(1), 0.0, 0
	for _, l := range group {
		for _, p := range l.Percentiles {
			if p.Bounds != nil {
				low, high = min(low, max(1, float64(p.Bounds.Low))), max(high, float64(p.Bounds.High))
			}
		}
		name = max(name, len([]rune(labelled(l.Platform, l.Label))))
	}
	if high <= low {
		return
	}
	s := logScale{low, high, 0, columns - 1}
	for _, l := range group {
		line := []rune(strings.Repeat("·", columns))
		for i, p := range l.Percentiles {
			if p.Bounds != nil && i < len(marks) {
				line[int(math.Round(s.at((float64(p.Bounds.Low)+float64(p.Bounds.High))/2)))] = marks[i]
			}
		}
		fmt.Fprintf(out, "  %-*s %s\n", name, printable(labelled(l.Platform, l.Label)), string(line))
	}
	fmt.Fprintf(out, "  %-*s 5: p50, 9: p90, n: p99, N: p99.9; from %s to %s, equal factors equal lengths\n", name, "",
		duration(&result.Bounds{Low: int64(low), High: int64(low)}), duration(&result.Bounds{Low: int64(high), High: int64(high)}))
}
