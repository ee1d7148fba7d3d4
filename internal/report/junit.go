package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"tare/internal/analysis/compare"
	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/result"
)

// The elements of JUnit's XML as continuous integration servers read it.
type junitSuite struct {
	XMLName   xml.Name    `xml:"testsuite"`
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Time      string      `xml:"time,attr"` // seconds
	Timestamp string      `xml:"timestamp,attr,omitempty"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitMessage `xml:"failure,omitempty"`
	Error   *junitMessage `xml:"error,omitempty"`
	Skipped *junitMessage `xml:"skipped,omitempty"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// JUnit writes a test case for every effect, but for those of what subjects used, and for every cell of the table of
// scenes set against others, which counts in the place of its case's effect, and
// for what failed without either. It fails if a launch did not finish or the comparison is unfair, and
// is skipped, with the reason, if the data do not decide. That two platforms differ is not a failure.
func JUnit(w io.Writer, r *result.Result) error {
	s := junitSuite{Name: "tare " + r.Experiment, Time: figure.Fixed(r.Seconds, 3), Timestamp: r.Started}
	within := r.Relative.Cases()
	for _, c := range r.Cases {
		for _, row := range c.Rows {
			switch {
			case slices.Contains(bench.UsageMetrics, row.Metric):
			case row.Effect != nil && !within[c.Name]:
				s.add(effectCase(r, &c, &row))
			case row.Failed > 0 && row.Metric.Headline:
				s.add(junitCase{Class: "tare." + c.Name, Name: row.Name() + " " + row.Metric.Name, Failure: launchesFailed(r, &c, &row)})
			}
		}
	}
	if r.Relative != nil {
		for _, row := range r.Relative.Rows {
			for i, c := range row.Cells {
				if c != nil {
					s.add(cellCase(&row, r.Relative.Columns[i], c))
				}
			}
		}
	}
	return s.write(w)
}

// cellCase is of what is left in a cell. That the subject did not finish beside
// its neighbour is a finding; launches that failed are their case's failure.
func cellCase(row *result.MatrixRow, column string, c *result.MatrixCell) junitCase {
	text := printable(cellText(c))
	k := junitCase{
		Class: "tare." + c.Case, Name: row.Name() + " left_of_" + row.Metric.Name,
		Out: printable(fmt.Sprintf("%s, %s against %s: ", row.Row, column, row.Case)) + text,
	}
	switch v := c.Effect.Verdict; {
	case v == result.Unfair:
		k.Failure = &junitMessage{Message: printable(c.Effect.Unfair), Type: "unfair"}
	case c.DNF == 0 && (v == result.Inconclusive || v == result.Refused):
		k.Skipped = &junitMessage{Message: text, Text: printable(c.Effect.Why)}
	}
	return k
}

func effectCase(r *result.Result, c *result.Case, row *result.Row) junitCase {
	e := row.Effect
	k := junitCase{
		Class: "tare." + c.Name, Name: row.Name() + " " + row.Metric.Name,
		Out: printable(fmt.Sprintf("%s against %s: %s", row.Platform, r.Baseline, e.Words)),
	}
	switch {
	case row.Failed > 0:
		k.Failure = launchesFailed(r, c, row)
	case e.Verdict == result.Unfair:
		k.Failure = &junitMessage{Message: printable(e.Unfair), Type: "unfair"}
	case e.Verdict == result.Inconclusive, e.Verdict == result.Refused:
		k.Skipped = &junitMessage{Message: printable(e.Words)}
	}
	return k
}

func launchesFailed(r *result.Result, c *result.Case, row *result.Row) *junitMessage {
	message := fmt.Sprintf("%d of %d launches failed", row.Failed, row.Failed+row.Missing+row.N)
	return &junitMessage{Message: message, Type: "launch", Text: failuresOf(r, c.Name+"/"+row.Platform)}
}

// failuresOf are a scene's failures, a line each.
func failuresOf(r *result.Result, scene string) string {
	var b strings.Builder
	for _, f := range r.Failures {
		if f.Scene == scene {
			fmt.Fprintf(&b, "%s, in %s: %s\n", f.Trial, f.Phase, printable(strings.ReplaceAll(f.Error, "\n", " ")))
		}
	}
	return b.String()
}

// GateJUnit writes a test case for every row of a gate: a regression fails, an
// unfair comparison and one of which every launch failed are errors, what is not decided is skipped with the reason, as
// is a regression of two runs that may not be one of the platform.
func GateJUnit(w io.Writer, g *compare.Gate) error {
	s := junitSuite{Name: fmt.Sprintf("tare gate, %s of regression allowed", figure.Share(g.Limit)), Time: "0"}
	if b := g.Comparison.B; len(b) > 0 {
		s.Timestamp = b[0].Started
	}
	for _, r := range g.Rows {
		k := junitCase{Class: "tare." + r.Case, Name: r.Platform + " " + r.Metric.Name, Out: printable("B against A: " + r.Words)}
		message := &junitMessage{Message: printable(r.Why), Type: string(r.Decision), Text: printable(r.Decide)}
		switch r.Decision {
		case compare.Regression:
			k.Failure = message
		case compare.Unfair, compare.Failed:
			k.Error = message
		case compare.Undecided, compare.RegressionOfRuns:
			k.Skipped = &junitMessage{Message: printable(r.Why), Text: printable(r.Decide)}
		}
		s.add(k)
	}
	// The whole may be undecided though no row is: a run that is not complete.
	whole := junitCase{Class: "tare", Name: "gate", Out: printable(g.Why)}
	switch g.Decision {
	case compare.Regression:
		whole.Failure = &junitMessage{Message: printable(g.Why), Type: string(g.Decision)}
	case compare.Unfair, compare.Failed:
		whole.Error = &junitMessage{Message: printable(g.Why), Type: string(g.Decision)}
	case compare.Undecided, compare.RegressionOfRuns:
		whole.Skipped = &junitMessage{Message: printable(g.Why)}
	}
	s.add(whole)
	return s.write(w)
}

func (s *junitSuite) add(k junitCase) {
	s.Tests++
	switch {
	case k.Failure != nil:
		s.Failures++
	case k.Error != nil:
		s.Errors++
	case k.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, k)
}

func (s *junitSuite) write(w io.Writer) error {
	text, err := xml.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	_, err = io.WriteString(w, xml.Header+string(text)+"\n")
	return err
}
