package spec_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/bench"
	"tare/internal/spec"
	"tare/internal/spec/spectest"
)

func parseScene(text string, set ...string) (*spec.Experiment, error) {
	return spec.Parse("x.yaml", []byte("name: x\nscenes:\n  - name: a\n    "+text+"\n"), set, spectest.Vocabulary())
}

func TestRamp(t *testing.T) {
	for text, want := range map[string]bench.Ramp{
		"ramp: {to: 100}":          {To: 100, Step: 20, Until: bench.RampUntil{Memory: 0.9}},
		"ramp: {to: 3}":            {To: 3, Step: 1, Until: bench.RampUntil{Memory: 0.9}},
		"ramp: {to: 12, step: 5}":  {To: 12, Step: 5, Until: bench.RampUntil{Memory: 0.9}},
		"ramp: {to: 4, until: {}}": {To: 4, Step: 1, Until: bench.RampUntil{Memory: 0.9}},
		"ramp: {to: 20, until: {memory: 80%, pids: 0.5, time: 10m}}": {To: 20, Step: 4,
			Until: bench.RampUntil{Memory: 0.8, Pids: 0.5, Time: 10 * time.Minute}},
	} {
		e, err := parseScene(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		s := e.Scenes[0]
		if d := cmp.Diff(&want, s.Ramp); d != "" {
			t.Errorf("%s: %s", text, d)
		}
		if len(s.Actors) != 1 || s.Actors[0].Role != bench.Subject || s.Actors[0].Count != want.To || s.Actors[0].Workload != "" {
			t.Errorf("%s: actors %+v", text, s.Actors)
		}
	}
}

func TestRampIsVariedAndSet(t *testing.T) {
	e, err := parseScene("ramp: {until: {time: 1m}}\n    vary: {ramp.to: [4, 8]}", "scenes.a.ramp.step=2")
	if err != nil {
		t.Fatal(err)
	}
	for i, to := range []int{4, 8} {
		if r := e.Scenes[i].Ramp; r.To != to || r.Step != 2 || r.Until.Time != time.Minute {
			t.Errorf("scene %d: %+v", i, r)
		}
	}
}

func TestRampIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"ramp: 5":                                 `x.yaml:4:11: ramp is written as a mapping, found`,
		"ramp: {}":                                `a ramp needs its number of instances`,
		"ramp: {to: 1}":                           `1 is too few: at least 2`,
		"ramp: {to: 5000}":                        `5000 is too many: at most 1000`,
		"ramp: {to: ten}":                         `"ten" is not a whole number`,
		"ramp: {to: 10, step: 0}":                 `0 is too few`,
		"ramp: {to: 10, step: 10}":                `a step of 10 makes a single step of 10 instances`,
		"ramp: {to: 10, stp: 2}":                  `unknown key of ramp "stp"; did you mean "step"?`,
		"ramp: {to: 10, until: 80%}":              `until of a ramp is written as a mapping, found`,
		"ramp: {to: 10, until: {memory: 0%}}":     `0%: that limit is reached before the first instance`,
		"ramp: {to: 10, until: {memory: 8GiB}}":   `"8GiB" is not a percentage`,
		"ramp: {to: 10, until: {pids: 100%}}":     `100% is too much`,
		"ramp: {to: 10, until: {time: 5}}":        `5 lacks a unit`,
		"ramp: {to: 10, until: {memry: 80%}}":     `did you mean "memory"?`,
		"ramp: {to: 10}\n    workload: spin":      `workload has no meaning in a ramp`,
		"ramp: {to: 10}\n    startup: true":       `startup has no meaning in a ramp`,
		"ramp: {to: 10}\n    alike: 3":            `alike has no meaning in a ramp`,
		"ramp: {to: 10}\n    actors: [{name: b}]": `actors has no meaning in a ramp`,
	} {
		_, err := parseScene(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
