package report

import (
	"strings"
	"testing"

	"tare/internal/result"
)

// A platform that was given up is named once, with all trials that were not run.
func TestFailuresOfOneReasonTogether(t *testing.T) {
	const given = "not launched: uml failed twice in the same way"
	var out strings.Builder
	writeBlocks(&out, failuresText(&result.Result{Failures: []result.Failure{
		{Trial: "b01-t01", Scene: "cpu/uml", Phase: "launch", Error: "panicked"},
		{Trial: "b02-t04", Scene: "cpu/uml", Phase: "launch", Error: given, Hint: "start a new run"},
		{Trial: "b02-t05", Scene: "net/docker", Phase: "measure", Error: "no route"},
		{Trial: "b03-t07", Scene: "net/uml", Phase: "launch", Error: given, Hint: "start a new run"},
	}}))
	want := "\n4 trials did not finish:\n  b01-t01 cpu/uml, in launch: panicked\n  b02-t04 cpu/uml, b03-t07 net/uml, in launch: " + given +
		"\n    hint: start a new run\n  b02-t05 net/docker, in measure: no route\n"
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
}
