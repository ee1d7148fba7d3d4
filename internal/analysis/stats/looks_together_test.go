package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// together are ratios that end together: what a platform keeps of its launches alone in some scenes
// beside a neighbour, and these launches alone against the baseline's. Each launch is drawn once a
// block and used in every ratio that it stands in.
type together struct {
	truths         []float64 // of the logarithms; the first is that of the ratio against the baseline
	margin, wanted float64   // in standard deviations of a ratio
}

// reported is what is reported of one ratio.
type reported struct {
	mean, half float64
	differs    bool // after correction for the cells
}

// run draws blocks until every ratio is narrow or decided at the same look, and returns what is
// reported: all at the strict level if one had to decide. The cells are corrected for their number,
// the ratio against the baseline stands alone.
func (x *together) run(rng *rand.Rand, looks []int, usual, strict, corrected, usualCorrected []float64) (out []reported, n int) {
	k := len(x.truths)
	sum, squares := make([]float64, k), make([]float64, k)
	out = make([]reported, k)
	sd := make([]float64, k)
	for at, look := range looks {
		for ; n < look; n++ {
			baseline, alone := rng.NormFloat64()/math.Sqrt2, rng.NormFloat64()/math.Sqrt2
			for i := range sum {
				v := x.truths[i] + alone - baseline
				if i > 0 {
					v = x.truths[i] + rng.NormFloat64()/math.Sqrt2 - alone
				}
				sum[i] += v
				squares[i] += v * v
			}
		}
		all, decided := true, false
		for i := range sum {
			mean := sum[i] / float64(n)
			sd[i] = math.Sqrt((squares[i] - sum[i]*mean) / float64(n-1))
			differs := corrected[at]
			if i == 0 {
				differs = strict[at]
			}
			switch {
			case usual[at]*sd[i] <= x.wanted:
			case math.Abs(mean) > differs*sd[i], math.Abs(mean)+strict[at]*sd[i] <= x.margin:
				decided = true
			default:
				all = false
			}
			out[i].mean = mean
		}
		last := at == len(looks)-1
		if !all && !last {
			continue
		}
		for i := range out {
			half, reach := usual[at], usualCorrected[at]
			if all && decided {
				half, reach = strict[at], corrected[at]
			}
			if i == 0 {
				reach = half
			}
			out[i].half = half * sd[i]
			out[i].differs = math.Abs(out[i].mean) > reach*sd[i] && math.Abs(out[i].mean)+out[i].half > x.margin
		}
		return out, n
	}
	return out, n
}

// What TestLevelsSuffice shows of one ratio holds of several that end together, though they share
// launches: the interval of each holds the truth in 95 %, of cells that are all alike at least one
// differs in at most 5 %, and one that is apart by the margin is equivalent in at most 2.5 %.
func TestLevelsSufficeTogether(t *testing.T) {
	n := float64(*experiments)
	bound := func(p float64) float64 { return 3 * math.Sqrt(p*(1-p)/n) }
	for _, looks := range [][]int{Looks(3, 12), Looks(3, 30)} {
		for _, cells := range []int{1, 3, 6} {
			levels := LevelsOf(len(looks), 0.95)
			usual, strict := reaches(looks, levels.Usual), reaches(looks, levels.Strict)
			corrected, usualCorrected := reaches(looks, 1-(1-levels.Strict)/float64(cells)), reaches(looks, 1-(1-levels.Usual)/float64(cells))
			worst, blocks, of := [3]float64{1, 0, 0}, 0.0, 0.0
			for _, margin := range []float64{0.5, 1, 2, 4} {
				for _, wanted := range []float64{0.5, 1} { // of the margin
					for _, truth := range []float64{0, 1, 3} { // of the margin, of the cells
						x := together{margin: margin, wanted: margin * wanted, truths: []float64{0}}
						for range cells {
							x.truths = append(x.truths, margin*truth)
						}
						rng := rand.New(rand.NewPCG(uint64(cells), math.Float64bits(margin*wanted)^math.Float64bits(truth)))
						held := make([]float64, cells+1)
						var alarms, equivalent float64
						for range *experiments {
							out, took := x.run(rng, looks, usual, strict, corrected, usualCorrected)
							blocks, of = blocks+float64(took), of+1
							alarm := false
							for i, e := range out {
								if math.Abs(e.mean-x.truths[i]) <= e.half {
									held[i]++
								}
								alarm = alarm || i > 0 && e.differs
							}
							if alarm {
								alarms++
							}
							if math.Abs(out[1].mean)+out[1].half <= margin {
								equivalent++
							}
						}
						what := fmt.Sprintf("looks %d to %d, %d cells, margin %g sd, wanted %g sd, truth %g sd", looks[0], looks[len(looks)-1], cells, margin, x.wanted, margin*truth)
						for i, h := range held {
							worst[0] = min(worst[0], h/n)
							if least := 0.95 - bound(0.95); h/n < least {
								t.Errorf("%s: ratio %d covered %.2f %%, want at least %.2f", what, i, 100*h/n, 100*least)
							}
						}
						if truth == 0 {
							worst[1] = max(worst[1], alarms/n)
							if alarms/n > 0.05+bound(0.05) {
								t.Errorf("%s: alike, and one of them different in %.2f %%", what, 100*alarms/n)
							}
						}
						if truth == 1 {
							worst[2] = max(worst[2], equivalent/n)
							if equivalent/n > 0.025+bound(0.025) {
								t.Errorf("%s: apart by the margin, and equivalent in %.2f %%", what, 100*equivalent/n)
							}
						}
					}
				}
			}
			t.Logf("| %d to %d | %d | %.1f %% | %.1f %% | %.1f %% | %.1f |", looks[0], looks[len(looks)-1], cells, 100*worst[0], 100*worst[1], 100*worst[2], blocks/of)
		}
	}
}
