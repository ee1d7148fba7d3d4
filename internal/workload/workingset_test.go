package workload

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"tare/internal/bench"
)

func TestWorkingSetSteps(t *testing.T) {
	w := workingSet{}
	for _, c := range []struct {
		given bench.Params
		set   string
	}{{nil, "--set=536870912"}, {bench.Params{"set": "224MiB"}, "--set=234881024"}} {
		steps, err := w.Steps(bench.SubjectPart, fill(t, w, c.given), setting())
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{workingSetFile, c.set, "--warm=3", "--time=5", "--spread=pareto", "--pages=64"} {
			if !slices.Contains(steps.Main.Argv, want) {
				t.Errorf("%v lacks %s", steps.Main.Argv, want)
			}
		}
		if len(steps.Files) != 1 || steps.Begin == "" {
			t.Errorf("%+v", steps)
		}
	}
	s := setting()
	s.Timing.Warmup = 0
	if steps, err := w.Steps(bench.SubjectPart, fill(t, w, nil), s); err != nil || !slices.Contains(steps.Main.Argv, "--warm=0") {
		t.Errorf("%v, %v", steps.Main.Argv, err)
	}
	_, err := w.Steps(bench.SubjectPart, fill(t, w, bench.Params{"set": "2GiB"}), setting())
	if p := new(ParamError); !errors.As(err, &p) || p.Param != "set" || !strings.Contains(err.Error(), "1 GiB") {
		t.Errorf("a set larger than the memory: %v", err)
	}
}

func TestWorkingSetParse(t *testing.T) {
	w := workingSet{}
	p := fill(t, w, nil)
	values, err := w.Parse(p, setting(), bench.Output{Stdout: captured(t, "workingset.txt")})
	if err != nil {
		t.Fatal(err)
	}
	checkValues(t, w, p, values)
	for metric, want := range map[string]float64{"requests": 117032 / 3.011, "mean_latency": 0.03} {
		if got := value(t, values, metric); got != want {
			t.Errorf("%s is %v, want %v", metric, got, want)
		}
	}
	if p95, p99 := value(t, values, "p95_latency"), value(t, values, "p99_latency"); p95 <= 0.01 || p95 >= 0.03 || p99 < p95 {
		t.Errorf("percentiles %v and %v", p95, p99)
	}
	text := captured(t, "workingset.txt")
	if _, err := w.Parse(p, setting(), bench.Output{Stdout: text[:len(text)/2]}); err == nil {
		t.Error("half of the output passes")
	}
}
