package spawn

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHeldArgsRoundTrip(t *testing.T) {
	want := Held{Procs: []string{"/sys/fs/cgroup/cpu/tare/r1/a/cgroup.procs"}, Path: "/usr/bin/bwrap", Argv: []string{"bwrap", "--", "a b", ""}}
	args, err := want.Args()
	if err != nil || len(args) != 2 || args[0] != "hold" {
		t.Fatalf("%q, %v", args, err)
	}
	got, err := ParseHeld(args[1])
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
}

func TestParseHeldRefuses(t *testing.T) {
	for _, bad := range []string{
		"", "{}{}", "{}", "[]", `{"colour":1}`, `{"path":"bwrap","argv":["bwrap"]}`, `{"path":"/usr/bin/bwrap"}`, `{"path":"/usr/bin/bwrap","argv":["x"]} y`,
	} {
		if _, err := ParseHeld(bad); err == nil || !strings.Contains(err.Error(), "hold: argument") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzParseHeld(f *testing.F) {
	f.Add(`{"procs":["/a"],"path":"/b","argv":["b"]}`)
	f.Fuzz(func(t *testing.T, arg string) {
		h, err := ParseHeld(arg)
		if err == nil && (len(h.Argv) == 0 || h.Path[0] != '/') {
			t.Errorf("%q: %+v", arg, h)
		}
	})
}
