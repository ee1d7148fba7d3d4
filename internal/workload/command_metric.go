package workload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"strconv"
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

// parseMetrics reads the list the user wrote. listed is what the workload
// reports: the metrics to read and the wall time, exactly one the headline.
func parseMetrics(text string) (read []commandMetric, listed []bench.Metric, err error) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	var specs []metricSpec
	if err := d.Decode(&specs); err != nil {
		return nil, nil, plainType(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, nil, fmt.Errorf("%s: more than one list", text)
	}
	headlines := 0
	seen := map[string]bool{wallMetric: true}
	for i, spec := range specs {
		if spec.Name == "" {
			return nil, nil, &valueError{strconv.Itoa(i), fmt.Errorf("metric %d has no name", i+1)}
		}
		if seen[spec.Name] {
			return nil, nil, &valueError{fmt.Sprintf("%d.name", i), fmt.Errorf("metric %q: the name is taken", spec.Name)}
		}
		seen[spec.Name] = true
		m, key, err := spec.metric()
		if err != nil {
			path := strconv.Itoa(i)
			if key != "" {
				path += "." + key
			}
			return nil, nil, &valueError{path, fmt.Errorf("metric %q: %w", spec.Name, err)}
		}
		if m.Headline {
			headlines++
		}
		read = append(read, m)
	}
	if headlines > 1 {
		return nil, nil, fmt.Errorf("%d metrics are headlines; one speaks for a workload", headlines)
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
	return read, append(listed, wall), nil
}

// metric checks one metric and prepares to read it. Of an error it says which key it is about, if it
// is about one.
func (spec metricSpec) metric() (m commandMetric, key string, err error) {
	m = commandMetric{Metric: bench.Metric{
		Name: spec.Name, Unit: spec.Unit, Better: bench.Direction(spec.Better),
		Combine: bench.Combine(spec.Combine), Headline: spec.Headline, Doc: spec.Doc,
	}}
	switch m.Better {
	case bench.HigherIsBetter, bench.LowerIsBetter:
	case "":
		return m, "", fmt.Errorf("better is missing%w", bench.Hint("say better: higher or better: lower"))
	default:
		return m, "better", fmt.Errorf("better %q: not higher or lower", spec.Better)
	}
	switch m.Combine {
	case bench.Sum, bench.Mean, bench.Max:
	case "": // rates of instances add up, times do not
		m.Combine = bench.Mean
		if m.Better == bench.HigherIsBetter {
			m.Combine = bench.Sum
		}
	default:
		return m, "combine", fmt.Errorf("combine %q: not sum, mean or max", spec.Combine)
	}
	switch spec.From {
	case "", "stdout":
	case "stderr":
		m.stderr = true
	default:
		return m, "from", fmt.Errorf("from %q: not stdout or stderr", spec.From)
	}
	switch {
	case (spec.JSON == "") == (spec.Regex == ""):
		return m, "", errors.New("needs either json or regex")
	case spec.JSON != "":
		m.path, err = parseJSONPath(spec.JSON)
		return m, "json", err
	}
	m.regex, err = parseMetricRegex(spec.Regex)
	return m, "regex", err
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
