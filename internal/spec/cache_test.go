package spec_test

import (
	"strings"
	"testing"

	"tare/internal/spec"
	"tare/internal/spec/spectest"
)

func TestCache(t *testing.T) {
	parse := func(scene string) (*spec.Experiment, error) {
		return spec.Parse("x.yaml", []byte("name: x\nscenes:\n  - "+scene+"\n"), nil, spectest.Vocabulary())
	}
	e, err := parse("{name: a, startup: true, vary: {cache: [warm, cold]}}")
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Scenes) != 2 || e.Scenes[0].Cache != "warm" || e.Scenes[1].Cache != "cold" || e.Scenes[1].Factors[0] != (spec.Factor{Name: "cache", Level: "cold"}) {
		t.Errorf("scenes %+v", e.Scenes)
	}
	if e, err = parse("{name: a, startup: true}"); err != nil || e.Scenes[0].Cache != "" {
		t.Errorf("%v, cache %q; want it as it happens to be", err, e.Scenes[0].Cache)
	}
	if e, err = parse("{name: a, workload: spin, cache: cold}"); err != nil || e.Scenes[0].Cache != "cold" {
		t.Errorf("%v, cache %q of a workload", err, e.Scenes[0].Cache)
	}
	for scene, want := range map[string]string{
		"{name: a, startup: true, cache: tepid}":                      `cache "tepid"`,
		"{name: a, cache: cold, actors: [{name: b, workload: spin}]}": "the page cache is set for start-up scenes and for scenes of one workload only",
		"{name: a, startup: true, vary: {cache: [cool]}}":             `cache "cool"`,
	} {
		if _, err := parse(scene); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", scene, err, want)
		}
	}
}
