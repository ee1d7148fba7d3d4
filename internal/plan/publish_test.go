package plan_test

import (
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/plan"
	"tare/internal/spec"
	"tare/internal/spec/spectest"
)

// choosing is a server that takes connections on ports of its choice.
type choosing struct{ spectest.Server }

func (w choosing) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	steps, err := w.Server.Steps(part, p, s)
	steps.Further = part == bench.SubjectPart
	return steps, err
}

// A platform that publishes ports has servers whose one port is known, and whatever serves nothing.
func TestPublishedPorts(t *testing.T) {
	in := inputs(2)
	docker := &in.Words.Platforms[1]
	docker.Options = append(docker.Options, bench.Option{Name: bench.PublishOption, Values: []string{"no", "yes"}, Default: "no"})
	serve := in.Words.Workload("serve").(spectest.Server)
	serve.Word = "choose"
	in.Words.Workloads = append(in.Words.Workloads, choosing{serve})
	for _, c := range []struct{ scene, says, hint string }{
		{"{name: a, workload: serve}", "", ""},
		{"{name: a, workload: spin}", "", ""},
		{"{name: a, startup: true}", "", ""},
		{"{name: a, workload: serve, params: {port: 0}}", "nothing tells which port of the server docker[publish=yes] is to publish", "probe: tcp"},
		{"{name: a, workload: choose}", "choose is called on ports of its own choice, too, which docker[publish=yes] cannot publish", "one port"},
		{"{name: a, workload: spin, beside: {workload: choose}}", "choose is called on ports of its own choice", "one port"},
	} {
		e, err := spec.Parse("x.yaml", []byte("name: x\nplatforms: [native, 'docker[publish=yes]']\nscenes:\n- "+c.scene+"\n"), nil, in.Words)
		if err == nil {
			_, err = plan.Make(e, in)
		}
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%s: %v", c.scene, err)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(bench.HintOf(err), c.hint)):
			t.Errorf("%s: %v, hint %q; want %q", c.scene, err, bench.HintOf(err), c.says)
		}
	}
}
