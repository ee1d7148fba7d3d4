package stats

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"testing"
)

const exact = 1e-9

type scipyInterval struct {
	X                          []float64
	Confidence, Mid, Low, High float64
}

// scipy is testdata/scipy.json, which testdata/scipy_reference.py writes.
type scipy struct {
	Flips, Chance []struct {
		X []float64
		P float64
	}
	TOST []struct {
		X         []float64
		Margin, P float64
	}
	Intervals, BCa []scipyInterval
	Holm           []struct{ P, Adjusted []float64 }
	Drift          []struct {
		X           []float64
		PerBlock, P float64
	}
}

func scipySays(t *testing.T) scipy {
	t.Helper()
	text, err := os.ReadFile("testdata/scipy.json")
	if err != nil {
		t.Fatal(err)
	}
	var s scipy
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{len(s.Flips), len(s.Chance), len(s.TOST), len(s.Intervals), len(s.BCa), len(s.Holm), len(s.Drift)} {
		if n == 0 {
			t.Fatal("scipy.json is incomplete")
		}
	}
	return s
}

func TestTestsAgreeWithSciPy(t *testing.T) {
	s := scipySays(t)
	for _, r := range s.Flips {
		p, err := SignFlip(r.X)
		near(t, fmt.Sprintf("sign flip of %v (%v)", r.X, err), p, r.P, exact)
	}
	for _, r := range s.Chance {
		p, err := SignFlip(r.X)
		// Both are by chance, ours of randomFlips.
		near(t, fmt.Sprintf("sign flip of %v (%v)", r.X, err), p, r.P, 4*math.Sqrt(r.P*(1-r.P)/randomFlips))
	}
	for _, r := range s.TOST {
		p, err := Equivalence(r.X, r.Margin)
		near(t, fmt.Sprintf("equivalence of %v within %g (%v)", r.X, r.Margin, err), p, r.P, exact)
	}
	for _, r := range s.Holm {
		got := Holm(r.P)
		for i, want := range r.Adjusted {
			near(t, fmt.Sprintf("Holm of %v, %d", r.P, i), got[i], want, exact)
		}
	}
	for _, r := range s.Drift {
		perBlock, p, err := Drift(r.X)
		near(t, fmt.Sprintf("drift of %v (%v)", r.X, err), perBlock, r.PerBlock, exact)
		near(t, fmt.Sprintf("p of the drift of %v", r.X), p, r.P, exact)
	}
	for _, r := range s.Intervals {
		i, err := RatioInterval(r.X, r.Confidence)
		what := fmt.Sprintf("interval of %v (%v)", r.X, err)
		near(t, what, i.Mid, r.Mid, exact)
		near(t, what, i.Low, r.Low, exact)
		near(t, what, i.High, r.High, exact)
	}
}

// Ours are of 9999 resamples: the 2.5 % quantile of their means has a standard
// deviation of 1.4 % of its distance, and the correction for bias another.
func TestBCaAgreesWithSciPy(t *testing.T) {
	for _, r := range scipySays(t).BCa {
		i, err := bca(r.X, r.Confidence)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "mid", i.Mid, r.Mid, exact)
		reported, err := RatioInterval(r.X, r.Confidence)
		near(t, fmt.Sprintf("mid of the interval reported (%v)", err), reported.Mid, r.Mid, exact)
		for _, side := range [][2]float64{{i.Low, r.Low}, {i.High, r.High}} {
			reach, want := math.Log(side[0]/r.Mid), math.Log(side[1]/r.Mid)
			if math.Abs(reach/want-1) > 0.07 {
				t.Errorf("%v, confidence %g: reach %.5f, SciPy %.5f", r.X, r.Confidence, reach, want)
			}
		}
	}
}

// Where Python has SciPy, the file is also checked against what it says now.
func TestSciPyStillSaysSo(t *testing.T) {
	text, err := os.ReadFile("testdata/scipy.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("python3", "-c", "import scipy").Run(); err != nil {
		t.Logf("not run again, python3 has no SciPy: %v", err)
		return
	}
	again, err := exec.Command("python3", "testdata/scipy_reference.py").Output()
	if err != nil {
		t.Fatalf("run scipy_reference.py: %v", err)
	}
	var was, is map[string]any
	for text, into := range map[*[]byte]*map[string]any{&text: &was, &again: &is} {
		if err := json.Unmarshal(*text, into); err != nil {
			t.Fatal(err)
		}
	}
	// Who wrote it, and what depends on its random numbers.
	for _, free := range []string{"by", "chance", "bca"} {
		delete(was, free)
		delete(is, free)
	}
	sameNumbers(t, "scipy.json", is, was)
}

func sameNumbers(t *testing.T, where string, got, want any) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		got, _ := got.(map[string]any)
		if len(got) != len(want) {
			t.Errorf("%s: %d fields, want %d", where, len(got), len(want))
		}
		for key := range maps.Keys(want) {
			sameNumbers(t, where+"."+key, got[key], want[key])
		}
	case []any:
		got, _ := got.([]any)
		if len(got) != len(want) {
			t.Errorf("%s: %d elements, want %d", where, len(got), len(want))
			return
		}
		for i := range want {
			sameNumbers(t, fmt.Sprintf("%s[%d]", where, i), got[i], want[i])
		}
	case float64:
		value, ok := got.(float64)
		if !ok {
			t.Errorf("%s: %v is not a number", where, got)
		}
		near(t, where, value, want, exact)
	default:
		t.Errorf("%s: a %T", where, want)
	}
}
