package analysis

import (
	"math"
	"slices"
	"strings"
	"testing"

	"tare/internal/analysis/stats"
	"tare/internal/result"
	"tare/internal/result/store"
)

var nan = math.NaN()

func approx(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*max(1, math.Abs(want))) {
		t.Errorf("%s: got %.12g, want %.12g", what, got, want)
	}
}

func TestEffectIsPairedByBlock(t *testing.T) {
	// Ratios 0.9, 0.92, 0.91 whatever the host's drift between blocks.
	r := analyze(t, crafted{metric: throughput, platform: []string{"native", "lxc"}, blocks: 3,
		values: map[string][]float64{"native": {100, 1000, 10}, "lxc": {90, 920, 9.1}}}.write(t))
	e := r.Cases[0].Rows[1].Effect
	want := math.Pow(0.9*0.92*0.91, 1.0/3)
	approx(t, "ratio", e.Ratio, want)
	approx(t, "overhead (equation 1, signed)", e.Overhead, want-1)
	approx(t, "cost", e.Cost, 1-want)
	interval, _ := stats.RatioInterval([]float64{0.9, 0.92, 0.91}, 0.95)
	approx(t, "low", e.Low, interval.Low)
	approx(t, "high", e.High, interval.High)
	if e.Verdict != result.Differs || e.N != 3 || len(e.Ratios) != 3 || e.Ratios[1].Trial != "b02-lxc" || e.Why != "" {
		t.Errorf("%+v", e)
	}
	if e.Words != "9.0 % slower (6.5 to 11.5)" {
		t.Error(e.Words)
	}
	if a := r.Cases[0].Answer; a != "Against native (100 events/s): lxc: 9.0 % slower (6.5 to 11.5)." {
		t.Error(a)
	}
	if !r.Complete || r.Trials != (result.Counts{Planned: 6, Asked: 6, Done: 6}) {
		t.Errorf("%+v", r.Trials)
	}
	if r.Cases[0].Rows[0].Effect != nil || !r.Cases[0].Rows[0].Baseline || r.Cases[0].Resource != "cpu" {
		t.Errorf("%+v", r.Cases[0])
	}
}

func TestTooFewBlocksAreRefused(t *testing.T) {
	for n, want := range map[int]string{0: "no pair", 1: "only 1 pair"} {
		r := analyze(t, crafted{metric: throughput, platform: []string{"native", "lxc"}, blocks: 3,
			values: map[string][]float64{"native": {100, 100, 100}, "lxc": slices.Repeat([]float64{90}, n)}}.write(t))
		row := r.Cases[0].Rows[1]
		e := row.Effect
		if e.Verdict != result.Refused || !strings.HasPrefix(e.Why, want+" of finished launches") || e.N != n || e.Low != 0 || e.High != 0 {
			t.Errorf("%d blocks: %+v", n, e)
		}
		if !strings.HasPrefix(e.Words, "not compared: ") || row.Missing != 3-n || r.Complete {
			t.Errorf("%d blocks: %+v", n, row)
		}
	}
}

func TestFailuresAreCountedAndListed(t *testing.T) {
	r := analyze(t, crafted{metric: throughput, platform: []string{"native", "lxc"}, blocks: 4,
		values: map[string][]float64{"native": {100, 101, 99, 100}, "lxc": {90, nan, 91, 89}}}.write(t))
	if r.Trials != (result.Counts{Planned: 8, Asked: 8, Done: 7, Failed: 1}) || !r.Complete {
		t.Errorf("%+v", r.Trials)
	}
	if f := r.Failures; len(f) != 1 || f[0] != (result.Failure{Trial: "b02-lxc", Scene: "cpu/lxc", Platform: "lxc", Phase: "launch", Error: "no answer", Hint: "look", Log: "last words"}) {
		t.Errorf("%+v", f)
	}
	row := r.Cases[0].Rows[1]
	if row.Failed != 1 || row.N != 3 || !slices.Contains(row.Warnings, "1 of 4 launches failed") {
		t.Errorf("%+v", row)
	}
	if e := row.Effect; e.Verdict != result.Differs || e.N != 3 || e.Why != "3 of 4 blocks have both" {
		t.Errorf("%+v", e)
	}
}

func TestNothingFinished(t *testing.T) {
	none := []float64{nan, nan, nan}
	for name, c := range map[string]struct {
		native, lxc []float64
		want        string
	}{
		"the platform": {[]float64{1, 2, 3}, none, "Against native (2 events/s): lxc: no launch finished, 3 failed."},
		"the baseline": {none, []float64{1, 2, 3}, "There is nothing to compare with: native: no launch finished, 3 failed."},
		"neither":      {nil, nil, "There is nothing to compare with: native: no launch finished."},
	} {
		r := analyze(t, crafted{metric: throughput, platform: []string{"native", "lxc"}, blocks: 3,
			values: map[string][]float64{"native": c.native, "lxc": c.lxc}}.write(t))
		if got := r.Cases[0].Answer; got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestAZeroIsNoRatio(t *testing.T) {
	r := analyze(t, crafted{metric: throughput, platform: []string{"native", "lxc"}, blocks: 3,
		values: map[string][]float64{"native": {100, 101, 99}, "lxc": {90, 0, 91}}}.write(t))
	if e := r.Cases[0].Rows[1].Effect; e.Verdict != result.Refused || e.N != 3 || e.Why != "launch b02-lxc gave 0, which has no ratio (so in 1 of 3 blocks)" {
		t.Errorf("%+v", e)
	}
}

func TestEmulatedWearsItsLabel(t *testing.T) {
	r := analyze(t, crafted{metric: throughput, platform: []string{"native", "qemu-tcg"}, blocks: 3,
		label:  map[string]string{"qemu-tcg": "emulated (tcg)"},
		values: map[string][]float64{"native": {100, 101, 99}, "qemu-tcg": {10, 11, 10}}}.write(t))
	row := r.Cases[0].Rows[1]
	const caution = "emulated (tcg): not a finding about virtual machines"
	if row.Label != "emulated (tcg)" || row.Effect.Caution != caution || !strings.HasSuffix(row.Effect.Words, "["+caution+"]") ||
		!strings.Contains(r.Cases[0].Answer, caution) {
		t.Errorf("%+v, %+v", row, row.Effect)
	}
	r = analyze(t, crafted{metric: throughput, platform: []string{"native", "runc"}, blocks: 3,
		label:  map[string]string{"native": "emulated (tcg)"},
		values: map[string][]float64{"native": {100, 101, 99}, "runc": {10, 11, 10}}}.write(t))
	if got := r.Cases[0].Rows[1].Effect.Caution; got != "the baseline is "+caution {
		t.Errorf("beside an emulated baseline: %q", got)
	}
}

func TestReproduce(t *testing.T) {
	c := crafted{metric: throughput, platform: []string{"native", "lxc"}, blocks: 1,
		header: store.Header{Spec: "my specs/a.yaml", Set: []string{"timing.measure=1s", "platforms=[native, kvm]", "scenes.cpu.vary.threads=[1, 2]"}}}
	want := `tare run 'my specs/a.yaml' --platforms native,lxc --set timing.measure=1s --set 'scenes.cpu.vary.threads=[1, 2]' --seed 42`
	if got := analyze(t, c.write(t)).Cases[0].Rows[1].Reproduce; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	result, err := AnalyzeWith(c.write(t), Options{Repeat: []string{"tare", "selftest", "aa", "--platforms", "docker[net=host]"}})
	if err != nil {
		t.Fatal(err)
	}
	want = "tare selftest aa --platforms 'docker[net=host]'"
	if row := result.Cases[0].Rows[1]; result.Repeat != want || row.Reproduce != want {
		t.Errorf("%q and %q, want %q", result.Repeat, row.Reproduce, want)
	}
	for in, want := range map[string]string{"docker[net=host]": "'docker[net=host]'", "": "''", "it's": `'it'\''s'`, "a=b": "a=b"} {
		if got := quote(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestProcedure(t *testing.T) {
	r := analyze(t, crafted{metric: throughput, platform: []string{"native"}, blocks: 2,
		values: map[string][]float64{"native": {100, nan}}}.write(t))
	p := r.Procedure[0]
	if p.N != 1 || p.Overhead != 4 || p.Phases["measure"] != 10 || p.Phases["launch"] != 2 {
		t.Errorf("%+v", p)
	}
	approx(t, "wall seconds with pauses", r.Seconds, 2*(14+1))
}
