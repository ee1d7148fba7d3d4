package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/result"
)

// GoBench writes every finished launch as a line of the Go benchmark format
// (https://go.dev/design/14313-benchmark-format), so that benchstat can do
// statistics of its own. Configuration is what must be the same for two lines
// to be compared; what may differ is in comments.
func GoBench(w io.Writer, r *result.Result) error {
	out := bufio.NewWriter(Plain(w))
	fmt.Fprintf(out, "# run %s of %s, begun %s\n", word(r.Run), word(r.Experiment), word(r.Started))
	fmt.Fprintf(out, "image: %s\n", oneLine(r.Image))
	for _, f := range r.HostFacts {
		if f.Name == "processor" && f.Value != "" {
			fmt.Fprintf(out, "cpu: %s\n", oneLine(f.Value))
		}
	}
	units := unitsOf(out, r)
	for _, p := range r.Platforms {
		fmt.Fprintf(out, "\n# %s version %s\n", oneLine(p.Name), oneLine(p.Version))
		fmt.Fprintf(out, "platform: %s\n", oneLine(p.Name))
		// An empty value takes back the label of the platform before.
		fmt.Fprintf(out, "label: %s\n", oneLine(p.Label))
		for _, c := range r.Cases {
			launches(out, &c, p.Name, units)
		}
	}
	return out.Flush()
}

// unitKey names the quantity a value is of: benchstat knows it by its unit only.
type unitKey struct{ scene, metric string }

// unitsOf declares the units. A metric that is better the other way round in
// another case wears the case's name.
func unitsOf(out io.Writer, r *result.Result) map[unitKey]string {
	units := map[unitKey]string{}
	better := map[string]bench.Direction{}
	for _, c := range r.Cases {
		for _, row := range slices.Concat(c.Rows, c.TailRows()) {
			key := unitKey{c.Name, row.Metric.Name}
			if units[key] != "" {
				continue
			}
			unit := unitOf(row.Metric)
			if seen, ok := better[unit]; ok && seen != row.Metric.Better {
				unit = word(c.Name) + "-" + unit
			}
			units[key] = unit
			if _, ok := better[unit]; !ok {
				better[unit] = row.Metric.Better
				fmt.Fprintf(out, "Unit %s better=%s\n", unit, row.Metric.Better)
			}
		}
	}
	return units
}

// unitOf names metric and unit in one word: p95_latency-ms, and IOPS of a metric iops.
func unitOf(m bench.Metric) string {
	switch {
	case m.Unit == "":
		return word(m.Name)
	case strings.HasPrefix(strings.ToLower(m.Unit), strings.ToLower(m.Name)):
		return word(m.Unit)
	}
	return word(m.Name) + "-" + word(m.Unit)
}

// launches writes a platform's launches of a case in block order, all metrics of one in its line.
func launches(out io.Writer, c *result.Case, platform string, units map[unitKey]string) {
	values := map[string]string{} // by trial
	var trials []string
	failed := 0
	for _, row := range slices.Concat(c.Rows, c.TailRows()) {
		if row.Platform != platform {
			continue
		}
		failed = max(failed, row.Failed+row.DNF+row.Overdue)
		for _, p := range row.Points {
			if _, ok := values[p.Trial]; !ok {
				trials = append(trials, p.Trial)
			}
			values[p.Trial] += " " + strconv.FormatFloat(p.Value, 'g', -1, 64) + " " + units[unitKey{c.Name, row.Metric.Name}]
		}
	}
	if failed > 0 {
		fmt.Fprintf(out, "# %s of %s did not finish\n", figure.Count(failed, "launch"), word(c.Name))
	}
	for _, trial := range trials {
		fmt.Fprintf(out, "Benchmark%s 1%s\n", capital(word(c.Name)), values[trial])
	}
}

// word makes text one word of a line.
func word(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			return '_'
		}
		return r
	}, s)
}

func oneLine(s string) string { return strings.Join(strings.Fields(printable(s)), " ") }

// capital begins a name with an upper-case letter, as the format wants it.
func capital(s string) string {
	r := []rune(s)
	if len(r) > 0 {
		r[0] = unicode.ToUpper(r[0])
	}
	return string(r)
}
