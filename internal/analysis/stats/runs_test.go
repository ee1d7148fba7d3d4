package stats

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// hostOfRuns makes the launches of a run: each run has an effect of its own, and
// its launches may be correlated one after the other.
type hostOfRuns struct {
	name        string
	run, launch float64 // standard deviations of the logs
	ar          float64 // AR(1) of launches
}

func (h hostOfRuns) measured(rng *rand.Rand, n int, mean float64) []float64 {
	mean += h.run * rng.NormFloat64()
	x := scatter(rng, n, h.launch)
	for i := 1; i < n; i++ {
		x[i] = h.ar*x[i-1] + math.Sqrt(1-h.ar*h.ar)*x[i]
	}
	for i := range x {
		x[i] = math.Exp(mean + x[i])
	}
	return x
}

func (h hostOfRuns) runs(rng *rand.Rand, runs, n int, mean float64) [][]float64 {
	out := make([][]float64, runs)
	for i := range out {
		out[i] = h.measured(rng, n, mean)
	}
	return out
}

// What a comparison says of the platform holds as often as it says where runs
// differ from each other as much as launches do, and where launches are
// correlated: by several runs a side, and by an archive. Launches of one run a
// side alone do not hold, and more of them are worse: which is why they speak for
// their two runs only.
func TestCoverageBetweenRuns(t *testing.T) {
	const limit = 1.05
	count := max(*simulations, 1000)
	rng := rand.New(rand.NewPCG(7, 8))
	for _, h := range []hostOfRuns{
		{"no effect of the run", 0, 0.02, 0},
		{"run as launch", 0.02, 0.02, 0},
		{"AR(1) of 0.5", 0, 0.02, 0.5},
		{"run as launch, AR(1) of 0.5", 0.02, 0.02, 0.5},
	} {
		for _, n := range []int{3, 5, 10} {
			for _, way := range []struct {
				name    string
				honest  bool
				compare func(truth float64) (Two, error)
			}{
				{"1 run a side, launches", false, func(truth float64) (Two, error) {
					return TwoSample(h.measured(rng, n, 0), h.measured(rng, n, truth))
				}},
				{"2 runs a side", true, func(truth float64) (Two, error) {
					return RunMeans(h.runs(rng, 2, n, 0), h.runs(rng, 2, n, truth))
				}},
				{"3 runs a side", true, func(truth float64) (Two, error) {
					return RunMeans(h.runs(rng, 3, n, 0), h.runs(rng, 3, n, truth))
				}},
				{"1 run a side, 4 archived", true, func(truth float64) (Two, error) {
					return ArchivedRuns(h.runs(rng, 1, n, 0), h.runs(rng, 1, n, truth), h.runs(rng, 4, n, 0.3))
				}},
				{"1 run a side, 10 archived", true, func(truth float64) (Two, error) {
					return ArchivedRuns(h.runs(rng, 1, n, 0), h.runs(rng, 1, n, truth), h.runs(rng, 10, n, 0.3))
				}},
				{"1 run a side, 6 archived of 5 launches", true, func(truth float64) (Two, error) {
					return ArchivedRuns(h.runs(rng, 1, n, 0), h.runs(rng, 1, n, truth), h.runs(rng, 6, 5, 0.3))
				}},
				{"3 runs against 1", true, func(truth float64) (Two, error) {
					return ArchivedRuns(h.runs(rng, 3, n, 0), h.runs(rng, 1, n, truth), nil)
				}},
			} {
				held, differ, regressions, passed := 0, 0, 0, 0
				for range count {
					two, err := way.compare(math.Log(limit))
					if err != nil {
						t.Fatal(err)
					}
					i := two.Interval(0.95)
					if i.Low <= limit && limit <= i.High {
						held++
					} else {
						differ++
					}
					if two.Above(limit) < 0.025 {
						regressions++
					}
					if two.Upper(0.025) < limit {
						passed++
					}
				}
				share := func(k int) float64 { return 100 * float64(k) / float64(count) }
				what := fmt.Sprintf("%-28s %2d launches, %-40s covered %5.1f %%, falsely a regression %4.1f %%, falsely passed %4.1f %%",
					h.name+",", n, way.name+":", share(held), share(regressions), share(passed))
				t.Log(what)
				if way.honest && (share(held) < 93 || share(regressions) > 4.5 || share(passed) > 4.5) {
					t.Error(what)
				}
				if !way.honest && h.run > 0 && share(regressions) < 6 {
					t.Errorf("launches alone suffice, though runs differ: %s", what)
				}
			}
		}
	}
}

func TestRunMeansCountRunsAndNotLaunches(t *testing.T) {
	a := [][]float64{{1, 1, 1}, {1.02, 1.02, 1.02}, {0.98, 0.98, 0.98}}
	b := [][]float64{{1.1, 1.1, 1.1}, {1.122, 1.122, 1.122}, {1.078, 1.078, 1.078}}
	few, err := RunMeans(a, b)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a {
		for range 4 {
			a[i], b[i] = append(a[i], a[i][0]), append(b[i], b[i][0])
		}
	}
	many, err := RunMeans(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(many.SE-few.SE) > 1e-12 || math.Abs(many.DF-4) > 1e-6 || math.Abs(math.Exp(many.Diff)-1.1) > 1e-9 {
		t.Errorf("%+v with 3 launches, %+v with 7", few, many)
	}
}

// An archive decides the error of one run a side; a side that scatters beyond it widens it further.
func TestArchivedRuns(t *testing.T) {
	quiet := [][]float64{{1, 1.01, 0.99}}
	archive := [][]float64{{1, 1.01, 0.99}, {1.1, 1.11, 1.09}, {0.9, 0.91, 0.89}}
	two, err := ArchivedRuns(quiet, quiet, archive)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := means(archive, 3)
	if want := StdDev(m) * math.Sqrt2; math.Abs(two.SE-want) > 1e-3 || math.Abs(two.DF-2) > 0.01 {
		t.Errorf("error %g with %g degrees of freedom, want %g with 2", two.SE, two.DF, want)
	}
	loud, err := ArchivedRuns(quiet, [][]float64{{0.5, 1, 2}}, archive)
	if err != nil || loud.SE < 2*two.SE {
		t.Errorf("error %g, of a quiet side %g, %v", loud.SE, two.SE, err)
	}
	for _, c := range []struct {
		a, b, archive [][]float64
		want          error
	}{
		{quiet, quiet, nil, ErrFew}, {quiet, quiet, archive[:1], ErrFew}, {nil, quiet, archive, ErrFew},
		{quiet, [][]float64{{1, 2}}, archive, ErrFew}, {quiet, quiet, [][]float64{{1, 2, 0}, {1, 2, 3}}, ErrDomain},
	} {
		if _, err := ArchivedRuns(c.a, c.b, c.archive); !errors.Is(err, c.want) {
			t.Errorf("%v, %v, %v: %v", c.a, c.b, c.archive, err)
		}
	}
	for _, c := range []struct {
		a, b [][]float64
		want error
	}{{quiet, archive, ErrFew}, {archive, quiet, ErrFew}, {archive, [][]float64{{1, 2, 3}, {1, 2}}, ErrFew}, {archive, [][]float64{{1, 2, 3}, {1, 2, -1}}, ErrDomain}} {
		if _, err := RunMeans(c.a, c.b); !errors.Is(err, c.want) {
			t.Errorf("%v, %v: %v", c.a, c.b, err)
		}
	}
}
