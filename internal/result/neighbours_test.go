package result

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/bench"
)

// What a neighbour does is said of each scene, by bounds: protection needs the lower, harm the upper.
func TestNeighbourSentences(t *testing.T) {
	rate := bench.Metric{Name: "throughput", Unit: "events/s", Better: bench.HigherIsBetter, Headline: true}
	cell := func(name string, kept, low, high float64, v Verdict) *MatrixCell {
		return &MatrixCell{Case: name, Kept: kept, Low: low, High: high, Launches: 3, N: 3, SharedCPUs: true, Words: "said", Effect: &Effect{Verdict: v}}
	}
	dnf := func(name string) *MatrixCell {
		return &MatrixCell{Case: name, Launches: 3, DNF: 3, SharedCPUs: true, Words: "DNF 3 of 3", Effect: &Effect{Verdict: Refused}}
	}
	half := func(kept float64) *MatrixCell { return cell("competing", kept, kept-0.02, kept+0.02, Differs) }
	for _, c := range []struct {
		name        string
		native, lxc *MatrixCell
		says        string
	}{
		{"nobody protects", half(0.47), half(0.5), "Primes, beside a hog: no platform here protects from it; 47 to 50 % is left; give each CPUs of its own."},
		{"equal to a percent", half(0.501), half(0.5), "Primes, beside a hog: no platform here protects from it; 50 % is left; give each CPUs of its own."},
		{"one protects", half(0.47), cell("competing", 0.99, 0.97, 1.01, Equivalent), "Primes, beside a hog: 47 % is left on native; 99 % on lxc; give each CPUs of its own."},
		{"one does not finish", dnf("competing"), half(0.5), "Primes, beside a hog: no platform here protects from it; 50 % is left; it did not finish on native; give each CPUs of its own."},
		{"nobody finishes", dnf("competing"), dnf("competing"), "Primes, beside a hog: no platform here protects from it; it did not finish on native and lxc; give each CPUs of its own."},
		{"protection is not sure", cell("competing", 0.95, 0.85, 1.05, Inconclusive), half(0.5), "Primes, beside a hog: 50 % is left on lxc; not known on native; give each CPUs of its own."},
		{"harm is not sure", cell("competing", 0.85, 0.7, 0.95, Differs), cell("competing", 0.99, 0.97, 1.01, Equivalent), `Not decided whether 90 % is left: "Primes, beside a hog".`},
		{"everybody protects", cell("competing", 0.98, 0.95, 1.01, Equivalent), cell("competing", 1, 0.98, 1.02, Equivalent), `At least 90 % is left on every platform of: "Primes, beside a hog".`},
		{"no neighbour", &MatrixCell{Case: "competing", Launches: 3, Alone: 3, Words: "no neighbour 3 of 3", Effect: &Effect{Verdict: Refused}}, half(0.5), "Primes, beside a hog: 50 % is left on lxc; not known on native."},
	} {
		r := &Result{Baseline: "native", Margin: 0.03, Complete: true,
			Cases: []Case{{Name: "competing", Title: "Primes, beside a hog", Resource: "cpu"}, {Name: "alone", Title: "Primes, alone", Resource: "cpu"}},
			Relative: &Matrix{Columns: []string{"competing"}, Rows: []MatrixRow{
				{Row: "CPU", Case: "alone", Platform: "native", Baseline: true, Metric: rate, Cells: []*MatrixCell{c.native}},
				{Row: "CPU", Case: "alone", Platform: "lxc", Metric: rate, Cells: []*MatrixCell{c.lxc}}}}}
		r.Summarize()
		if diff := cmp.Diff([]string{c.says}, r.Summary.Sentences); diff != "" {
			t.Errorf("%s (-want +got): %s", c.name, diff)
		}
	}
}

// Of many scenes the worst have a sentence each; where no CPU is shared, there is no advice.
func TestManyNeighbours(t *testing.T) {
	r := &Result{Baseline: "native", Margin: 0.03, Complete: true, Relative: &Matrix{Rows: []MatrixRow{{Row: "disk", Case: "alone", Platform: "lxc",
		Metric: bench.Metric{Name: "iops", Better: bench.HigherIsBetter, Headline: true}}}}}
	for i, kept := range []float64{0.8, 0.3, 0.99, 0.5, 0.7, 0.6, 0.1} {
		name := string(rune('a' + i))
		r.Relative.Columns = append(r.Relative.Columns, name)
		r.Relative.Rows[0].Cells = append(r.Relative.Rows[0].Cells, &MatrixCell{Case: name, Kept: kept, Low: kept - 0.01, High: kept + 0.01, N: 3, Launches: 3, Effect: &Effect{Verdict: Differs}})
	}
	r.Summarize()
	want := "g: 10 % is left on lxc.\nb: 30 % is left on lxc.\nd: 50 % is left on lxc.\nf: 60 % is left on lxc.\n2 more in which something is lost are in the table.\nAt least 90 % is left on every platform of: \"c\"."
	if got := strings.Join(r.Summary.Sentences, "\n"); got != want {
		t.Errorf("%s", got)
	}
}
