package planning

import (
	"strings"
	"testing"

	"tare/internal/bench"
)

// What was asked for by name and cannot run here is an error, unless a built-in asks for it or others can be compared.
func TestPlatformLeftOutIsAnError(t *testing.T) {
	left := func(platforms ...string) *bench.Plan {
		p := &bench.Plan{Skipped: []bench.Skip{{Platform: "gvisor", Reason: "runsc is not installed", Hint: "install it", Named: true}}}
		for _, name := range platforms {
			p.Scenes = append(p.Scenes, bench.Scene{Platform: bench.PlatformRef{Name: name}})
		}
		return p
	}
	for _, c := range []struct {
		name    string
		request Request
		plan    *bench.Plan
		says    string // "" for no error
	}{
		{"one command line", Request{Text: []byte("x"), Insist: true}, left("native", "docker"), "platform gvisor cannot run here: runsc is not installed"},
		{"one command line, all can run", Request{Text: []byte("x"), Insist: true}, &bench.Plan{}, ""},
		{"a file, one is left", Request{Name: "mine.yaml"}, left("native"), "nothing can be compared: native alone can run here; gvisor: runsc is not installed"},
		{"a file, two are left", Request{Name: "mine.yaml"}, left("native", "docker"), ""},
		{"a built-in, one is left", Request{Name: "quick"}, left("native"), ""},
		{"the experiment of another run", Request{Name: "x/spec.yaml", From: "x"}, left("native"), ""},
		{"the self-test", Request{Name: "selftest-aa", Text: []byte("x")}, left("native"), ""},
	} {
		p := &Planned{Plan: c.plan, request: &c.request}
		err := p.Insist()
		if (err != nil) != (c.says != "") || err != nil && (!strings.HasPrefix(bench.Reason(err), c.says) || bench.HintOf(err) != "install it") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
