package plan_test

import (
	"errors"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/plan"
)

// Where no peer reaches a platform's instances, what needs one is measured on the others, and left out
// where nothing is left to compare. The plan says so.
func TestScenesWithPeersAreForPlatformsThatTheyReach(t *testing.T) {
	const text = `
name: x
platforms: native, docker, lxc
timing: {warmup: 1s, measure: 2s}
scenes:
  - {name: a, workload: spin}
  - {name: b, workload: talk, params: {test: rr}}
`
	in := inputs(4)
	far := in.Available["docker"]
	far.Unreached = errors.New("it is elsewhere")
	in.Available["docker"] = far
	p := planned(t, text, in)
	said := strings.Join(p.Warnings, "\n")
	if p.Scene("a/docker") == nil || p.Scene("b/docker") != nil || p.Scene("b/lxc") == nil || !strings.Contains(said, "b: docker is left out: no peer reaches it: it is elsewhere") {
		t.Errorf("%v, and says:\n%s", p.Scenes, said)
	}
	p = planned(t, strings.Replace(text, ", lxc", "", 1), in)
	said = strings.Join(p.Warnings, "\n")
	if p.Scene("a/native") == nil || p.Scene("b/native") != nil || p.Metrics["b"] != nil || !strings.Contains(said, "b: nothing is left to compare") {
		t.Errorf("%v, and says:\n%s", p.Scenes, said)
	}
	in = inputs(4)
	in.Available = nil
	in.Skips = []bench.Skip{{Platform: "native", Reason: "no overlay"}, {Platform: "docker", Reason: "no overlay"}, {Platform: "lxc", Reason: "no overlay"}}
	if _, err := plan.Make(read(t, strings.ReplaceAll(text, "talk, params: {test: rr}", "spin")), in); err == nil || !strings.Contains(err.Error(), "the baseline native cannot run here: no overlay") {
		t.Errorf("where none can run: %v", err)
	}
}
