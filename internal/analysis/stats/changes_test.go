package stats

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// noises make n values around 1 with a standard deviation of about sd.
var noises = []struct {
	name string
	of   func(r *rand.Rand, n int, sd float64) []float64
}{
	{"normal", func(r *rand.Rand, n int, sd float64) []float64 { return lasting(r, n, sd, 0) }},
	{"a stall in 5 % of steps", func(r *rand.Rand, n int, sd float64) []float64 {
		x := lasting(r, n, sd, 0)
		for i := range x {
			if r.Float64() < 0.05 {
				x[i] *= r.Float64()
			}
		}
		return x
	}},
	{"exponential", func(r *rand.Rand, n int, sd float64) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = 1 + sd*(r.ExpFloat64()-1)
		}
		return x
	}},
	{"like the step before, AR(1) 0.3", func(r *rand.Rand, n int, sd float64) []float64 { return lasting(r, n, sd, 0.3) }},
	{"like the step before, AR(1) 0.7", func(r *rand.Rand, n int, sd float64) []float64 { return lasting(r, n, sd, 0.7) }},
}

// lasting are values around 1 of which each resembles the one before it, by the share.
func lasting(r *rand.Rand, n int, sd, share float64) []float64 {
	x := make([]float64, n)
	last := sd * r.NormFloat64()
	for i := range x {
		last = share*last + math.Sqrt(1-share*share)*sd*r.NormFloat64()
		x[i] = 1 + last
	}
	return x
}

// TestChangesInNoise: at a level of 5 %, changes are seen in at most 5 % of series whose order is
// chance. It prints also what noise that outlasts a step does.
func TestChangesInNoise(t *testing.T) {
	series := max(200, *simulations/5)
	for _, noise := range noises {
		for _, n := range []int{10, 20, 50, 200} {
			line := fmt.Sprintf("%-32s %3d values:", noise.name, n)
			for _, tolerance := range []float64{0, 0.03} {
				r := rand.New(rand.NewPCG(uint64(n), 7))
				seen := 0
				for range series {
					if s, err := Stretches(noise.of(r, n, 0.02), 0.05, tolerance); err != nil {
						t.Fatal(err)
					} else if len(s) > 1 {
						seen++
					}
				}
				share := float64(seen) / float64(series)
				line += fmt.Sprintf(" %5.1f %% (tolerance %.0f %%)", 100*share, 100*tolerance)
				if most := 0.05 + 3*math.Sqrt(0.05*0.95/float64(series)); noise.name[0] != 'l' && share > most {
					t.Errorf("%s, %d values: a change is seen in %.1f %% of series", noise.name, n, 100*share)
				}
			}
			t.Log(line)
		}
	}
}

// TestChangesAreFound: a level that shifts by 10 % in noise of 2 % is found in at least 90 % of
// series, where the shift is three tenths from both ends or more.
func TestChangesAreFound(t *testing.T) {
	series := max(100, *simulations/5)
	for _, c := range []struct {
		what string
		of   func(at float64) float64
		want int // stretches
	}{
		{"a shift in the middle", func(at float64) float64 { return step(at >= 0.5, 0.9) }, 2},
		{"a shift after a third", func(at float64) float64 { return step(at >= 0.3, 1.1) }, 2},
		{"a dip of three tenths, from 20 values", func(at float64) float64 { return step(at >= 0.4 && at < 0.7, 0.9) }, 3},
		{"a steady growth by a fifth", func(at float64) float64 { return 0.9 + 0.2*at }, 0},
	} {
		for _, n := range []int{10, 20, 50, 200} {
			r := rand.New(rand.NewPCG(uint64(n), 11))
			found, right := 0, 0
			for range series {
				x := lasting(r, n, 0.02, 0)
				for i := range x {
					x[i] *= c.of((float64(i) + 0.5) / float64(n))
				}
				s, err := Stretches(x, 0.05, 0.03)
				if err != nil {
					t.Fatal(err)
				}
				if len(s) > 1 {
					found++
				}
				if len(s) == c.want {
					right++
				}
			}
			t.Logf("%-38s %3d values: found in %5.1f %%, as so many stretches in %5.1f %%", c.what, n, 100*float64(found)/float64(series), 100*float64(right)/float64(series))
			if n < 20 && c.want == 3 {
				continue // so few orders of ten values are no less rare
			}
			if float64(found) < 0.9*float64(series) {
				t.Errorf("%s, %d values: found in %d of %d series", c.what, n, found, series)
			}
		}
	}
}

func step(changed bool, to float64) float64 {
	if changed {
		return to
	}
	return 1
}

// The stretches tile the series, each with the mean of its values.
func TestStretchesTile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(0, 1e6), MinSeries, 300).Draw(t, "values")
		tolerance := rapid.Float64Range(0, 1).Draw(t, "tolerance")
		all, err := Stretches(x, 0.05, tolerance)
		if err != nil {
			t.Fatal(err)
		}
		end := 0
		for _, s := range all {
			if s.From != end || s.To <= s.From || s.Mean != Mean(x[s.From:s.To]) {
				t.Fatalf("%+v after %d", s, end)
			}
			end = s.To
		}
		if end != len(x) {
			t.Fatalf("the stretches end at %d of %d", end, len(x))
		}
		if again, err := Stretches(x, 0.05, tolerance); err != nil || !slices.Equal(all, again) {
			t.Fatalf("the same values give %v and %v", all, again)
		}
	})
}

func TestStretchesOfEqualValues(t *testing.T) {
	for _, v := range []float64{0, 0.1, 12345.678} {
		if s, err := Stretches(slices.Repeat([]float64{v}, 73), 0.05, 0); err != nil || len(s) != 1 {
			t.Errorf("73 times %v: %v, %v", v, s, err)
		}
	}
}

func TestStretchesRefuse(t *testing.T) {
	if _, err := Stretches(make([]float64, MinSeries-1), 0.05, 0); !errors.Is(err, ErrFew) {
		t.Error(err)
	}
	for _, v := range []float64{math.NaN(), math.Inf(-1)} {
		if _, err := Stretches(append(make([]float64, MinSeries), v), 0.05, 0); !errors.Is(err, ErrDomain) {
			t.Error(err)
		}
	}
}

func TestAtLeast(t *testing.T) {
	for _, c := range []struct {
		k, n int
		want float64
	}{{0, 3, 1}, {1, 1, 0.05}, {1, 3, 1 - 0.95*0.95*0.95}, {3, 3, 0.05 * 0.05 * 0.05}} {
		if got := AtLeast(c.k, c.n, 0.05); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%d of %d: %v, want %v", c.k, c.n, got, c.want)
		}
	}
}
