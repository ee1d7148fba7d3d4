package stats

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutations are mistakes of the kind that published comparisons made, or that
// an editor might. Each stands for the one place where old is found.
var mutations = []struct{ name, file, old, new string }{
	{"pooled bases instead of paired", "ratio.go", "r := v / b;", "r := v / Mean(slices.Collect(maps.Values(base)));"},
	{"paired with the next block", "ratio.go", "base[block]", "base[block+1]"},
	{"outliers dropped", "interval.go", "\tslices.Sort(x)\n\treturn newRatios", "\tslices.Sort(x)\n\tif o := Outliers(x); len(o) > 0 {\n\t\tx = slices.Delete(x, o[0], o[0]+1)\n\t}\n\treturn newRatios"},
	{"ratios averaged, not their logarithms", "describe.go", "out[i] = math.Log(v)", "out[i] = v - 1"},
	{"divisor n of the variance", "describe.go", "sum / float64(len(x)-1)", "sum / float64(len(x))"},
	{"standard error by n, not its root", "describe.go", "StdDev(x) / math.Sqrt(float64(len(x)))", "StdDev(x) / float64(len(x))"},
	{"normal quantile for Student's", "interval.go", "Nu: float64(r.n - 1)", "Nu: 1e9 * float64(r.n)"},
	{"bootstrap not sorted", "interval.go", "slices.Sort(r.ts)", "_ = r.ts"},
	{"tails of the bootstrap exchanged", "interval.go", "below = min(max(orderStatistic(r.ts, 1-tail)", "below = min(max(-orderStatistic(r.ts, tail)"},
	{"one-sided sign flips", "signflip.go", "math.Abs(flippedSum(x, flip<<1)) >= far", "flippedSum(x, flip<<1) >= far"},
	{"random flips without the one observed", "signflip.go", "float64(b+1) / float64(m+1)", "float64(b) / float64(m)"},
	{"Holm without monotonicity", "holm.go", "max(least, min(1, float64(len(order)-rank)*p[i]))", "min(1, float64(len(order)-rank)*p[i])"},
	{"equivalence by the better of two tests", "equivalence.go", "t.Survival(min(toLow, toHigh)", "t.Survival(max(toLow, toHigh)"},
	{"slope by the mean", "drift.go", "Median(slopes)", "Mean(slopes)"},
	{"no correction for looking often", "looks.go", "looks < 2", "looks < 100"},
	{"one-sided p value", "interval.go", "p := 2 * r.student()", "p := r.student()"},
	{"p value without the bound of the bootstrap", "interval.go", "max(p, min(2*float64(beyond)", "max(0, min(2*float64(beyond)"},
}

// notAsked are the tests too slow to be run for each mutation.
const notAsked = "^(TestMutationsAreFound|TestKneeOfCurves|TestCoverageBetweenRuns|TestPairedAtTheLimit|TestDetectableIsFoundNineTimesInTen|TestShapes|TestSimulation|TestCoverage|TestLevelsSuffice|TestSciPyStillSaysSo)$"

func TestMutationsAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the tests once for each mutation, which -short leaves out")
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		if out, err := testWith(t, "doc.go", "package stats", "package stats"); err != nil {
			t.Fatalf("the tests fail without a mutation: %v\n%s", err, out)
		}
	})
	for _, m := range mutations {
		t.Run(strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			out, err := testWith(t, m.file, m.old, m.new)
			var exit *exec.ExitError
			switch {
			case err == nil:
				t.Errorf("no test failed")
			case !errors.As(err, &exit):
				t.Fatal(err)
			case !strings.Contains(out, "--- FAIL: "):
				t.Errorf("failed, but by no test:\n%s", out)
			}
		})
	}
}

// testWith runs the package's tests with one text of one file exchanged.
func testWith(t *testing.T, file, old, new string) (string, error) {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), old); n != 1 {
		t.Fatalf("%s holds %q %d times, not once", file, old, n)
	}
	dir := t.TempDir()
	mutant, overlay := filepath.Join(dir, file), filepath.Join(dir, "overlay.json")
	original, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {original: mutant}})
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string][]byte{mutant: []byte(strings.Replace(string(source), old, new, 1)), overlay: replace} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command("go", "test", "-overlay", overlay, "-count=1", "-vet=off", "-short", "-skip", notAsked, ".",
		"-rapid.nofailfile", "-rapid.shrinktime=0s").CombinedOutput()
	return string(out), err
}
