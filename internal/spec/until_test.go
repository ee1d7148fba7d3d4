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

func TestUntil(t *testing.T) {
	const head = "name: x\nscenes: [{name: a, startup: true}]\n"
	for _, c := range []struct {
		text   string
		set    string
		want   *bench.Until
		blocks int
	}{
		{"", "", nil, 3},
		{"until: {interval: 2%, min: 4, max: 8}", "", &bench.Until{Interval: 0.02, Min: 4, Max: 8}, 8},
		{"until: {}", "", &bench.Until{Interval: 0.015, Min: 5, Max: 30}, 30},
		{"until: {}\nmargin: 4%", "", &bench.Until{Interval: 0.02, Min: 5, Max: 30}, 30},
		{"until: {}\nmargin: 0%", "", &bench.Until{Interval: 0.015, Min: 5, Max: 30}, 30},
		{"budget: 8m", "", &bench.Until{Interval: 0.015, Min: 5, Max: 60, Budget: 8 * time.Minute}, 60},
		{"budget: 8m\nuntil: {min: 4}", "until.interval=5%", &bench.Until{Interval: 0.05, Min: 4, Max: 60, Budget: 8 * time.Minute}, 60},
		{"blocks: 4", "budget=1m", &bench.Until{Interval: 0.015, Min: 5, Max: 60, Budget: time.Minute}, 60},
		{"budget: 8m\nuntil: {min: 4}", "blocks=4", nil, 4},
		{"until: {min: 40}", "", &bench.Until{Interval: 0.015, Min: 40, Max: 40}, 40},
		{"until: {max: 9}", "until.interval=0.01", &bench.Until{Interval: 0.01, Min: 5, Max: 9}, 9},
		{"blocks: 4", "until.max=7", &bench.Until{Interval: 0.015, Min: 5, Max: 7}, 7},
		{"until: {max: 9}", "blocks=4", nil, 4},
	} {
		var set []string
		if c.set != "" {
			set = []string{c.set}
		}
		e, err := spec.Parse("x.yaml", []byte(head+c.text), set, spectest.Vocabulary())
		if err != nil {
			t.Errorf("%s, --set %s: %v", c.text, c.set, err)
			continue
		}
		if d := cmp.Diff(c.want, e.Until); d != "" || e.Blocks != c.blocks {
			t.Errorf("%s, --set %s: %d blocks %s", c.text, c.set, e.Blocks, d)
		}
	}
	for text, want := range map[string]string{
		"blocks: 5\nuntil: {max: 9}": "x.yaml:4:8: until and blocks are both given",
		"blocks: 5\nbudget: 8m":      "x.yaml:4:9: budget and blocks are both given",
		"budget: 8":                  "x.yaml:3:9: 8 lacks a unit",
		"budget: 5s":                 "x.yaml:3:9: 5s is too short",
		"rare: 0%":                   "x.yaml:3:7: 0%: no number of launches rules out every share",
		"until: {min: 2}":            "x.yaml:3:14: 2 is too few: at least 3",
		"until: {min: 7, max: 6}":    "x.yaml:3:22: max 6 is less than min 7",
		"until: {max: 4}":            "x.yaml:3:14: max 4 is less than min 5",
		"until: {max: 1001}":         "x.yaml:3:14: 1001 is too many",
		"until: {interval: 0%}":      "x.yaml:3:19: 0%: the interval must be above 0",
		"until: {interval: 100%}":    "x.yaml:3:19: 100% is too much",
		"until: {interval: -1%}":     "x.yaml:3:19: -1% must not be negative",
		"until: {interval: narrow}":  `x.yaml:3:19: "narrow" is not a percentage`,
		"until: 3%":                  `x.yaml:3:8: until is written as a mapping, found "3%"`,
		"until: {intervall: 3%}":     `x.yaml:3:9: unknown key of until "intervall"; did you mean "interval"?`,
		"until: [3%]":                "x.yaml:3:8: until is written as a mapping, found a list",
	} {
		_, err := spec.Parse("x.yaml", []byte(head+text), nil, spectest.Vocabulary())
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
	if _, err := spec.Parse("x.yaml", []byte(head), []string{"blocks=5", "until.max=9"}, spectest.Vocabulary()); err == nil {
		t.Error("two --set arguments that contradict each other are read")
	}
}
