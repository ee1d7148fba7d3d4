package spec_test

import (
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/spec"
	"tare/internal/spec/spectest"
)

// asker is a workload with a rate of its own, unless it is closed.
type asker struct{ spectest.Work }

func (asker) Loop(p bench.Params) bench.Loop {
	if p["closed"] == "1" {
		return bench.Loop{}
	}
	return bench.Loop{Rate: "rate", Got: "got", Answered: "answered", Latency: "p99_latency"}
}

func parsePeak(text string) (*spec.Experiment, error) {
	v := spectest.Vocabulary()
	v.Workloads = append(v.Workloads, asker{spectest.Work{Word: "ask", Known: []bench.Param{
		{Name: "rate", Kind: bench.KindInt, Default: "1", Min: 1, Load: true}, {Name: "closed", Kind: bench.KindInt, Default: "0"},
	}}})
	return spec.Parse("x.yaml", []byte("name: x\nscenes:\n  - name: a\n    "+text+"\n"), nil, v)
}

func TestPeak(t *testing.T) {
	loop := bench.Loop{Rate: "rate", Got: "got", Answered: "answered", Latency: "p99_latency"}
	for text, want := range map[string]bench.Peak{
		"100ms": {Loop: loop, Bound: 100 * time.Millisecond, Errors: 0.01, Short: 0.02},
		"{latency: 5ms, errors: 0.5%, short: 5%}": {Loop: loop, Bound: 5 * time.Millisecond, Errors: 0.005, Short: 0.05},
	} {
		e, err := parsePeak("workload: ask\n    vary: {rate: [10, 20, 40]}\n    peak: " + text)
		if err != nil {
			t.Fatal(err)
		}
		if len(e.Scenes) != 3 {
			t.Fatalf("%d scenes", len(e.Scenes))
		}
		for _, s := range e.Scenes {
			if s.Peak == nil || *s.Peak != want {
				t.Errorf("%s: %+v", text, s.Peak)
			}
		}
	}
}

func TestPeakRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"workload: ask\n    vary: {rate: [10, 20]}\n    peak: {errors: 1%}":                "x.yaml:6:11: peak needs a bound of latency",
		"workload: ask\n    vary: {rate: [10, 20]}\n    peak: 100":                         "x.yaml:6:11: 100 lacks a unit",
		"workload: ask\n    vary: {rate: [10, 20]}\n    peak: {latency: 1s, errors: lots}": `"lots" is not a percentage`,
		"workload: ask\n    vary: {rate: [10, 20]}\n    peak: {latency: 1s, error: 1%}":    "error",
		"workload: ask\n    peak: 100ms":                                                   "x.yaml:5:11: peak: rate does not vary",
		"workload: spin\n    vary: {threads: [1, 2]}\n    peak: 100ms":                     "peak: the subject is not asked at a rate",
		"workload: ask\n    params: {closed: 1}\n    vary: {rate: [1, 2]}\n    peak: 1s":   "peak: the subject is not asked at a rate",
		"startup: true\n    peak: 100ms":                                                   "peak: the subject is not asked at a rate",
		"ramp: {to: 3}\n    peak: 100ms":                                                   "peak has no meaning in a ramp",
	} {
		if _, err := parsePeak(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
