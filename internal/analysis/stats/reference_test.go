package stats

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// reference.json was written by testdata/reference.py with NumPy and SciPy.
type reference struct {
	Describe []struct {
		Name                  string
		X                     []float64
		Mean, SD, Median, MAD float64
		Quantiles             [][2]float64
		GeoMean               *float64
	}
	Student, Bootstrap []struct {
		X              []float64
		Mid, Low, High float64
	}
}

func load(t *testing.T) reference {
	t.Helper()
	text, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var ref reference
	if err := json.Unmarshal(text, &ref); err != nil {
		t.Fatal(err)
	}
	if len(ref.Describe) == 0 || len(ref.Student) == 0 || len(ref.Bootstrap) == 0 {
		t.Fatal("reference.json is incomplete")
	}
	return ref
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Max(1, math.Abs(want))) {
		t.Errorf("%s: got %.12g, reference %.12g", what, got, want)
	}
}

func TestDescribeAgreesWithNumPy(t *testing.T) {
	for _, r := range load(t).Describe {
		near(t, r.Name+" mean", Mean(r.X), r.Mean, 1e-12)
		near(t, r.Name+" sd", StdDev(r.X), r.SD, 1e-12)
		near(t, r.Name+" median", Median(r.X), r.Median, 1e-12)
		near(t, r.Name+" MAD", MAD(r.X), r.MAD, 1e-12)
		for _, q := range r.Quantiles {
			near(t, r.Name+" quantile", Quantile(r.X, q[0]), q[1], 1e-12)
		}
		got, err := GeoMean(r.X)
		if r.GeoMean == nil {
			if err == nil {
				t.Errorf("%s: geometric mean %g of values that are not all positive", r.Name, got)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		near(t, r.Name+" geometric mean", got, *r.GeoMean, 1e-12)
	}
}

func TestIntervalOfFewIsStudents(t *testing.T) {
	for _, r := range load(t).Student {
		got, err := RatioInterval(r.X, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "mid", got.Mid, r.Mid, 1e-12)
		near(t, "low", got.Low, r.Low, 1e-9)
		near(t, "high", got.High, r.High, 1e-9)
	}
}

// The reference goes over all resamples, we over Resamples of them, so the
// reach may differ by some percent.
func TestIntervalAgreesWithExhaustiveBootstrap(t *testing.T) {
	for _, r := range load(t).Bootstrap {
		got, err := RatioInterval(r.X, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "mid", got.Mid, r.Mid, 1e-12)
		for _, side := range [][2]float64{{got.Low, r.Low}, {got.High, r.High}} {
			reach, want := math.Log(side[0]/r.Mid), math.Log(side[1]/r.Mid)
			if math.Abs(reach/want-1) > 0.06 {
				t.Errorf("%v: reach %.5f, reference %.5f", r.X, reach, want)
			}
		}
	}
}
