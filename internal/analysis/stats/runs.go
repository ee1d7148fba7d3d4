package stats

import (
	"fmt"
	"math"
)

// MinRuns is the fewest runs whose variance can be told.
const MinRuns = 2

// RunMeans sets the runs of b against those of a, each the values of its
// launches: Welch's t on the runs' means of the logs. Launches of one run share
// what differs from run to run, so a run is one observation however many launches
// it has. SD and Of are of the means of runs. Fewer than MinRuns on a side, or
// MinTested launches in a run, are an error that wraps ErrFew; a value without a
// logarithm is one that wraps ErrDomain.
func RunMeans(a, b [][]float64) (Two, error) {
	x, err := means(a, MinRuns)
	if err != nil {
		return Two{}, err
	}
	y, err := means(b, MinRuns)
	if err != nil {
		return Two{}, err
	}
	return welch(x, y), nil
}

// ArchivedRuns sets the runs of b against those of a where a side may be one run
// alone. How much runs of the host differ is learnt from each of a, b and the
// archive that has at least MinRuns, pooled about their own means. A run alone
// that scatters more within itself than those from which that was learnt adds the
// excess. Degrees of freedom are Satterthwaite's (Biometrics Bulletin 2, 1946,
// 110). Errors are as of [RunMeans]; without a group of MinRuns one wraps ErrFew.
func ArchivedRuns(a, b, archive [][]float64) (Two, error) {
	var between, within pooled
	var share, runs float64 // sum of 1/launches over the runs learnt from
	var mean, rest [2]float64
	var n [2]float64
	for i, side := range [][][]float64{a, b, archive} {
		m, err := means(side, min(1, 2-i)) // an archive may be empty
		if err != nil {
			return Two{}, err
		}
		if i < 2 {
			mean[i], n[i] = Mean(m), float64(len(m))
		}
		if len(m) < MinRuns {
			continue
		}
		between.add(m)
		for _, values := range side {
			x, _ := logRatios("runs", values, MinTested)
			within.add(x)
			share, runs = share+1/float64(len(x)), runs+1
		}
	}
	if runs == 0 {
		return Two{}, fmt.Errorf("variance between runs: %w: at least %d runs of one kind needed", ErrFew, MinRuns)
	}
	run := between.variance()
	t := Two{Diff: mean[1] - mean[0]}
	shared := run * (1/n[0] + 1/n[1])
	squares := shared * shared / between.df
	sum := shared
	for i, side := range [][][]float64{a, b} {
		if len(side) == 1 {
			x, _ := logRatios("runs", side[0], MinTested)
			own := StdDev(x) * StdDev(x) / float64(len(x))
			if rest[i] = own - within.variance()*share/runs; rest[i] > 0 {
				sum += rest[i]
				squares += rest[i] * rest[i] / float64(len(x)-1)
			}
		}
		t.SD[i], t.Of[i] = math.Sqrt(run+max(0, rest[i])), between.df
	}
	t.SE = math.Sqrt(sum)
	if sum > 0 {
		t.DF = sum * sum / squares
	}
	return t, nil
}

// pooled is a variance about the means of several groups.
type pooled struct{ squares, df float64 }

func (p *pooled) add(x []float64) {
	df := float64(len(x) - 1)
	p.squares += df * StdDev(x) * StdDev(x)
	p.df += df
}

func (p *pooled) variance() float64 { return p.squares / p.df }

// means are the means of the logs of each run.
func means(runs [][]float64, least int) ([]float64, error) {
	if len(runs) < least {
		return nil, fmt.Errorf("means of runs: %w: %d runs, at least %d needed", ErrFew, len(runs), least)
	}
	out := make([]float64, len(runs))
	for i, values := range runs {
		x, err := logRatios("runs", values, MinTested)
		if err != nil {
			return nil, err
		}
		out[i] = Mean(x)
	}
	return out, nil
}
