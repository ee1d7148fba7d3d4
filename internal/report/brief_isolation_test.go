package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
)

// isolation is a result of the size of the built-in isolation, in which neighbours do all that they can.
func isolation() *result.Result {
	r := &result.Result{Title: "How well does each platform shield an instance from its neighbour?", Baseline: "native", Margin: 0.03,
		Complete: true, Seconds: 1260, Relative: &result.Matrix{}}
	columns := map[string][]string{"CPU": {"idle", "competing", "orthogonal", "adversarial", "two alike"}, "memory": {"competing", "orthogonal", "adversarial"},
		"disk": {"competing", "orthogonal", "adversarial"}, "network": {"idle", "competing", "orthogonal", "adversarial", "adversarial (UDP)", "two alike"}}
	m := r.Relative
	m.Columns = []string{"idle", "competing", "orthogonal", "adversarial", "two alike", "adversarial (UDP)"}
	cell := func(name string, kept float64) *result.MatrixCell {
		c := &result.MatrixCell{Case: name, Kept: kept, Low: kept - 0.02, High: kept + 0.02, N: 5, Launches: 5, SharedCPUs: true, Effect: &result.Effect{Verdict: result.Differs}}
		c.Words = c.Say()
		return c
	}
	for _, row := range []string{"CPU", "memory", "disk", "network"} {
		for _, column := range columns[row] {
			name := strings.ToLower(row) + "-" + column
			r.Cases = append(r.Cases, result.Case{Name: name, Title: row + " work, beside one that is " + column, Resource: strings.ToLower(row)})
		}
		for p, platform := range []string{"native", "docker", "lxc", "gvisor", "uml"} {
			x := result.MatrixRow{Row: row, Case: strings.ToLower(row) + "-alone", Platform: platform, Baseline: p == 0, Alone: 4000, N: 5,
				Metric: bench.Metric{Name: "throughput", Unit: "events/s", Better: bench.HigherIsBetter, Headline: true}, Cells: make([]*result.MatrixCell, len(m.Columns))}
			for j, column := range m.Columns {
				name := strings.ToLower(row) + "-" + column
				if !strings.Contains(strings.Join(columns[row], ";"), column) {
					continue
				}
				c := cell(name, 0.5+0.01*float64(p))
				switch column {
				case "idle":
					c = cell(name, 0.97)
				case "orthogonal":
					c = cell(name, 0.89)
					c.Effect.Verdict = result.Inconclusive
				case "adversarial":
					c = cell(name, 0.98)
					c.Gone, c.Stopped, c.StoppedBy = 5, 5, bench.OwnMemory
					if row == "CPU" && p < 2 {
						c = &result.MatrixCell{Case: name, Launches: 5, DNF: 5, SharedCPUs: true, Effect: &result.Effect{Verdict: result.Refused}}
					}
					if row == "disk" {
						c = &result.MatrixCell{Case: name, Launches: 5, Alone: 5, AloneWhy: "0.2 s after it began: exit status 1", Effect: &result.Effect{Verdict: result.Refused}}
					}
				}
				c.Words = c.Say()
				x.Cells[j] = c
			}
			m.Rows = append(m.Rows, x)
		}
	}
	for i := range 12 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("warning %d of this host", i))
	}
	r.Summarize()
	return r
}

// The whole of isolation fits a screen: its sentences, the table and what to be careful about.
func TestBriefOfIsolation(t *testing.T) {
	var b bytes.Buffer
	if err := Brief(&b, isolation()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n"); n > 60 {
		t.Errorf("%d lines", n)
	}
	golden(t, "isolation.txt", b.String())
}

// A cell of the map without a neighbour says so in two lines, and below the map why.
func TestMapOfNoNeighbour(t *testing.T) {
	m := isolation().Relative
	svg := string(heatMap(m))
	for _, want := range []string{">no neighbour</text>", ">5 of 5</text>"} {
		if n := strings.Count(svg, want); n != 5 {
			t.Errorf("%d times %s", n, want)
		}
	}
	notes := strings.Join(relativeNotes(m.Rows, m.Columns), "\n")
	for _, want := range []string{"disk, lxc, adversarial: there was no neighbour in 5 of 5: it ended 0.2 s after it began: exit status 1",
		"memory, lxc, adversarial: the neighbour was stopped by its own limit of memory in 5 of 5"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no %q in\n%s", want, notes)
		}
	}
}
