package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// MinKneeLevels is the fewest levels that two lines are fitted to, and
	// MinKneeBlocks the fewest blocks that tell how sure the bend is.
	MinKneeLevels = 5
	MinKneeBlocks = 5
	kneeResamples = 999
	kneeGrid      = 101
	kneeForms     = 4 // parameters of two lines that meet, and of the smooth curves they are set against
	// smoothAt is the p below which smooth curves are rejected, and bentAt that of lines that meet.
	smoothAt = 0.05
	bentAt   = 0.01
)

// Knee is where a curve bends: the two parts that meet at At fit best.
type Knee struct {
	// Low and High bound At and lie on levels: between two of them nothing was measured.
	// Both are 0 if the knee is not sharp.
	At, Low, High float64
	// Before and After are the slopes next to the knee, per unit of x.
	Before, After float64
	// Bends: Student's interval of the change of slope, averaged over the places a
	// knee may have so that none is chosen for it, leaves out zero. Otherwise a straight
	// line says as much and At means nothing.
	Bends bool
	// Smooth is the p of the hypothesis that the curve is smooth, and Bent that of two
	// parts that meet, each by the lack of fit of the best of its kind.
	Smooth, Bent float64
}

// Sharp says whether the curve has a knee: it bends, no smooth curve with as many
// parameters fits it, and two parts that meet do.
func (k *Knee) Sharp() bool { return k.WhyNot() == "" }

// WhyNot says why a curve has no knee; "" if it has.
func (k *Knee) WhyNot() string {
	switch {
	case !k.Bends:
		return "no bend beyond chance"
	case k.Smooth >= smoothAt:
		return fmt.Sprintf("a smooth curve fits, too (p = %.2g)", k.Smooth)
	case k.Bent < bentAt:
		return fmt.Sprintf("neither two parts that meet nor a smooth curve fit (p below %g and %g)", bentAt, smoothAt)
	}
	return ""
}

// FindKnee fits, by least squares, two parts that meet to the means of y over blocks
// (segmented regression; Hudson, JASA 61, 1966): y has a row per block, with a
// value per level of x, which ascends. The first part is a line, the second a line or a
// hyperbola in x, as a capacity that is shared makes one. The knee is sought between
// the second level and the last but one. Its interval is the percentile bootstrap's
// over whole blocks, made wider for their number and then out to the levels that hold
// it. The error wraps ErrFew or ErrDomain.
func FindKnee(x []float64, y [][]float64, confidence float64) (Knee, error) {
	if err := checkCurve(x, y, confidence); err != nil {
		return Knee{}, err
	}
	rows := make([]int, len(y))
	for i := range rows {
		rows[i] = i
	}
	mean := meanRows(y, rows)
	s := pureErrorOf(y, mean)
	first, last := x[1], x[len(x)-2]
	bent, straight, err := bentForms(x, s.weights, first, last)
	if err != nil {
		return Knee{}, err
	}
	smooth, err := smoothForms(x, s.weights)
	if err != nil {
		return Knee{}, err
	}
	z := s.weigh(mean)
	best, _ := nearest(bent, z)
	step := (last - first) / (kneeGrid - 1) // a knee between two places of the grid is no lack of fit
	fine, _, err := bentForms(x, s.weights, max(first, math.Abs(best.at)-step), min(last, math.Abs(best.at)+step))
	if err != nil {
		return Knee{}, err
	}
	best, left := nearest(fine, z)
	_, leftSmooth := nearest(smooth, z)
	k := Knee{At: best.at, Before: best.coefficient(1, z), After: best.coefficient(1, z) + best.coefficient(2, z)}
	if best.at < 0 { // a hyperbola: the slope of c/x at the knee
		k.At = -best.at
		k.After = -best.coefficient(2, z) / k.At / k.At
	}
	n, levels := float64(len(y)), float64(len(x))
	k.Bent, k.Smooth = s.lackOfFit(left, n, levels, kneeForms), s.lackOfFit(leftSmooth, n, levels, kneeForms)

	changes := make([]float64, len(y))
	for i, row := range y {
		for j := range straight {
			changes[i] += straight[j].coefficient(2, s.weigh(row)) / float64(len(straight))
		}
	}
	k.Bends = math.Abs(Mean(changes)) > student(confidence, n)*standardError(changes)
	if !k.Sharp() {
		return k, nil
	}

	ats := make([]float64, kneeResamples)
	resample(y, ats, func(mean []float64) float64 {
		f, _ := nearest(bent, s.weigh(mean))
		return math.Abs(f.at)
	})
	low, high := widened(ats, k.At, confidence, n)
	k.Low, k.High = x[0], x[len(x)-1]
	for _, v := range x {
		if v <= max(min(low, k.At), first) {
			k.Low = v
		}
	}
	for _, v := range slices.Backward(x) {
		if v >= min(max(high, k.At), last) {
			k.High = v
		}
	}
	return k, nil
}

// checkCurve says what of a curve's levels and values cannot be fitted.
func checkCurve(x []float64, y [][]float64, confidence float64) error {
	if !(confidence > 0 && confidence < 1) {
		return fmt.Errorf("knee: confidence %g: %w", confidence, ErrDomain)
	}
	if len(x) < MinKneeLevels || len(y) < MinKneeBlocks {
		return fmt.Errorf("knee: %d levels in %d blocks, want %d in %d: %w", len(x), len(y), MinKneeLevels, MinKneeBlocks, ErrFew)
	}
	for i := range x[1:] {
		if !(0 < x[i] && x[i] < x[i+1]) {
			return fmt.Errorf("knee: levels %v do not ascend from above 0: %w", x, ErrDomain)
		}
	}
	for _, row := range y {
		if len(row) != len(x) {
			return fmt.Errorf("knee: %d values of %d levels: %w", len(row), len(x), ErrDomain)
		}
	}
	return nil
}

// FindCrossing returns where the means of y over blocks first reach share times what they
// are at the first level, on the lines between levels, with its interval as that of
// [FindKnee]. Where the means do not reach it, or more resamples than one tail of the
// interval do not, ok is false. The error wraps ErrFew or ErrDomain.
func FindCrossing(x []float64, y [][]float64, share, confidence float64) (i Interval, ok bool, err error) {
	if err := checkCurve(x, y, confidence); err != nil {
		return Interval{}, false, err
	}
	rows := make([]int, len(y))
	for i := range rows {
		rows[i] = i
	}
	mid := crossing(x, meanRows(y, rows), share)
	ats := make([]float64, kneeResamples)
	resample(y, ats, func(mean []float64) float64 { return crossing(x, mean, share) })
	last := x[len(x)-1]
	if math.IsInf(mid, 1) || math.IsInf(orderStatistic(ats, (1+confidence)/2), 1) {
		return Interval{}, false, nil
	}
	low, high := widened(ats, mid, confidence, float64(len(y)))
	return Interval{Mid: mid, Low: max(low, x[0]), High: min(high, last)}, true, nil
}

// crossing is where the curve first reaches the share of its first value; +Inf if nowhere.
func crossing(x, y []float64, share float64) float64 {
	to := share * y[0]
	for l := range x[1:] {
		if (y[l]-to)*(y[l+1]-to) <= 0 && y[l] != y[l+1] {
			return x[l] + (x[l+1]-x[l])*(y[l]-to)/(y[l]-y[l+1])
		}
	}
	return math.Inf(1)
}

// resample fills in what the function gives of the means of resampled blocks, sorted.
func resample(y [][]float64, out []float64, of func(mean []float64) float64) {
	rows := make([]int, len(y))
	rng := rand.New(rand.NewPCG(seed(slices.Concat(y...)), uint64(len(y))))
	for b := range out {
		for i := range rows {
			rows[i] = rng.IntN(len(y))
		}
		out[b] = of(meanRows(y, rows))
	}
	slices.Sort(out)
}

// widened are the percentiles of sorted resamples, wider by what Student's t and the
// divisor n - 1 make of few blocks.
func widened(sorted []float64, mid, confidence, n float64) (low, high float64) {
	tail := (1 - confidence) / 2
	wider := student(confidence, n) / distuv.UnitNormal.Quantile(1-tail) * math.Sqrt(n/(n-1))
	return mid + wider*(orderStatistic(sorted, tail)-mid), mid + wider*(orderStatistic(sorted, 1-tail)-mid)
}

// student is the quantile of Student's t of an interval over n values.
func student(confidence, n float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile((1 + confidence) / 2)
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

// bentForms are those with a knee at each place of a grid; at is negative where a hyperbola follows.
// straight are those of two lines.
func bentForms(x, weights []float64, low, high float64) (all, straight []form, err error) {
	for i := range kneeGrid {
		at := low + (high-low)*float64(i)/(kneeGrid-1)
		lines, err := newForm(at, x, weights, func(v float64) []float64 { return []float64{1, v, max(0, v-at)} })
		if err != nil {
			return nil, nil, err
		}
		shared, err := newForm(-at, x, weights, func(v float64) []float64 { return []float64{1, min(v, at), min(0, 1/v-1/at)} })
		if err != nil {
			return nil, nil, err
		}
		straight = append(straight, lines)
		all = append(all, lines, shared)
	}
	return all, straight, nil
}
