package claims

import (
	"math"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/papers"
	"tare/internal/result"
	"tare/internal/spec"
)

// measured is a run of two platforms over clients and pages, in which the second has half the rate.
func measured() *Run {
	r := &result.Result{Baseline: "bare", Margin: 0.03, Platforms: []result.Platform{{Name: "bare"}, {Name: "boxed"}}}
	for _, page := range []string{"small", "large"} {
		for _, clients := range []string{"1", "16"} {
			c := result.Case{Name: "web[clients=" + clients + ",page=" + page + "]", Title: "Web, " + clients + " clients", Factors: map[string]string{"clients": clients, "page": page}}
			for i, p := range r.Platforms {
				row := result.Row{Platform: p.Name, Metric: bench.Metric{Name: "rate", Unit: "requests/s", Better: bench.HigherIsBetter}}
				for block := range 4 {
					row.Points = append(row.Points, result.Point{Block: block, Value: 1000 * (1 + 0.01*float64(block)) / float64(1+i)})
				}
				c.Rows = append(c.Rows, row)
			}
			r.Cases = append(r.Cases, c)
		}
	}
	return &Run{Dir: "results/x", Result: r}
}

func judged(t *testing.T, x papers.Exhibit) Exhibit {
	t.Helper()
	x.ID, x.Title, x.Platforms = "fig1", "Web", []string{"native", "box", "xen"}
	x.Shows = []papers.Show{{Experiment: "web", Scenes: []string{"web"}, Metrics: []string{"rate"}}}
	p := &papers.Paper{ID: "p", Platforms: map[string][]string{"native": {"bare"}, "box": {"boxed"}, "xen": {"absent"}}, Exhibits: []papers.Exhibit{x}}
	none := papers.Experiments{Find: func(string) (*spec.Experiment, error) { return nil, bench.ErrInvalid }}
	judged, err := Judge(p, nil, none, Measured{"web": {measured()}})
	if err != nil {
		t.Fatal(err)
	}
	return judged.Exhibits[0]
}

// A curve has its factor, levels as the experiment spells them, and a line for each of the other levels.
func TestPlotOfACurve(t *testing.T) {
	e := judged(t, papers.Exhibit{Drawn: papers.Curves, Published: []papers.Published{{Of: "box", To: "native", In: "web[clients=16,page=small]", Metric: "rate", Value: 0.9}, {Of: "native", In: "web[clients=1,page=small]", Metric: "rate", Value: 7, Unit: "requests/s"}}})
	if len(e.Plots) != 1 || e.Plots[0].Factor != "clients" || e.Plots[0].To != "native" || len(e.Plots[0].Series) != 3 {
		t.Fatalf("%+v", e.Plots)
	}
	var got []string
	for _, q := range e.Plots[0].Series[1].Points {
		got = append(got, q.Level+" of "+q.Line)
		if q.N != 4 || math.Abs(q.Value-0.5) > 1e-9 || math.Abs(q.Here-507) > 1 {
			t.Errorf("%+v", q)
		}
	}
	if s := strings.Join(got, "; "); s != "1 of web, page small; 16 of web, page small; 1 of web, page large; 16 of web, page large" {
		t.Error(s)
	}
	if q := e.Plots[0].Series[1].Points[1]; len(q.Published) != 1 || q.X != 16 {
		t.Errorf("published: %+v", q)
	}
	if q := e.Plots[0].Series[0].Points[0]; len(q.Absolute) != 1 {
		t.Errorf("published of another machine: %+v", q)
	}
}

// Where most claims set cases against one on the same platform, so does the plot, with the sizes of
// the claims as what is published.
func TestPlotAgainstOneCase(t *testing.T) {
	alone := papers.Words{"web:web[clients=1,page=small]"}
	e := judged(t, papers.Exhibit{Drawn: papers.Bars, Published: []papers.Published{{Of: "box", In: "web:web[clients=16,page=small]", Metric: "rate", Value: 90, Unit: "% of alone"},
		{Of: "box", In: "web:web[clients=1,page=large]", Against: "web:web[clients=1,page=small]", Metric: "rate", Value: 0.8},
		{Of: "box", In: "web:web[clients=1,page=large]", Against: "web:web[clients=16,page=small]", Metric: "rate", Value: 0.7}}, Claims: []papers.Claim{
		{Says: "a", Of: papers.Words{"each"}, In: papers.Words{"web[clients=16,page=small]", "web[clients=1,page=large]"}, Against: alone, Metric: "rate", Is: papers.Below, Size: papers.Numbers{0.9}},
	}})
	p := e.Plots[0]
	if p.Against != "Web, 1 clients" || p.To != "" {
		t.Fatalf("%+v", p)
	}
	for _, s := range p.Series[:2] {
		if q := s.Points[0]; !q.Base || q.Value != 1 || len(q.Published) != 0 {
			t.Errorf("alone: %+v", q)
		}
		if q := s.Points[1]; q.Base || math.Abs(q.Value-1) > 1e-9 || len(q.Published) != 1 || q.Published[0].Value != 0.9 {
			t.Errorf("beside: %+v", q)
		}
	}
	// A published ratio to the same case is a mark, in the place of a claim's size; one to another is not.
	if q := p.Series[1].Points[2]; q.Case != "web[clients=1,page=large]" || len(q.Published) != 1 || q.Published[0].Value != 0.8 || len(q.Absolute) != 1 || q.Absolute[0].Value != 0.7 {
		t.Errorf("published against a case: %+v", q)
	}
	if q := p.Series[1].Points[1]; len(q.Absolute) != 1 || math.Abs(q.Here-507) > 1 {
		t.Errorf("what is not compared: %+v", q)
	}
}

// Claims on how platforms stand to each other are drawn in the metric's unit, as is what was measured
// where the paper's baseline was not.
func TestPlotOfAbsoluteValues(t *testing.T) {
	others := papers.Claim{Says: "a", Of: papers.Words{"each"}, To: papers.Words{"others"}, In: papers.Words{"web"}, Metric: "rate", Is: papers.Equal}
	gone := papers.Claim{Says: "a", Of: papers.Words{"box"}, To: papers.Words{"xen"}, In: papers.Words{"web"}, Metric: "rate", Is: papers.Equal}
	for _, c := range []papers.Claim{others, gone} {
		if p := judged(t, papers.Exhibit{Drawn: papers.Bars, Claims: []papers.Claim{c}}).Plots[0]; p.To != "" || p.Series[0].Points[0].Value < 1000 {
			t.Errorf("%s: %+v", c.Test(), p)
		}
	}
}

// Values alone have a unit; ratios and slopes have none.
func TestUnitOfAPart(t *testing.T) {
	one := papers.Words{"web[clients=1,page=small]"}
	for want, c := range map[string]papers.Claim{
		"requests/s": {Of: papers.Words{"box"}, In: one, Metric: "rate", Is: papers.Above, Than: 100},
		Share:        {Of: papers.Words{"box"}, In: one, Metric: papers.Unfinished, Is: papers.Below, Than: 0.5},
		"":           {Of: papers.Words{"box"}, To: papers.Words{"native"}, In: one, Metric: "rate", Is: papers.Below},
	} {
		c.Says = "so"
		e := judged(t, papers.Exhibit{Drawn: papers.Bars, Claims: []papers.Claim{c}})
		if p := e.Findings[0].Parts[0]; p.Unit != want {
			t.Errorf("%s: %+v", c.Test(), p)
		}
	}
	c := papers.Claim{Says: "so", Of: papers.Words{"box"}, In: papers.Words{"web"}, Metric: "rate", Is: papers.Flat, Along: papers.Words{"clients"}}
	if p := judged(t, papers.Exhibit{Drawn: papers.Bars, Claims: []papers.Claim{c}}).Findings[0].Parts[0]; p.Unit != "" || !p.Slope {
		t.Errorf("%+v", p)
	}
}
