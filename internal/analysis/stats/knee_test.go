package stats

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// bent is a curve of slope a up to k and b beyond, with scatter.
func bent(x []float64, k, a, b, scatter float64, blocks int, rng *rand.Rand) [][]float64 {
	y := make([][]float64, blocks)
	for i := range y {
		for _, v := range x {
			y[i] = append(y[i], 10+a*min(v, k)+b*max(0, v-k)+scatter*rng.NormFloat64())
		}
	}
	return y
}

func TestKneeOfTwoLines(t *testing.T) {
	x := []float64{0.5, 1, 1.5, 2, 3}
	for at, between := range map[float64][2]float64{1.2: {1, 1.5}, 1.5: {1.5, 1.5}, 1.9: {1.5, 2}} {
		k, err := FindKnee(x, bent(x, at, 4, 0.5, 0, 5, rand.New(rand.NewPCG(1, 2))), 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(k.At-at) > 0.01 || math.Abs(k.Before-4) > 0.1 || math.Abs(k.After-0.5) > 0.1 || !k.Sharp() || k.Low != between[0] || k.High != between[1] {
			t.Errorf("knee at %g: %+v", at, k)
		}
	}
}

// kneeExperiments is per row; -experiments of the page's command makes the rows exact.
func kneeExperiments() int { return max(20, *experiments/100) }

// A curve with a knee has it found, between levels that hold it, and one without
// has none given: go test ./internal/analysis/stats -run KneeOfCurves -v -experiments 20000
// prints the table of docs/methodology/limits.md.
func TestKneeOfCurves(t *testing.T) {
	few, many := []float64{0.5, 1, 1.5, 2, 3}, []float64{0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4}
	for _, c := range []struct {
		name  string
		at    float64 // 0 for none
		found float64 // at least, at 8 levels and a scatter of 1 %
		of    func(x float64) float64
	}{
		{"1/x", 0, 0, func(x float64) float64 { return 1 / x }},
		{"1/(1+x)", 0, 0, func(x float64) float64 { return 1 / (1 + x) }},
		{"x/(1+x)", 0, 0, func(x float64) float64 { return x / (1 + x) }},
		{"exp(-x)", 0, 0, func(x float64) float64 { return math.Exp(-x) }},
		{"0.2+exp(-2x)", 0, 0, func(x float64) float64 { return 0.2 + math.Exp(-2*x) }},
		{"1-exp(-x)", 0, 0, func(x float64) float64 { return 1 - math.Exp(-x) }},
		{"10+4x", 0, 0, func(x float64) float64 { return 10 + 4*x }},
		{"min(1, 1.2/x)", 1.2, 0.9, func(x float64) float64 { return min(1, 1.2/x) }},
		{"min(x, 1.2)", 1.2, 0.9, func(x float64) float64 { return min(x, 1.2) }},
		{"max(1, x/1.3)", 1.3, 0.9, func(x float64) float64 { return max(1, x/1.3) }},
		{"10+4min(x, 1.8)", 1.8, 0.9, func(x float64) float64 { return 10 + 4*min(x, 1.8) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, 4))
			line := fmt.Sprintf("| %s |", c.name)
			for _, x := range [][]float64{few, many} {
				for _, sd := range []float64{0.01, 0.03} {
					given, held, n := 0, 0, kneeExperiments()
					for range n {
						y := make([][]float64, MinKneeBlocks)
						for i := range y {
							for _, v := range x {
								y[i] = append(y[i], c.of(v)*(1+sd*rng.NormFloat64()))
							}
						}
						k, err := FindKnee(x, y, 0.95)
						if err != nil {
							t.Fatal(err)
						}
						if k.Sharp() {
							given++
							if k.Low <= c.at && c.at <= k.High {
								held++
							}
						}
					}
					line += fmt.Sprintf(" %.0f %% |", 100*float64(given)/float64(n))
					switch {
					case c.at == 0 && given > n*5/100+int(3*math.Sqrt(0.0475*float64(n))):
						t.Errorf("%s, %d levels, scatter %g: a knee in %d of %d curves without", c.name, len(x), sd, given, n)
					case c.at > 0 && held < given*93/100-1:
						t.Errorf("%s, %d levels, scatter %g: %d of %d intervals hold the knee", c.name, len(x), sd, held, given)
					case len(x) == len(many) && sd == 0.01 && float64(given) < c.found*float64(n):
						t.Errorf("%s: found in %d of %d", c.name, given, n)
					}
					if c.at > 0 {
						line += fmt.Sprintf(" held %.0f %% |", 100*float64(held)/float64(max(given, 1)))
					}
				}
			}
			t.Log(line)
		})
	}
}

func TestCrossing(t *testing.T) {
	x := []float64{0.5, 1, 1.5, 2, 3}
	falling := bent(x, 1, 0, -2, 0.05, 8, rand.New(rand.NewPCG(5, 6))) // 10 up to 1, 9 at 1.5
	i, ok, err := FindCrossing(x, falling, 0.9, 0.95)
	if err != nil || !ok || math.Abs(i.Mid-1.5) > 0.05 || i.Low > i.Mid || i.High < i.Mid || i.High-i.Low > 0.2 || i.Low == i.High {
		t.Errorf("%+v, %v, %v", i, ok, err)
	}
	if i, ok, err := FindCrossing(x, bent(x, 1, 0, 0, 0.05, 8, rand.New(rand.NewPCG(5, 6))), 0.9, 0.95); ok || err != nil {
		t.Errorf("of a flat line: %+v, %v", i, err)
	}
	// The last level only just reaches the share: about half of the resamples do not.
	if i, ok, err := FindCrossing(x, bent(x, 1, 0, -0.5, 0.3, 8, rand.New(rand.NewPCG(5, 6))), 0.9, 0.95); ok || err != nil {
		t.Errorf("of a line that ends there: %+v, %v", i, err)
	}
	if _, _, err := FindCrossing(x[:4], falling, 0.9, 0.95); !errors.Is(err, ErrFew) && !errors.Is(err, ErrDomain) {
		t.Error(err)
	}
}

func TestKneeRefuses(t *testing.T) {
	x := []float64{1, 2, 3, 4, 5}
	y := bent(x, 3, 1, 2, 0, 5, rand.New(rand.NewPCG(1, 1)))
	for what, err := range map[string]error{
		"four levels":  second(FindKnee(x[:4], y, 0.95)),
		"four blocks":  second(FindKnee(x, y[:4], 0.95)),
		"a hole":       second(FindKnee(x, append([][]float64{{1, 2}}, y...), 0.95)),
		"a level back": second(FindKnee([]float64{1, 3, 2, 4, 5}, y, 0.95)),
		"a level of 0": second(FindKnee([]float64{0, 1, 2, 3, 4}, y, 0.95)),
		"certainty":    second(FindKnee(x, y, 1)),
	} {
		if !errors.Is(err, ErrFew) && !errors.Is(err, ErrDomain) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
