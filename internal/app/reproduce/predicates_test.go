package reproduce

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tare/internal/analysis/claims"
	"tare/internal/app/planning"
	"tare/internal/bench"
	"tare/internal/papers"
	"tare/internal/result"
	"tare/internal/spec"
)

// testHost reads experiments and has no platforms.
func testHost() *Host {
	var c planning.Catalog
	return &Host{Catalog: c, words: c.Words(), experiments: Experiments(c.Words())}
}

// blocks of the results that are made up.
const blocks = 8

// made makes up the runs of an exhibit's experiments in which a claim's Q has the given logarithm,
// with the scatter over blocks.
type made struct {
	paper   *papers.Paper
	exhibit *papers.Exhibit
	claim   *papers.Claim
	log     float64
	scatter float64
}

func (m *made) runs(t *testing.T, h *Host) claims.Measured {
	out := claims.Measured{}
	for _, name := range m.exhibit.Experiments() {
		e, err := h.experiments.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		r := &result.Result{Experiment: name, Margin: 0.03}
		for _, p := range m.exhibit.Platforms {
			if refs := m.paper.Ours(m.exhibit, p); len(refs) > 0 {
				r.Platforms = append(r.Platforms, result.Platform{Name: refs[0]})
			}
		}
		for i := range e.Scenes {
			r.Cases = append(r.Cases, m.caseOf(&e.Scenes[i], name))
			m.sweep(r, &e.Scenes[i], name)
		}
		r.Power = []result.Power{{}} // at rest the machine draws nothing
		for b := 1; b <= blocks; b++ {
			r.Power[0].Idles = append(r.Power[0].Idles, result.IdlePower{Block: b})
		}
		out[name] = append(out[name], &claims.Run{Dir: name, Result: r})
	}
	return out
}

// caseOf is a case with the claim's metric on every platform.
func (m *made) caseOf(s *spec.Scene, experiment string) result.Case {
	c := result.Case{Name: s.Case(), Factors: map[string]string{}}
	for _, f := range s.Factors {
		c.Factors[f.Name] = f.Level
	}
	for _, p := range m.exhibit.Platforms {
		refs := m.paper.Ours(m.exhibit, p)
		if len(refs) == 0 {
			continue
		}
		var points []result.Point
		at := m.valueOf(p, s, experiment)
		scatter := m.scatter + 1e-4
		if at == 0 { // what others are set against
			scatter = 1e-4
		}
		for b := 1; b <= blocks; b++ {
			points = append(points, result.Point{Block: b, Value: math.Exp(at + scatter*wobble(b))})
		}
		row := result.Row{Metric: bench.Metric{Name: m.claim.Metric}, Platform: refs[0], Points: points, N: blocks}
		low, high := math.Exp(at-m.scatter), math.Exp(at+m.scatter)
		row.Fairness = &result.Fairness{Apart: result.Share{Mean: math.Exp(at), Low: low * 0.99, High: high * 1.01}, N: blocks}
		if m.claim.Metric == papers.Unfinished {
			row.N, row.DNF = launches(at, m.scatter)
		}
		if m.claim.Metric == papers.CPUApart {
			row.Metric.Name = bench.UsageMetrics[0].Name
		}
		if slices.Contains([]string{papers.GuestCPU, papers.LayerCPU}, m.claim.Metric) { // half of the CPU each
			row.Metric.Name = bench.UsageMetrics[0].Name
			over := result.Row{Metric: bench.UsageMetrics[1], Platform: refs[0]}
			for _, p := range points {
				over.Points = append(over.Points, result.Point{Block: p.Block, Value: 2})
			}
			c.Rows = append(c.Rows, over)
		}
		c.Rows = append(c.Rows, row)
		c.Energy = append(c.Energy, result.Energy{Platform: refs[0], Points: points})
		c.Density = append(c.Density, result.DensityRow{Platform: refs[0], Memory: []result.Slope{{Of: "pss", Slopes: points}}})
		c.Scheduling = append(c.Scheduling, result.Scheduling{Platform: refs[0], Role: bench.Subject,
			Quantities: []result.Quantity{{Metric: bench.Metric{Name: m.claim.Metric}, Points: points}}})
	}
	return c
}

// sweep adds knees and peaks.
func (m *made) sweep(r *result.Result, s *spec.Scene, experiment string) {
	if m.claim.Metric != papers.Knee && m.claim.Metric != papers.Peak {
		return
	}
	if slices.ContainsFunc(r.Sweeps, func(w result.Sweep) bool { return w.Name == s.Name }) {
		return
	}
	w := result.Sweep{Name: s.Name}
	for _, p := range m.exhibit.Platforms {
		if refs := m.paper.Ours(m.exhibit, p); len(refs) > 0 {
			at := m.valueOf(p, s, experiment)
			low, high := math.Exp(at-m.scatter)*0.99, math.Exp(at+m.scatter)*1.01
			w.Lines = append(w.Lines, result.SweepLine{Platform: refs[0], Knee: &result.Knee{At: math.Exp(at), Low: low, High: high}, Peak: &result.Peak{At: math.Exp(at), Low: low, High: high}})
		}
	}
	r.Sweeps = append(r.Sweeps, w)
}

// launches are those that finished, and those that did not, of a share that is exp of at.
func launches(at, scatter float64) (n, dnf int) {
	if scatter > 0 {
		return 1, 1
	}
	share := math.Exp(at)
	dnf = int(min(1, share) * 1000)
	return 1000 - dnf, dnf
}

// wobble is a scatter with the mean 0.
func wobble(block int) float64 { return []float64{-1, 1, -0.5, 0.5, -1.2, 1.2, 0.3, -0.3}[block-1] }

// valueOf is the logarithm of a platform's value in a case, so that Q comes out.
func (m *made) valueOf(platform string, s *spec.Scene, experiment string) float64 {
	c := m.claim
	called := func(words papers.Words) bool {
		return slices.ContainsFunc(words, func(w string) bool {
			if of, rest, ok := strings.Cut(w, ":"); ok {
				return of == experiment && s.Called(rest)
			}
			return s.Called(w)
		})
	}
	of := slices.Contains(c.Of, platform) || c.Of[0] == "each" && !slices.Contains(c.To, platform)
	if len(c.To) > 0 && c.To[0] == "others" && c.Of[0] == "each" {
		of = platform == m.exhibit.Platforms[0]
	}
	log := m.log
	if slices.Contains(c.To, platform) && slices.Contains(c.Of, platform) {
		of = true // it lies between those that are of alone and those that are to alone
	} else if of && slices.ContainsFunc(c.To, func(name string) bool { return slices.Contains(c.Of, name) }) {
		log *= 2
	}
	if !of || !called(c.In) || called(c.Against) {
		return 0
	}
	if len(c.Along) == 0 {
		return log
	}
	for _, f := range s.Factors {
		if x, ok := bench.LevelNumber(f.Level); ok && slices.Contains(c.Along, f.Name) && x > 0 {
			return log * math.Log(x)
		}
	}
	return 0
}

// TestPredicates makes results up for every claim: in which it holds, in which it does not, and in
// which launches scatter so much that nothing is decided.
func TestPredicates(t *testing.T) {
	h := testHost()
	for _, p := range papers.All() {
		for i := range p.Exhibits {
			x := p.Exhibits[i]
			for n := range x.Claims {
				c := x.Claims[n]
				c.Void = "" // that it is not asked is tested by itself
				if c.None != "" {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%s", p.ID, x.ID, strconv.Itoa(n+1)), func(t *testing.T) {
					pairs := c.Pairs(x.Platforms)
					if slices.ContainsFunc(pairs, func(pair [2]string) bool {
						return len(p.Ours(&x, pair[0])) == 0 || pair[1] != "" && len(p.Ours(&x, pair[1])) == 0
					}) {
						return // of a platform that is like none of ours
					}
					low, high := c.Bounds(0.03)
					in, out, edge := inside(low, high), outside(low, high), low
					if c.Is == papers.Unequal {
						in, out = out, in
					}
					if math.IsInf(low, -1) {
						edge = high
					}
					for _, want := range []struct {
						verdict      claims.Verdict
						log, scatter float64
					}{{claims.Holds, in, 0}, {claims.DoesNot, out, 0}, {claims.Undecided, edge, 0.4}} {
						m := made{&p, &x, &c, want.log, want.scatter}
						one := p
						alone := x
						alone.Claims = []papers.Claim{c}
						one.Exhibits = []papers.Exhibit{alone}
						d, err := claims.Judge(&one, nil, h.experiments, m.runs(t, h))
						if err != nil {
							t.Fatal(err)
						}
						if f := d.Exhibits[0].Findings[0]; f.Verdict != want.verdict {
							t.Errorf("%s: %s for Q of %.3g with scatter %g: %s: %+v", f.Test, f.Verdict, math.Exp(want.log), want.scatter, f.Why, f.Parts[:min(3, len(f.Parts))])
						}
					}
				})
			}
		}
	}
}

// inside is well between bounds of logarithms, and outside well beyond one of them.
func inside(low, high float64) float64 {
	switch {
	case math.IsInf(low, -1):
		return high - 0.5
	case math.IsInf(high, 1):
		return low + 0.5
	}
	return (low + high) / 2
}

func outside(low, high float64) float64 {
	if math.IsInf(high, 1) {
		return low - 0.5
	}
	return high + 0.5
}
