package stats

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func positive() *rapid.Generator[float64] { return rapid.Float64Range(1e-3, 1e3) }

func TestIntervalHoldsItsEstimate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(positive(), 3, 12).Draw(t, "ratios")
		i, err := RatioInterval(x, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if !(i.Low <= i.Mid && i.Mid <= i.High && i.Low >= 0) {
			t.Fatalf("%+v", i)
		}
		slices.Reverse(x)
		if again, _ := RatioInterval(x, 0.95); again != i {
			t.Fatalf("order matters: %+v and %+v", i, again)
		}
		scale := rapid.Float64Range(0.1, 10).Draw(t, "scale")
		for k := range x {
			x[k] *= scale
		}
		if wide, _ := RatioInterval(x, 0.95); math.Abs(wide.Mid/i.Mid/scale-1) > 1e-9 {
			t.Fatalf("mid %g, scaled by %g it is %g", i.Mid, scale, wide.Mid)
		}
	})
}

// TestOver holds ratios divided by a number to those that are divided one by one.
func TestOver(t *testing.T) {
	for _, ratios := range [][]float64{{1.1, 1.2, 1.15}, {0.9, 1.1, 1, 1.05, 0.97, 1.02}, {2, 2, 2}} {
		r, err := NewRatios(ratios)
		if err != nil {
			t.Fatal(err)
		}
		divided := make([]float64, len(ratios))
		for i, v := range ratios {
			divided[i] = v / 1.07
		}
		want, err := NewRatios(divided)
		if err != nil {
			t.Fatal(err)
		}
		got := r.Over(1.07)
		if a, b := got.P(), want.P(); math.Abs(a-b) > 0.02 {
			t.Errorf("%v: P %g, and %g where each is divided", ratios, a, b)
		}
		a, _ := got.Interval(0.95)
		b, _ := want.Interval(0.95)
		if math.Abs(a.Mid-b.Mid) > 1e-12 || math.Abs(a.Low-b.Low) > 0.01 || math.Abs(a.High-b.High) > 0.01 {
			t.Errorf("%v: %v, and %v where each is divided", ratios, a, b)
		}
	}
}

func TestIntervalRefuses(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want error
	}{
		{nil, ErrFew}, {[]float64{1}, ErrFew}, {[]float64{1}, ErrFew},
		{[]float64{1, 2, 0}, ErrDomain}, {[]float64{1, 2, -1}, ErrDomain},
		{[]float64{1, 2, math.NaN()}, ErrDomain}, {[]float64{1, 2, math.Inf(1)}, ErrDomain},
	} {
		if _, err := RatioInterval(c.x, 0.95); !errors.Is(err, c.want) {
			t.Errorf("%v: %v, want %v", c.x, err, c.want)
		}
	}
	for _, confidence := range []float64{0, 1, -1, math.NaN()} {
		if _, err := RatioInterval([]float64{1, 2, 3}, confidence); !errors.Is(err, ErrDomain) {
			t.Errorf("confidence %g: %v", confidence, err)
		}
	}
}

func TestIntervalOfEqualRatiosHasNoWidth(t *testing.T) {
	i, err := RatioInterval([]float64{0.9, 0.9, 0.9, 0.9, 0.9}, 0.95)
	if err != nil || i.Low != i.High || math.Abs(i.Mid-0.9) > 1e-15 {
		t.Errorf("%+v, %v", i, err)
	}
}

func TestPairedRatios(t *testing.T) {
	got, err := PairedRatios(map[int]float64{3: 6, 1: 1, 2: 5}, map[int]float64{1: 2, 3: 3, 4: 9})
	if want := []Ratio{{1, 0.5}, {3, 2}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := PairedRatios(map[int]float64{1: 1}, map[int]float64{1: bad}); !errors.Is(err, ErrDomain) {
			t.Errorf("base %g: %v", bad, err)
		}
	}
	if _, err := PairedRatios(map[int]float64{1: 1e300}, map[int]float64{1: 1e-300}); !errors.Is(err, ErrDomain) {
		t.Errorf("overflow: %v", err)
	}
}

func TestTogether(t *testing.T) {
	got := Together(map[int][]float64{1: {8, 2}, 2: {0.1}, 3: {5, 0}, 4: {-1, 5}, 5: {}, 6: {3, math.Inf(1)}})
	if want := map[int]float64{1: 4, 2: 0.1, 3: 0, 4: -1, 6: math.Inf(1)}; len(got) != len(want) || math.Abs(got[1]-4) > 1e-12 ||
		got[2] != want[2] || got[3] != want[3] || got[4] != want[4] || got[6] != want[6] {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestOutliers(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want []int
	}{
		{[]float64{10, 10.1, 9.9, 10.2, 30}, []int{4}},
		{[]float64{10, 10.1, 9.9, 30}, nil},
		{[]float64{1, 1, 1, 1, 5}, nil},
		{[]float64{10, 10.1, 9.9, 10.2, 10.05}, nil},
	} {
		if got := Outliers(c.x); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.x, got, c.want)
		}
	}
}

func TestNothingDescribesNothing(t *testing.T) {
	if !math.IsNaN(Median(nil)) || !math.IsNaN(Mean(nil)) || !math.IsNaN(StdDev([]float64{1})) || !math.IsNaN(Quantile([]float64{1}, 2)) {
		t.Error("a number was made of nothing")
	}
	if _, err := GeoMean(nil); !errors.Is(err, ErrFew) {
		t.Errorf("geometric mean of nothing: %v", err)
	}
}

// The p value and the interval say the same: the interval excludes 1 at every
// level below 1-p, and holds it at every one above, but for one resample.
func TestPIsTheIntervals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 12).Draw(t, "n")
		x := make([]float64, n)
		for i := range x {
			x[i] = rapid.Float64Range(0.5, 3).Draw(t, "ratio")
		}
		r, err := NewRatios(x)
		if err != nil {
			t.Fatal(err)
		}
		p := r.P()
		const resolution = 3.0 / Resamples
		excludes := func(level float64) bool {
			i, err := r.Interval(level)
			if err != nil {
				t.Fatal(err)
			}
			return i.Low > 1 || i.High < 1
		}
		if level := 1 - p*1.001 - resolution; level > 0 && level < 1 && !excludes(level) {
			t.Fatalf("p %g: the interval of %g holds 1: %v", p, level, x)
		}
		if level := 1 - p*0.999 + resolution; level > 0 && level < 1 && excludes(level) {
			t.Fatalf("p %g: the interval of %g excludes 1: %v", p, level, x)
		}
	})
	for _, c := range []struct {
		x    []float64
		want float64
	}{
		{[]float64{1, 1, 1}, 1}, {[]float64{2, 2, 2}, 0}, {[]float64{0.5, 2}, 1},
		{[]float64{1, math.Exp(2)}, 0.5},                              // t = 1 with one degree of freedom
		{[]float64{math.Exp(1), 1, math.Exp(2)}, 0.22540333075851662}, // t = sqrt(3) with two
	} {
		if r, err := NewRatios(c.x); err != nil || math.Abs(r.P()-c.want) > 1e-9 {
			t.Errorf("%v: p %v, %v, want %g", c.x, r.P(), err, c.want)
		}
	}
}
