package spawn

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func aSpec() Spec {
	return Spec{
		Procs: []string{"/sys/fs/cgroup/cpu/tare/r1/a/cgroup.procs"}, NetNS: "/run/tare/r1/lab", Root: "/img/root",
		Dir: "/d/a", Scratch: Bind{"/d/a/scratch", "/scratch"}, Agent: "/bin/tare-agent", CPUs: []int{0, 3},
	}
}

func TestArgsRoundTrip(t *testing.T) {
	args, err := aSpec().Args()
	if err != nil || len(args) != 2 || args[0] != "spawn" {
		t.Fatalf("%q, %v", args, err)
	}
	got, err := Parse(args[1])
	if d := cmp.Diff(aSpec(), got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
}

func TestParseRefuses(t *testing.T) {
	for want, change := range map[string]func(*Spec){
		`netns ""`:              func(s *Spec) { s.NetNS = "" },
		`root "img"`:            func(s *Spec) { s.Root = "img" },
		`dir "/d,a"`:            func(s *Spec) { s.Dir = "/d,a" },
		`root "/img:2"`:         func(s *Spec) { s.Root = "/img:2" },
		`agent "/a\\b"`:         func(s *Spec) { s.Agent = `/a\b` },
		`scratch inside "here"`: func(s *Spec) { s.Scratch.To = "here" },
		"no CPUs":               func(s *Spec) { s.CPUs = nil },
		"CPU -1":                func(s *Spec) { s.CPUs = []int{0, -1} },
	} {
		s := aSpec()
		change(&s)
		args, err := s.Args()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(args[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for _, bad := range []string{"", "{}{}", `{"colour":1}`, "[]"} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func FuzzParse(f *testing.F) {
	args, err := aSpec().Args()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(args[1])
	f.Add(`{"cpus":[99999999999]}`)
	f.Fuzz(func(t *testing.T, arg string) {
		s, err := Parse(arg)
		if err != nil {
			return
		}
		if again, err := json.Marshal(s); err != nil {
			t.Errorf("%s: %v", again, err)
		}
		s.cpuSet()
	})
}
