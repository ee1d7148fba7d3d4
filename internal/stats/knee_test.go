package stats

import (
	"errors"
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
	for _, at := range []float64{1.2, 1.5, 1.9} {
		k, err := FindKnee(x, bent(x, at, 4, 0.5, 0, 5, rand.New(rand.NewPCG(1, 2))), 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(k.At-at) > 0.01 || math.Abs(k.Before-4) > 0.1 || math.Abs(k.After-0.5) > 0.1 || !k.Bends || k.High-k.Low > 0.02 {
			t.Errorf("knee at %g: %+v", at, k)
		}
	}
}

// Of curves that bend the interval holds the knee about as often as it says,
// and straight ones are seldom said to bend.
func TestKneeSimulation(t *testing.T) {
	x := []float64{0.5, 1, 1.5, 2, 2.5, 3}
	rng := rand.New(rand.NewPCG(3, 4))
	const experiments = 150
	held, bends, straight := 0, 0, 0
	for range experiments {
		k, err := FindKnee(x, bent(x, 1.8, 4, 0, 0.3, 8, rng), 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if k.Low <= 1.8 && 1.8 <= k.High {
			held++
		}
		if k.Bends {
			bends++
		}
		if k, err = FindKnee(x, bent(x, 1.8, 4, 4, 0.3, 8, rng), 0.95); err != nil {
			t.Fatal(err)
		} else if k.Bends {
			straight++
		}
	}
	t.Logf("of %d: %d intervals hold the knee, %d bend; of straight ones %d", experiments, held, bends, straight)
	if held < experiments*88/100 || bends < experiments*98/100 || straight > experiments*12/100 {
		t.Errorf("of %d: %d intervals hold the knee, %d bend; of straight ones %d", experiments, held, bends, straight)
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
		"certainty":    second(FindKnee(x, y, 1)),
	} {
		if !errors.Is(err, ErrFew) && !errors.Is(err, ErrDomain) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
