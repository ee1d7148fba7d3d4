package qemu

import (
	"bufio"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
)

// replay answers each line it reads with the next of the captured ones, the
// greeting coming first. An event goes out together with what follows it.
func replay(t *testing.T, lines []string) net.Conn {
	t.Helper()
	here, there := net.Pipe()
	t.Cleanup(func() { here.Close(); there.Close() })
	go func() {
		in := bufio.NewReader(there)
		for i, line := range lines {
			if i > 0 && !strings.Contains(lines[i-1], `"event"`) {
				if _, err := in.ReadString('\n'); err != nil {
					return
				}
			}
			if _, err := there.Write([]byte(line)); err != nil {
				return
			}
		}
		there.Close()
	}()
	return here
}

func captured(t testing.TB) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/qmp.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(strings.Lines(string(text)))
}

func TestQMPSession(t *testing.T) {
	q := newQMP(replay(t, captured(t)))
	if err := q.agree(); err != nil {
		t.Fatal(err)
	}
	var cpus []vcpu
	if err := q.Execute("query-cpus-fast", &cpus); err != nil {
		t.Fatal(err)
	}
	if len(cpus) != 2 || cpus[0] != (vcpu{0, 22952}) || cpus[1] != (vcpu{1, 22953}) {
		t.Errorf("cpus %v", cpus)
	}
	if err := q.Execute("nonsense", nil); err == nil || !strings.Contains(err.Error(), "CommandNotFound") {
		t.Errorf("nonsense: %v", err)
	}
	if err := q.Execute("quit", nil); err != nil { // its answer comes after an event
		t.Errorf("quit: %v", err)
	}
	if err := q.Execute("quit", nil); err == nil {
		t.Error("a closed monitor answered")
	}
}

func TestQMPRefuses(t *testing.T) {
	for what, first := range map[string]string{
		"no greeting":     `{"return": {}}` + "\n",
		"not JSON":        "Segmentation fault\n",
		"nothing at all":  "\n",
		"unknown message": `{"hello": 1}` + "\n",
	} {
		if err := newQMP(replay(t, []string{first})).agree(); err == nil {
			t.Errorf("%s: was taken", what)
		}
	}
	q := newQMP(replay(t, []string{`{"QMP": {}}` + "\n", `{"return": {}}` + "\n", `{"return": 7}` + "\n"}))
	if err := q.agree(); err != nil {
		t.Fatal(err)
	}
	if err := q.Execute("query-cpus-fast", &[]vcpu{}); err == nil || !strings.Contains(err.Error(), "7") {
		t.Errorf("result of another type: error %v does not quote it", err)
	}
}

func FuzzParseQMP(f *testing.F) {
	for _, line := range captured(f) {
		f.Add([]byte(line))
	}
	f.Add([]byte(`{"return":null}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := parseQMP(line)
		if err == nil && m.Greeting == nil && m.Event == "" && m.Error == nil && m.Return == nil {
			t.Errorf("%q is not a message, but no error", line)
		}
	})
}
