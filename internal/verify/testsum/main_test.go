package main

import (
	"strings"
	"testing"
)

const stream = `{"Action":"output","Package":"tare/internal/x","Test":"TestA","Output":"=== RUN TestA\n"}
{"Action":"pass","Package":"tare/internal/x","Test":"TestA"}
{"Action":"output","Package":"tare/internal/x","Test":"TestB","Output":"    x_test.go:10: needs root\n"}
{"Action":"skip","Package":"tare/internal/x","Test":"TestB"}
{"Action":"pass","Package":"tare/internal/x","Elapsed":1.5}
`

const failure = `{"Action":"output","Package":"tare/internal/y","Test":"TestC","Output":"    y_test.go:3: got 1\n"}
{"Action":"fail","Package":"tare/internal/y","Test":"TestC"}
{"Action":"fail","Package":"tare/internal/y"}
`

func TestSummarize(t *testing.T) {
	for _, c := range []struct {
		name, in string
		allowed  allowance
		strict   bool
		status   int
		last     string
	}{
		{"a listed skip is fine", stream, allowance{"x.TestB": "always"}, true, 0, "1 passed, 0 failed, 1 skipped"},
		{"unless its condition does not hold", stream, allowance{"x.TestB": "without sh"}, true, 1, "1 passed, 1 failed, 0 skipped"},
		{"another fails in CI", stream, nil, true, 1, "1 passed, 1 failed, 0 skipped"},
		{"but not at home", stream, nil, false, 0, "1 passed, 0 failed, 1 skipped"},
		{"a missing package fails at home", strings.ReplaceAll(stream, "needs root", "cpio is not installed"), nil, false, 1, "1 passed, 1 failed, 0 skipped"},
		{"but not of a program that none has", strings.ReplaceAll(stream, "needs root", "nosuch is not installed"), allowance{"x.TestB": "without nosuch"}, true, 0, "1 passed, 0 failed, 1 skipped"},
		{"a failure", stream + failure, allowance{"x.TestB": "always"}, true, 1, "1 passed, 1 failed, 1 skipped"},
		{"nothing ran", "", nil, true, 1, "0 passed, 0 failed, 0 skipped"},
	} {
		var out strings.Builder
		if got := summarize(strings.NewReader(c.in), &out, c.allowed, c.strict); got != c.status {
			t.Errorf("%s: status %d, want %d", c.name, got, c.status)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if got := lines[len(lines)-1]; got != c.last {
			t.Errorf("%s: last line %q, want %q", c.name, got, c.last)
		}
	}
	var out strings.Builder
	summarize(strings.NewReader(stream+failure), &out, nil, false)
	for _, want := range []string{"skip x.TestB: needs root", "y_test.go:3: got 1"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing from:\n%s", want, out.String())
		}
	}
}
