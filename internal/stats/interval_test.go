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

func TestIntervalRefuses(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want error
	}{
		{nil, ErrFew}, {[]float64{1}, ErrFew}, {[]float64{1, 2}, ErrFew},
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
