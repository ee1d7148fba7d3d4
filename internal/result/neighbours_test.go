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
	alone := func() *MatrixCell {
		return &MatrixCell{Case: "competing", Launches: 3, Alone: 3, SharedCPUs: true, Words: "no neighbour 3 of 3", Effect: &Effect{Verdict: Refused}}
	}
	whole := func() *MatrixCell { return cell("competing", 0.99, 0.97, 1.01, Equivalent) }
	with := func(c *MatrixCell, change func(*MatrixCell)) *MatrixCell { change(c); return c }
	wild := func() *MatrixCell {
		return with(cell("competing", 0.8, 1e-6, 1e6, Inconclusive), func(c *MatrixCell) { c.Effect.Low, c.Effect.High = 1e-6, 1e6 })
	}
	stopped := func(c *MatrixCell) { c.Gone, c.Stopped, c.StoppedBy = 3, 3, bench.OwnMemory }
	for _, c := range []struct {
		name        string
		native, lxc *MatrixCell
		says        string
	}{
		{"nobody protects", half(0.47), half(0.5), "Primes, beside a hog: no platform here protects from it; 47 to 50 % is left (45 to 52); give each CPUs of its own."},
		{"equal to a percent", half(0.501), half(0.5), "Primes, beside a hog: no platform here protects from it; 50 % is left (48 to 52); give each CPUs of its own."},
		{"one protects", half(0.47), cell("competing", 0.99, 0.97, 1.01, Equivalent), "Primes, beside a hog: 47 % is left on native (45 to 49); 99 % on lxc (97 to 101); give each CPUs of its own."},
		{"one does not finish", dnf("competing"), half(0.5), "Primes, beside a hog: no platform here protects from it; 50 % is left (48 to 52); it did not finish on native; give each CPUs of its own."},
		{"nobody finishes", dnf("competing"), dnf("competing"), "Primes, beside a hog: no platform here protects from it; it did not finish on native and lxc."},
		{"protection is not sure", cell("competing", 0.95, 0.85, 1.05, Inconclusive), half(0.5), "Primes, beside a hog: 50 % is left on lxc (48 to 52); not known on native; give each CPUs of its own."},
		{"harm is not sure", cell("competing", 0.85, 0.7, 0.95, Differs), cell("competing", 0.99, 0.97, 1.01, Equivalent), `Not decided whether more than 10 % is lost in: "Primes, beside a hog" (70 to 95 % is left on native).`},
		{"everybody loses a little", cell("competing", 0.85, 0.7, 0.95, Differs), cell("competing", 0.91, 0.88, 0.98, Differs),
			`Each platform loses something in: "Primes, beside a hog", where 85 to 91 % is left (70 to 98).`},
		{"everybody protects", cell("competing", 0.98, 0.95, 1.01, Equivalent), cell("competing", 1, 0.98, 1.02, Equivalent), `Little is lost, at most 10 %, in: "Primes, beside a hog".`},
		{"undecided whether it is a loss, and yet protected", cell("competing", 0.99, 0.96, 1.03, Inconclusive), cell("competing", 1, 0.98, 1.02, Equivalent), `Little is lost, at most 10 %, in: "Primes, beside a hog".`},
		{"no neighbour", alone(), half(0.5), "Primes, beside a hog: 50 % is left on lxc (48 to 52); no neighbour on native, where it had ended; give each CPUs of its own."},
		{"no neighbour, and protection", alone(), whole(), `Little is lost, at most 10 %, in: "Primes, beside a hog" (lxc).` + "\n" + `There was no neighbour, for it had ended, in: "Primes, beside a hog" (native).`},
		{"no neighbour anywhere", alone(), alone(), `There was no neighbour, for it had ended, in: "Primes, beside a hog".`},
		{"one launch did not finish", with(whole(), func(c *MatrixCell) { c.DNF, c.N = 1, 2 }), half(0.5), "Primes, beside a hog: 50 % is left on lxc (48 to 52); in 1 of 3 launches it did not finish on native; not known on native; give each CPUs of its own."},
		{"stopped by a limit", with(whole(), stopped), with(whole(), stopped), `Little is lost, at most 10 %, in: "Primes, beside a hog" (its own limit stopped the neighbour).`},
		{"stopped by a limit on one", with(whole(), stopped), half(0.5), "Primes, beside a hog: 50 % is left on lxc (48 to 52); 99 % on native (97 to 101); the neighbour's own limit stopped it on native; give each CPUs of its own."},
		{"both gain", cell("competing", 39.4, 31, 48.2, Differs), cell("competing", 12, 11, 13, Differs), `Primes, beside a hog: 12.0 to 39.4 times what is done in "Primes, alone" on native and lxc (11.0 to 48.2).`},
		{"one gains", cell("competing", 1.25, 1.2, 1.3, Differs), whole(), `Primes, beside a hog: 99 % is left on lxc (97 to 101); 125 % of "Primes, alone" on native (120 to 130).`},
		{"all scatter", wild(), wild(), `Launches scatter too much to say what is left in: "Primes, beside a hog".`},
		{"one scatters", wild(), cell("competing", 0.85, 0.7, 1.1, Inconclusive), `Not decided whether more than 10 % is lost in: "Primes, beside a hog".`},
	} {
		r := &Result{Baseline: "native", Margin: 0.03, Complete: true,
			Cases: []Case{{Name: "competing", Title: "Primes, beside a hog", Resource: "cpu"}, {Name: "alone", Title: "Primes, alone", Resource: "cpu"}},
			Relative: &Matrix{Columns: []string{"competing"}, Rows: []MatrixRow{
				{Row: "CPU", Case: "alone", Platform: "native", Baseline: true, Metric: rate, Cells: []*MatrixCell{c.native}},
				{Row: "CPU", Case: "alone", Platform: "lxc", Metric: rate, Cells: []*MatrixCell{c.lxc}}}}}
		r.Summarize()
		if diff := cmp.Diff(strings.Split(c.says, "\n"), r.Summary.Sentences); diff != "" {
			t.Errorf("%s (-want +got): %s", c.name, diff)
		}
	}
}

// Where there are many scenes, those in which every platform loses have one sentence, with the bounds of
// all of them.
func TestManyNeighboursThatAllHurt(t *testing.T) {
	r := &Result{Baseline: "native", Margin: 0.03, Complete: true, Relative: &Matrix{}}
	for p, platform := range []string{"native", "lxc"} {
		row := MatrixRow{Row: "CPU", Case: "alone", Platform: platform, Metric: bench.Metric{Name: "throughput", Better: bench.HigherIsBetter, Headline: true}}
		for i, kept := range []float64{0.5, 0.3, 0.4, 0.45, 0.7, 0.6, 0.8} {
			name := string(rune('a' + i))
			if p == 0 {
				r.Relative.Columns = append(r.Relative.Columns, name)
				r.Cases = append(r.Cases, Case{Name: name, Title: name, Resource: "cpu"})
			}
			kept += 0.01 * float64(p)
			row.Cells = append(row.Cells, &MatrixCell{Case: name, Kept: kept, Low: kept - 0.02, High: kept + 0.02, N: 3, Launches: 3, SharedCPUs: i < 3, Effect: &Effect{Verdict: Differs}})
		}
		r.Relative.Rows = append(r.Relative.Rows, row)
	}
	r.Relative.Rows[1].Cells[6] = &MatrixCell{Case: "g", Launches: 3, DNF: 3, Effect: &Effect{Verdict: Refused}}
	r.Summarize()
	want := []string{
		"g: no platform here protects from it; 80 % is left (78 to 82); it did not finish on lxc.",
		`No platform here protects, 30 to 51 % is left (28 to 53), in: "b", "c" and "a"; give each CPUs of its own.`,
		`No platform here protects, 45 to 71 % is left (43 to 73), in: "d", "f" and "e".`,
	}
	if diff := cmp.Diff(want, r.Summary.Sentences); diff != "" {
		t.Errorf("-want +got: %s", diff)
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
	want := "g: 10 % is left on lxc (9 to 11).\nb: 30 % is left on lxc (29 to 31).\nd: 50 % is left on lxc (49 to 51).\nf: 60 % is left on lxc (59 to 61).\n2 more in which something is lost are in the table.\nLittle is lost, at most 10 %, in: \"c\"."
	if got := strings.Join(r.Summary.Sentences, "\n"); got != want {
		t.Errorf("%s", got)
	}
}

// Of a scene without a neighbour nobody asks what is lost.
func TestSceneWithoutNeighbour(t *testing.T) {
	r := &Result{Baseline: "native", Margin: 0.03, Complete: true, Cases: []Case{{Name: "soft", Title: "Reads, soft limit", Kind: bench.One}},
		Relative: &Matrix{Columns: []string{"soft limit"}, Rows: []MatrixRow{{Row: "reads", Case: "hard", Platform: "lxc", Metric: bench.Metric{Name: "iops", Better: bench.HigherIsBetter, Headline: true},
			Cells: []*MatrixCell{{Case: "soft", Kept: 1.2, Low: 0.8, High: 1.7, N: 3, Launches: 3, Effect: &Effect{Verdict: Inconclusive}}}}}}}
	r.Summarize()
	if got := strings.Join(r.Summary.Sentences, "\n"); got != `Not decided whether more or less is done in: "Reads, soft limit" (80 to 170 %).` {
		t.Error(got)
	}
}
