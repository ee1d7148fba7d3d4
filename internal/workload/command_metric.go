package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"tare/internal/bench"
)

// commandMetric is one figure to be read from what a command prints.
type commandMetric struct {
	bench.Metric
	path   jsonPath       // from JSON,
	regex  *regexp.Regexp // or by the first match of its one group
	stderr bool
}

// metricSpec is a metric as the user writes it.
type metricSpec struct {
	Name     string `json:"name"`
	Unit     string `json:"unit"`
	Better   string `json:"better"`
	Combine  string `json:"combine"`
	JSON     string `json:"json"`
	Regex    string `json:"regex"`
	From     string `json:"from"`
	Headline bool   `json:"headline"`
	Doc      string `json:"doc"`
}

// metricKeys are the keys of a metric.
var metricKeys = []string{"name", "unit", "better", "combine", "json", "regex", "from", "headline", "doc"}

// parseMetrics reads the list the user wrote. listed is what the workload
// reports: the metrics to read and the wall time, exactly one the headline. wrong is
// everything in the list that cannot be used.
func parseMetrics(text string) (read []commandMetric, listed []bench.Metric, wrong []error) {
	var specs []map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &specs); err != nil {
		return nil, nil, []error{plainType(err)}
	}
	headlines := 0
	seen := map[string]bool{wallMetric: true}
	for i, given := range specs {
		m, faults := readMetric(given)
		label := fmt.Sprintf("metric %q", m.Name)
		switch {
		case m.Name == "":
			label = fmt.Sprintf("metric %d", i+1)
		case seen[m.Name]:
			faults = append(faults, &valueError{"name", errors.New("the name is taken")})
		}
		seen[m.Name] = true
		for _, f := range faults {
			wrong = append(wrong, &valueError{strings.TrimSuffix(fmt.Sprintf("%d.%s", i, f.path), "."), fmt.Errorf("%s: %w", label, f.err)})
		}
		if m.Headline {
			headlines++
		}
		read = append(read, m)
	}
	if headlines > 1 {
		wrong = append(wrong, fmt.Errorf("%d metrics are headlines; one speaks for a workload", headlines))
	}
	wall := bench.Metric{Name: wallMetric, Unit: "s", Better: bench.LowerIsBetter, Combine: bench.Mean,
		Doc: "from the command's start to its end"}
	switch {
	case len(read) == 0:
		wall.Headline = true
	case headlines == 0:
		read[0].Headline = true
	}
	for _, m := range read {
		listed = append(listed, m.Metric)
	}
	return read, append(listed, wall), wrong
}

// readMetric checks one metric and prepares to read it. A fault names the key that it is about, if it
// is about one.
func readMetric(given map[string]json.RawMessage) (m commandMetric, faults []*valueError) {
	fault := func(key string, err error) { faults = append(faults, &valueError{key, err}) }
	var spec metricSpec
	wrong := map[string]bool{} // keys of which the value could not be read
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(metricKeys, key) {
			fault(key, bench.UnknownWord("key of a metric", key, metricKeys))
			continue
		}
		if err := json.Unmarshal(fmt.Appendf(nil, "{%q:%s}", key, given[key]), &spec); err != nil {
			fault(key, plainType(err))
			wrong[key] = true
		}
	}
	m = commandMetric{Metric: bench.Metric{
		Name: spec.Name, Unit: spec.Unit, Better: bench.Direction(spec.Better),
		Combine: bench.Combine(spec.Combine), Headline: spec.Headline, Doc: spec.Doc,
	}}
	if m.Name == "" && !wrong["name"] {
		fault("", errors.New("name is missing"))
	}
	switch m.Better {
	case bench.HigherIsBetter, bench.LowerIsBetter:
	case "":
		if !wrong["better"] {
			fault("", fmt.Errorf("better is missing%w", bench.Hint("say better: higher or better: lower")))
		}
	default:
		fault("better", fmt.Errorf("better %q: not higher or lower", spec.Better))
	}
	switch m.Combine {
	case bench.Sum, bench.Mean, bench.Max:
	case "": // rates of instances add up, times do not
		m.Combine = bench.Mean
		if m.Better == bench.HigherIsBetter {
			m.Combine = bench.Sum
		}
	default:
		fault("combine", fmt.Errorf("combine %q: not sum, mean or max", spec.Combine))
	}
	switch spec.From {
	case "", "stdout":
	case "stderr":
		m.stderr = true
	default:
		fault("from", fmt.Errorf("from %q: not stdout or stderr", spec.From))
	}
	var err error
	switch {
	case wrong["json"] || wrong["regex"]:
	case (spec.JSON == "") == (spec.Regex == ""):
		fault("", errors.New("needs either json or regex"))
	case spec.JSON != "":
		if m.path, err = parseJSONPath(spec.JSON); err != nil {
			fault("json", err)
		}
	default:
		if m.regex, err = parseMetricRegex(spec.Regex); err != nil {
			fault("regex", err)
		}
	}
	return m, faults
}

// multiline stands before each pattern: ^ and $ match at lines.
const multiline = "(?m)"

// parseMetricRegex compiles a pattern with one group. Errors quote it as it was written.
func parseMetricRegex(pattern string) (*regexp.Regexp, error) {
	re, err := regexp.Compile(multiline + pattern)
	var bad *syntax.Error
	switch {
	case errors.As(err, &bad) && strings.TrimPrefix(bad.Expr, multiline) == pattern:
		return nil, fmt.Errorf("regex %#q: %s", pattern, bad.Code)
	case errors.As(err, &bad):
		return nil, fmt.Errorf("regex %#q: %s: %#q", pattern, bad.Code, bad.Expr)
	case err != nil:
		return nil, fmt.Errorf("regex %#q: %w", pattern, err)
	}
	if n := re.NumSubexp(); n != 1 {
		return nil, fmt.Errorf("regex %#q: %d groups in parentheses, not one%w", pattern, n,
			bench.Hint("put the number alone in parentheses; (?:...) groups without counting"))
	}
	return re, nil
}

// read finds the metric's number in what the command printed.
func (m commandMetric) read(out bench.Output) (float64, error) {
	text := out.Stdout
	if m.stderr {
		text = out.Stderr
	}
	if m.path != nil {
		return m.path.number(text)
	}
	match := m.regex.FindSubmatch(text)
	if match == nil {
		return 0, fmt.Errorf("regex %#q: no match in %s", m.regex.String()[len(multiline):], excerpt(text))
	}
	v, err := number(string(match[1]))
	if err != nil {
		return 0, fmt.Errorf("regex %#q: %w", m.regex.String()[len(multiline):], err)
	}
	return v, nil
}
