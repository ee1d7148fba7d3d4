package report

import (
	"strings"

	"tare/internal/result"
)

// steadinessOf says of each metric how its launches went within their windows: the platforms by what
// was found of them.
func steadinessOf(rows []result.Row) []string {
	var metrics []string
	found := map[string][]string{} // by metric, what was found
	of := map[[2]string][]string{} // by metric and what was found, the platforms
	for _, row := range rows {
		if row.Steadiness == nil {
			continue
		}
		name, words := row.Metric.Name, row.Steadiness.Words()
		if found[name] == nil {
			metrics = append(metrics, name)
		}
		key := [2]string{name, words}
		if of[key] == nil {
			found[name] = append(found[name], words)
		}
		of[key] = append(of[key], row.Name())
	}
	var all []string
	for _, name := range metrics {
		var parts []string
		for _, words := range found[name] {
			parts = append(parts, strings.Join(of[[2]string{name, words}], ", ")+": "+words)
		}
		if len(parts) == 1 && len(of[[2]string{name, found[name][0]}]) > 1 {
			parts[0] = found[name][0]
		}
		all = append(all, "Within the window, "+name+": "+strings.Join(parts, "; "))
	}
	return all
}

func steadinessText(rows []result.Row) []block {
	var doc []block
	for _, words := range steadinessOf(rows) {
		doc = append(doc, text{"  ", "    ", words})
	}
	return doc
}
