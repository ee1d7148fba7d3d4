package spec_test

import (
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/spec"
	"tare/internal/spec/spectest"
)

func TestDisturbed(t *testing.T) {
	const head = "name: x\nscenes: [{name: a, startup: true}]\n"
	for _, c := range []struct {
		text, set string
		want      bench.Disturbance
	}{
		{"", "", bench.Disturbance{Above: 0.3, Repeats: 1}},
		{"disturbed: {above: 0.5}", "", bench.Disturbance{Above: 0.5, Repeats: 1}},
		{"disturbed: {repeats: 3}", "", bench.Disturbance{Above: 0.3, Repeats: 3}},
		{"", "disturbed.repeats=0", bench.Disturbance{Above: 0.3}},
	} {
		var set []string
		if c.set != "" {
			set = []string{c.set}
		}
		e, err := spec.Parse("x.yaml", []byte(head+c.text), set, spectest.Vocabulary())
		if err != nil || e.Disturbed != c.want {
			t.Errorf("%s, --set %s: %+v, %v", c.text, c.set, e.Disturbed, err)
		}
	}
	for text, want := range map[string]string{
		"disturbed: 0.3":             `x.yaml:3:12: disturbed is written as a mapping, found "0.3"`,
		"disturbed: {above: 0}":      "x.yaml:3:20: 0 must be above zero",
		"disturbed: {above: a lot}":  `x.yaml:3:20: "a lot" is not a number`,
		"disturbed: {above: 1e6}":    "x.yaml:3:20: 1e+06 CPUs are too many: at most 8192",
		"disturbed: {repeats: -1}":   "x.yaml:3:22: -1 is too few: at least 0",
		"disturbed: {repeats: 11}":   "x.yaml:3:22: 11 is too many: at most 10",
		"disturbed: {repeat: 1}":     `x.yaml:3:13: unknown key of disturbed "repeat"; did you mean "repeats"?`,
		"disturbed: {repeats: once}": `x.yaml:3:22: "once" is not a whole number`,
	} {
		_, err := spec.Parse("x.yaml", []byte(head+text), nil, spectest.Vocabulary())
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
}
