package spec_test

import (
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/spec"
	"tare/internal/spec/spectest"
)

// TestOnly leaves the cases that are named, with what they are compared with.
func TestOnly(t *testing.T) {
	const text = `
name: x
scenes:
  - {name: alone, workload: spin}
  - {name: beside, workload: spin, relative: alone}
  - {name: varied, workload: spin, load: each, vary: {alike: [1, 2]}}
`
	for only, want := range map[string]string{
		"[alone]":                       "alone",
		"[beside]":                      "alone beside",
		"[varied]":                      "varied[alike=1] varied[alike=2]",
		`["varied[alike=2]", "alone"]`:  "alone varied[alike=2]",
		`["varied[alike=2]", "varied"]`: "varied[alike=1] varied[alike=2]",
	} {
		e, err := spec.Parse("x.yaml", []byte(text), []string{"only=" + only}, spectest.Vocabulary())
		if err != nil {
			t.Errorf("only %s: %v", only, err)
			continue
		}
		var names []string
		for _, s := range e.Scenes {
			names = append(names, s.Case())
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("only %s: %s, want %s", only, got, want)
		}
	}
	for only, want := range map[string]string{
		"[alon]":              `case "alon"`,
		`["varied[alike=3]"]`: "varied[alike=1]",
		"[]":                  "only names no case",
		"{a: b}":              "only",
	} {
		if _, err := spec.Parse("x.yaml", []byte(text), []string{"only=" + only}, spectest.Vocabulary()); err == nil || !strings.Contains(err.Error()+bench.HintOf(err), want) {
			t.Errorf("only %s: %v, want %q", only, err, want)
		}
	}
}
