package report

import (
	"fmt"
	"strings"

	"tare/internal/bench/figure"
	"tare/internal/result"
)

// fairnessOf says of each metric how alike its alike subjects fared, with their intervals.
func fairnessOf(rows []result.Row) []string {
	var metrics []string
	said := map[string][]string{}
	for _, row := range rows {
		if row.Fairness == nil {
			continue
		}
		name := row.Metric.Name
		if said[name] == nil {
			metrics = append(metrics, name)
		}
		said[name] = append(said[name], row.Name()+" "+fairnessWords(row.Fairness))
	}
	var all []string
	for _, name := range metrics {
		all = append(all, "Fairness between the alike, "+name+" (apart: the least from the most; Jain's index: 1 is equal): "+strings.Join(said[name], "; "))
	}
	return all
}

func fairnessText(rows []result.Row) []block {
	var doc []block
	for _, words := range fairnessOf(rows) {
		doc = append(doc, text{"  ", "    ", words})
	}
	return doc
}

// fairnessWords are "4.2 % apart (0.0 to 9.1), Jain 0.998 (0.990 to 1.000)".
func fairnessWords(f *result.Fairness) string {
	apart, jain := fmt.Sprintf("%.1f %% apart", 100*f.Apart.Mean), "Jain "+figure.Fixed(f.Jain.Mean, 3)
	if f.Why == "" {
		apart += fmt.Sprintf(" (%.1f to %.1f)", 100*f.Apart.Low, 100*f.Apart.High)
		jain += fmt.Sprintf(" (%s to %s)", figure.Fixed(f.Jain.Low, 3), figure.Fixed(f.Jain.High, 3))
	}
	return apart + ", " + jain
}
