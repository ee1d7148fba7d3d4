package ledger

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tare/internal/bench"
)

// line is a ledger line as it lies in the file, for the given op, kind and name.
func line(op, kind, name string) string {
	return `{"op":"` + op + `","kind":"` + kind + `","name":"` + name +
		`","owner":{"pid":4242,"start":1234567,"boot":"2f9b6e3a-7f43-4a3e-9d6f-0a4f4a8c7d11","run":"r1"}}` + "\n"
}

func TestParse(t *testing.T) {
	good := line("register", "dir", "/var/lib/tare/a")
	for _, c := range []struct {
		name, text string
		entries    int
		bad        []int // line numbers
		say        string
	}{
		{"empty", "", 0, nil, ""},
		{"two", good + line("release", "dir", "/var/lib/tare/a"), 2, nil, ""},
		{"torn", good + good[:40], 1, nil, ""},
		{"torn before the newline", good + strings.TrimSuffix(good, "\n"), 1, nil, ""},
		{"corrupt in the middle", good + "\x00\x00\x00\n" + good, 2, []int{2}, "not an entry"},
		{"two in one", good + strings.TrimSuffix(good, "\n") + good, 1, []int{2}, "more than one value"},
		{"blank line", "\n" + good, 1, []int{1}, "not an entry"},
		{"unknown op", line("forget", "dir", "/x"), 0, []int{1}, `unknown op "forget"`},
		{"unknown field", strings.Replace(good, `"kind"`, `"colour":1,"kind"`, 1), 0, []int{1}, "colour"},
		{"no name", line("register", "dir", ""), 0, []int{1}, "kind or name is missing"},
		{"no owner", `{"op":"register","kind":"dir","name":"/x"}` + "\n", 0, []int{1}, "owner is missing"},
	} {
		b := parse([]byte(c.text))
		var numbers []int
		for _, l := range b.bad {
			numbers = append(numbers, l.number)
			if !strings.Contains(l.err.Error(), c.say) {
				t.Errorf("%s: %v does not say %q", c.name, l.err, c.say)
			}
		}
		if len(b.entries) != c.entries || !cmp.Equal(numbers, c.bad) {
			t.Errorf("%s: %d entries, bad lines %v; want %d, %v", c.name, len(b.entries), numbers, c.entries, c.bad)
		}
	}
}

func FuzzParse(f *testing.F) {
	good := line("register", "cgroup", "r1/a")
	for _, s := range []string{"", good, good + good[:30], "\n\n", `{"op":1}` + "\n", line("release", "tap", `tap\"0`)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b := parse(text)
		if got, want := len(b.entries)+len(b.bad), strings.Count(string(text), "\n"); got != want {
			t.Errorf("%d of %d lines accounted for", got, want)
		}
		for _, e := range b.entries { // what was read can be written and read again
			again, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := parseEntry(again); err != nil || got != e {
				t.Errorf("%s reads as %+v, %v", again, got, err)
			}
		}
	})
}

// Whatever is registered and released in whatever order, what is held is what
// was registered last and not released since.
func TestHeldIsWhatWasNotReleased(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var entries []Entry
		want := map[thing]int{}
		for i := range rapid.IntRange(0, 40).Draw(t, "n") {
			e := Entry{Op: rapid.SampledFrom([]string{opRegister, opRelease}).Draw(t, "op"), Kind: "dir",
				Name: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name"), Owner: Owner{PID: i + 1, Boot: "b"}}
			entries = append(entries, e)
			if e.Op == opRegister {
				want[thing{e.Kind, e.Name}] = e.Owner.PID
			} else {
				delete(want, thing{e.Kind, e.Name})
			}
		}
		got := map[thing]int{}
		for _, e := range held(entries) {
			got[thing{e.Kind, e.Name}] = e.Owner.PID
		}
		if !cmp.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

func TestRemovalOrder(t *testing.T) {
	var entries []Entry
	for _, k := range []string{bench.KindDir, bench.KindNetNS, bench.KindTap, bench.KindLoop, bench.KindMapped, bench.KindDomain, bench.KindMount, bench.KindCgroup, bench.KindProcess, bench.KindPod} {
		entries = append(entries, Entry{Kind: k, Name: "first"}, Entry{Kind: k, Name: "second"})
	}
	var got []string
	for _, e := range removable(entries) {
		got = append(got, e.Kind+" "+e.Name)
	}
	want := []string{
		"kubepod second", "kubepod first", "domain second", "domain first", "process second", "process first", "cgroup second", "cgroup first", "mount second", "mount first",
		"mapped second", "mapped first", "loop second", "loop first", "tap second", "tap first", "netns second", "netns first", "dir second", "dir first",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestRegisterRefuses(t *testing.T) {
	state := t.TempDir()
	l, err := Open(state, "r1")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ kind, name string }{
		{"note", "/run/other"}, {"dir", "/etc"}, {"dir", state}, {"dir", state + "/../x"}, {"dir", state + "/a/../../x"}, {"dir", "relative"}, {"dir", state + "x/y"},
		{"mount", "/"}, {"netns", "/run/netns/x"}, {"netns", bench.RuntimeDir}, {"loop", "/dev/sda"},
		{"cgroup", "../system.slice"}, {"cgroup", "."}, {"cgroup", "/tare"}, {"cgroup", "a//b"}, {"cgroup", ""},
		{"process", ""}, {"process", "a\x00b"}, {"process", "a/b"}, {"tap", "-x"},
		{"printer", "x"},
	} {
		if err := l.Register(c.kind, c.name); err == nil {
			t.Errorf("registered %s %q", c.kind, c.name)
		}
	}
	if held, err := l.Held(); err != nil || len(held) > 0 {
		t.Errorf("held: %v, %v", held, err)
	}
}

// A crash in the middle of a write leaves a torn line; the next entry is whole.
func TestAppendAfterTornLine(t *testing.T) {
	state := t.TempDir()
	l, err := Open(state, "r1")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Register(bench.KindProcess, "one"); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(state, fileName), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(line("register", "dir", "/x"+strings.Repeat("y", 9000))[:8500])
	f.Close()
	if err := l.Register(bench.KindProcess, "two"); err != nil {
		t.Fatal(err)
	}
	held, err := l.Held()
	if err != nil || len(held) != 2 || held[0].Name != "one" || held[1].Name != "two" {
		t.Errorf("held: %+v, %v", held, err)
	}
}

func TestParseStat(t *testing.T) {
	// Captured from /proc/self/stat of a process named ") R (x".
	const text = "31337 () R (x) S 1 31337 31337 0 -1 4194304 84 0 0 0 0 0 0 0 20 0 1 0 7654321 2428928 191 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0"
	start, state, err := parseStat(text)
	if start != 7654321 || state != "S" || err != nil {
		t.Errorf("%d, %q, %v", start, state, err)
	}
	for _, bad := range []string{"", "1 (x", "1 (x) S 1", strings.Replace(text, "7654321", "many", 1)} {
		if _, _, err := parseStat(bad); err == nil || bad != "" && !strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("1 (x) S 1 1 1 0 -1 4 84 0 0 0 0 0 0 0 20 0 1 0 7654321 2428928")
	f.Add(")))")
	f.Fuzz(func(t *testing.T, text string) {
		if _, state, err := parseStat(text); err == nil && state == "" {
			t.Error("no state and no error")
		}
	})
}

func TestCorruptLineIsNamed(t *testing.T) {
	b := book{path: "/s/ledger.jsonl", bad: []badLine{{3, "gar\x00bage", errors.New("not an entry")}}}
	err := b.corrupt()[0]
	if !strings.Contains(err.Error(), `/s/ledger.jsonl:3: "gar\x00bage"`) || bench.HintOf(err) == "" {
		t.Errorf("%v, hint %q", err, bench.HintOf(err))
	}
}
