package main

import (
	"strings"
	"testing"
)

func TestConformance(t *testing.T) {
	const pkg = `"Package":"tare/internal/platform/x","Test":"TestConformance`
	in := `{"Action":"output",` + pkg + `","Output":"    suite.go:70: conformance of x[net=host]; 1.2; real\n"}
{"Action":"pass",` + pkg + `/greeting"}
{"Action":"pass",` + pkg + `/commands/exec"}
{"Action":"pass",` + pkg + `/commands"}
{"Action":"output",` + pkg + `/pids_limit","Output":"    limits.go:9: it says it enforces none\n"}
{"Action":"skip",` + pkg + `/pids_limit"}
{"Action":"pass",` + pkg + `","Elapsed":3.25}
{"Action":"output",` + pkg + `KVM","Output":"    suite.go:70: conformance of y; -; real\n"}
{"Action":"output",` + pkg + `KVM","Output":"    suite.go:72: y is unavailable here: no /dev/kvm\n"}
{"Action":"skip",` + pkg + `KVM","Elapsed":0.5}
`
	var out strings.Builder
	summarize(strings.NewReader(in), &out, nil, false)
	for _, want := range []string{
		"x[net=host]     1.2      real      pass   2 of 2  1        3.2\n",
		"y               -        real      skip   0 of 0  1        0.5\n",
		"x[net=host] skips pids limit: it says it enforces none\n",
		"y skips y is unavailable here: no /dev/kvm\n",
		"1 platforms and variants pass, 1 of them measured for real; 4 s\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing from:\n%s", want, out.String())
		}
	}
	out.Reset()
	summarize(strings.NewReader(stream), &out, nil, false)
	if strings.Contains(out.String(), "CONFORMANCE") {
		t.Errorf("a table without suites:\n%s", out.String())
	}
}
