package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// MinKneeLevels is the fewest levels that two lines are fitted to, and
	// MinKneeBlocks the fewest blocks that tell how sure the bend is.
	MinKneeLevels = 5
	MinKneeBlocks = 5
	kneeResamples = 999
	kneeGrid      = 201
)

// Knee is where a curve bends: the two straight lines that meet at At fit best.
type Knee struct {
	At, Low, High float64
	// Before and After are the slopes, per unit of x.
	Before, After float64
	// Bends: Student's interval of the change of slope, averaged over the places a
	// knee may have so that none is chosen for it, leaves out zero. Otherwise a straight
	// line says as much and At means nothing.
	Bends bool
}

// FindKnee fits, by least squares, two lines that meet to the means of y over
// blocks (segmented regression; Hudson, JASA 61, 1966): y has a row per block, with a
// value per level of x, which ascends. The knee is sought between the second
// level and the last but one. Its interval is the percentile bootstrap's over whole
// blocks, made wider for their number. The error wraps ErrFew or ErrDomain.
func FindKnee(x []float64, y [][]float64, confidence float64) (Knee, error) {
	if !(confidence > 0 && confidence < 1) {
		return Knee{}, fmt.Errorf("knee: confidence %g: %w", confidence, ErrDomain)
	}
	if len(x) < MinKneeLevels || len(y) < MinKneeBlocks {
		return Knee{}, fmt.Errorf("knee: %d levels in %d blocks, want %d in %d: %w", len(x), len(y), MinKneeLevels, MinKneeBlocks, ErrFew)
	}
	for i := range x[1:] {
		if !(x[i] < x[i+1]) {
			return Knee{}, fmt.Errorf("knee: levels %v do not ascend: %w", x, ErrDomain)
		}
	}
	var all []float64
	for _, row := range y {
		if len(row) != len(x) {
			return Knee{}, fmt.Errorf("knee: %d values of %d levels: %w", len(row), len(x), ErrDomain)
		}
		all = append(all, row...)
	}
	bends, err := newBends(x)
	if err != nil {
		return Knee{}, err
	}
	rows := make([]int, len(y))
	for i := range rows {
		rows[i] = i
	}
	best := bends.fit(meanRows(y, rows))
	ats := make([]float64, kneeResamples)
	rng := rand.New(rand.NewPCG(seed(all), uint64(len(y))))
	for b := range ats {
		for i := range rows {
			rows[i] = rng.IntN(len(y))
		}
		ats[b] = bends.fit(meanRows(y, rows)).At
	}
	slices.Sort(ats)
	tail := (1 - confidence) / 2
	// Percentiles of resampled means are too narrow by what Student's t and the
	// divisor n - 1 make of few blocks.
	n := float64(len(y))
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(1 - tail)
	wider := t / distuv.UnitNormal.Quantile(1-tail) * math.Sqrt(n/(n-1))
	reach := func(sorted []float64, p, mid float64) float64 { return mid + wider*(orderStatistic(sorted, p)-mid) }
	best.Low = max(reach(ats, tail, best.At), bends.at[0])
	best.High = min(reach(ats, 1-tail, best.At), bends.at[len(bends.at)-1])
	changes := make([]float64, len(y))
	for i, row := range y {
		changes[i] = bends.change(row)
	}
	best.Bends = math.Abs(Mean(changes)) > t*standardError(changes)
	return best, nil
}

// meanRows is the mean of the chosen rows, level by level.
func meanRows(y [][]float64, rows []int) []float64 {
	mean := make([]float64, len(y[0]))
	for _, r := range rows {
		for i, v := range y[r] {
			mean[i] += v / float64(len(rows))
		}
	}
	return mean
}

// bends holds for every place of the knee the matrix that turns values into the
// coefficients of 1, x and what of x lies beyond the knee.
type bends struct {
	x       []float64
	at      []float64
	inverse [][3][]float64 // by place, coefficient and level
}

func newBends(x []float64) (*bends, error) {
	b := &bends{x: x}
	low, high := x[1], x[len(x)-2]
	for i := range kneeGrid {
		at := low + (high-low)*float64(i)/(kneeGrid-1)
		design := mat.NewDense(len(x), 3, nil)
		for r, v := range x {
			design.SetRow(r, []float64{1, v, max(0, v-at)})
		}
		identity := mat.NewDense(len(x), len(x), nil)
		for r := range x {
			identity.Set(r, r, 1)
		}
		inverse := new(mat.Dense)
		if err := inverse.Solve(design, identity); err != nil {
			return nil, fmt.Errorf("knee: fit two lines that meet at %g: %w", at, err)
		}
		b.at = append(b.at, at)
		b.inverse = append(b.inverse, [3][]float64{inverse.RawRowView(0), inverse.RawRowView(1), inverse.RawRowView(2)})
	}
	return b, nil
}

// change is by how much the slope changes at a knee, on average over its places.
func (b *bends) change(y []float64) float64 {
	var sum float64
	for i := range b.at {
		for r, v := range y {
			sum += b.inverse[i][2][r] * v
		}
	}
	return sum / float64(len(b.at))
}

// fit returns the knee with the least squares left over.
func (b *bends) fit(y []float64) Knee {
	var best Knee
	least := -1.0
	for i, at := range b.at {
		var c [3]float64
		for j := range c {
			for r, v := range y {
				c[j] += b.inverse[i][j][r] * v
			}
		}
		squares := 0.0
		for r, v := range b.x {
			d := y[r] - c[0] - c[1]*v - c[2]*max(0, v-at)
			squares += d * d
		}
		if least < 0 || squares < least {
			least, best = squares, Knee{At: at, Before: c[1], After: c[1] + c[2]}
		}
	}
	return best
}
