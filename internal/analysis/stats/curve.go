package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// A form is a curve whose shape is fixed: a sum of functions with coefficients to
// be fitted by least squares, at levels that are weighted.
type form struct {
	at float64 // what fixes the shape, such as the place of a knee
	// inverse turns weighted values into coefficients, by coefficient and level, and
	// beyond into what no curve of the form can follow, by direction and level.
	inverse, beyond [][]float64
}

// newForm has the columns that of gives for a level, each level weighted.
func newForm(at float64, x, weights []float64, of func(x float64) []float64) (form, error) {
	f := form{at: at}
	var flat []float64
	columns := 0
	for l, v := range x {
		row := of(v)
		for j := range row {
			row[j] *= weights[l]
		}
		flat, columns = append(flat, row...), len(row)
	}
	var qr mat.QR
	qr.Factorize(mat.NewDense(len(x), columns, flat))
	identity := mat.NewDense(len(x), len(x), nil)
	for l := range x {
		identity.Set(l, l, 1)
	}
	inverse, q := new(mat.Dense), new(mat.Dense)
	if err := qr.SolveTo(inverse, false, identity); err != nil {
		return form{}, fmt.Errorf("fit a curve of shape %g: %w", at, err)
	}
	qr.QTo(q)
	for j := range columns {
		f.inverse = append(f.inverse, inverse.RawRowView(j))
	}
	for j := columns; j < len(x); j++ {
		f.beyond = append(f.beyond, mat.Col(nil, j, q))
	}
	return f, nil
}

// coefficient is the j-th of the curve that fits the weighted values best.
func (f *form) coefficient(j int, z []float64) float64 { return floats.Dot(f.inverse[j], z) }

// left is the sum of squares that the best curve of the form leaves over.
func (f *form) left(z []float64) float64 {
	var squares float64
	for _, q := range f.beyond {
		d := 0.0
		for l, v := range q {
			d += v * z[l]
		}
		squares += d * d
	}
	return squares
}

// nearest is the form that leaves least over, and how much.
func nearest(forms []form, z []float64) (*form, float64) {
	best, least := 0, math.Inf(1)
	for i := range forms {
		if s := forms[i].left(z); s < least {
			best, least = i, s
		}
	}
	return &forms[best], least
}

// smoothForms are curves without a bend that have as many parameters as two lines that
// meet: a line with a hyperbola, and one with an exponential. The shapes go from what
// is straight over all levels to what changes within a tenth of them.
func smoothForms(x, weights []float64) ([]form, error) {
	const shapes = 240
	first, span := x[0], x[len(x)-1]-x[0]
	var forms []form
	add := func(at float64, g func(u float64) float64) error {
		f, err := newForm(at, x, weights, func(v float64) []float64 { return []float64{1, v, g((v - first) / span)} })
		if err != nil {
			return err
		}
		forms = append(forms, f)
		return nil
	}
	for i := range shapes {
		c := 0.02 * math.Pow(100, float64(i)/(shapes-1)) // 0.02 to 2 of the span
		for _, g := range []func(u float64) float64{
			func(u float64) float64 { return c / (u + c) },
			func(u float64) float64 { return c / (1 - u + c) },
			func(u float64) float64 { return math.Exp(-u / c) },
			func(u float64) float64 { return math.Exp((u - 1) / c) },
		} {
			if err := add(c, g); err != nil {
				return nil, err
			}
		}
	}
	return forms, nil
}

// pureError is how far launches lie from their level's mean: by level, as weights that
// make levels alike, and the variance of a weighted value, in which what is common to a
// block's launches is left out.
type pureError struct {
	weights  []float64
	variance float64
	freedom  float64
}

// leastScatter is the least scatter of a launch that is believed, as a share.
const leastScatter = 1e-4

// pureErrorOf chooses between scatter that is the same at all levels and scatter in proportion
// to the mean, by the likelihood of normal values.
func pureErrorOf(y [][]float64, mean []float64) pureError {
	n, levels := float64(len(y)), float64(len(mean))
	even, relative := make([]float64, len(mean)), make([]float64, len(mean))
	var same, share, logs float64
	positive := true
	for l, m := range mean {
		var squares float64
		for _, row := range y {
			squares += (row[l] - m) * (row[l] - m)
		}
		variance := squares / (n - 1)
		same += variance / levels
		share += variance / (m * m) / levels
		logs += math.Log(m*m) / levels
		even[l], relative[l] = 1, 1/math.Abs(m)
		positive = positive && m > 0
	}
	s := pureError{weights: even, freedom: (levels - 1) * (n - 1)}
	if positive && math.Log(share)+logs < math.Log(same) {
		s.weights = relative
	}
	var squares float64
	for _, row := range y {
		off := make([]float64, len(row))
		for l, v := range row {
			off[l] = (v - mean[l]) * s.weights[l]
		}
		common := Mean(off)
		for _, v := range off {
			squares += (v - common) * (v - common)
		}
	}
	// No program counts more exactly than this.
	least := leastScatter * Mean(s.weigh(mean))
	s.variance = max(squares/s.freedom, least*least)
	return s
}

// weigh returns the values weighted.
func (s *pureError) weigh(values []float64) []float64 {
	z := make([]float64, len(values))
	for l, v := range values {
		z[l] = v * s.weights[l]
	}
	return z
}

// lackOfFit is the p of the hypothesis that a curve with so many parameters is the right
// one, by what it leaves over of the weighted means of n blocks (F test against pure error).
func (s *pureError) lackOfFit(left, n, levels, parameters float64) float64 {
	d := levels - parameters
	return distuv.F{D1: d, D2: s.freedom}.Survival(n * left / d / s.variance)
}
