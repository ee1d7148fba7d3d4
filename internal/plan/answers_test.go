package plan_test

import (
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/plan"
	"tare/internal/spec"
)

// Metrics that are to answer the question are some that a scene has, of its program or of what it uses. One
// that nothing has is told, unless the scene that has it may be one that was left out, by the host or by
// only.
func TestAnswers(t *testing.T) {
	const text = `name: x
platforms: native
answers: [memory_used, ANSWER]
scenes:
  - {name: a, workload: spin}
  - {name: b, workload: spin, optional: true, shape: {cpus: CPUS}}
`
	for _, c := range []struct{ answer, cpus, want string }{
		{"rate", "1", ""},
		{"rte", "1", `x.yaml:3:24: unknown metric of any scene here "rte"; did you mean "rate"?`},
		{"rte", "9", ""},
		{"memory_used", "1", `"memory_used" is there twice`},
	} {
		in := inputs(2)
		var p *bench.Plan
		e, err := spec.Parse("x.yaml", []byte(strings.NewReplacer("ANSWER", c.answer, "CPUS", c.cpus).Replace(text)), nil, in.Words)
		if err == nil {
			p, err = plan.Make(e, in)
		}
		switch {
		case c.want != "":
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v: %v", c, err)
			}
		case err != nil:
			t.Errorf("%+v: %v", c, err)
		case len(p.Answers) != 2 || p.Answers[1] != c.answer:
			t.Errorf("%+v: the plan has %v", c, p.Answers)
		}
	}
	e, err := spec.Parse("x.yaml", []byte(strings.NewReplacer("ANSWER", "rte", "CPUS", "1").Replace(text)), []string{"only=[a]"}, inputs(2).Words)
	if err == nil {
		_, err = plan.Make(e, inputs(2))
	}
	if err != nil {
		t.Errorf("one scene alone: %v", err)
	}
}
