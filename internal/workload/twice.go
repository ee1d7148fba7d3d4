package workload

import (
	"fmt"
	"strings"

	"tare/internal/bench"
)

// What a workload reports that does the same twice to files of the image: what a
// store that instances share has to copy, it copies the first time only.
var twiceMetrics = []bench.Metric{
	{Name: "first", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Mean, Headline: true, Doc: "until everything was written for the first time and on the disk"},
	{Name: "again", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Mean, Doc: "the same for the second time"},
	{Name: "slowdown", Unit: "times", Better: bench.LowerIsBetter, Combine: bench.Mean, Doc: "the first time by the second, which copies nothing"},
	{Name: "files", Unit: "files", Better: bench.HigherIsBetter, Combine: bench.Sum, Doc: "files that were written each time"},
	{Name: "written", Unit: "MB", Better: bench.HigherIsBetter, Combine: bench.Sum, Doc: "size of those files, in 10^6"},
}

// parseTwice reads the lines of the scripts, such as "first 1.25 s" and "files 1000".
func parseTwice(name string, out bench.Output) ([]bench.Value, error) {
	if err := finished(name, out); err != nil {
		return nil, err
	}
	var values []bench.Value
	for _, f := range []struct {
		label, unit, metric string
		scale               float64
	}{{"first", " s", "first", 1e3}, {"again", " s", "again", 1e3}, {"files", "", "files", 1}, {"bytes", "", "written", 1e-6}} {
		text, err := afterWord(out.Stdout, f.label)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		v, err := positive(strings.TrimSuffix(text, f.unit))
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", name, f.label, err)
		}
		values = append(values, bench.Value{Metric: f.metric, Value: v * f.scale})
	}
	return append(values, bench.Value{Metric: "slowdown", Value: values[0].Value / values[1].Value}), nil
}

// afterWord returns what follows the word on the one line that begins with it.
func afterWord(text []byte, word string) (string, error) {
	found, value := 0, ""
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, word+" "); ok {
			found, value = found+1, strings.TrimSpace(rest)
		}
	}
	if found != 1 {
		return "", fmt.Errorf("%q: found %d times, not once, in %s", word, found, excerpt(text))
	}
	return value, nil
}
