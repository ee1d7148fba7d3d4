package ledger

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
)

// apartNS is a command that runs this program in a PID namespace of its own.
func apartNS(things ...string) *exec.Cmd {
	return exec.Command("unshare", append([]string{"--pid", "--fork", "--kill-child", "--mount-proc", "--", os.Args[0]}, things...)...)
}

// A run of another PID namespace lives although its process number says nothing
// here, and its things are removed when it is dead although a child of its lives.
func TestCleanSparesAnotherNamespace(t *testing.T) {
	root(t)
	state := closed(t)
	must(t, os.Mkdir(state+"/d", 0o755))
	kill := ownerBy(t, state, apartNS("dir", state+"/d"))
	for range 2 {
		if list, err := clean(t, state, false); err != nil || len(list) > 0 {
			t.Fatalf("a run lives in another PID namespace, and yet: %q, %v", list, err)
		}
	}
	kill()
	gone := "gone dir " + state + "/d"
	var list []string
	for deadline := time.Now().Add(20 * time.Second); len(list) == 0 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		var err error
		if list, err = clean(t, state, false); err != nil { // the namespace ends with unshare, a moment later
			t.Fatal(err)
		}
	}
	if fmt.Sprint(list) != fmt.Sprint([]string{gone}) {
		t.Errorf("the run is dead: %q, want %q", list, gone)
	}
}

// Who cleans in a PID namespace of its own leaves alone who lives outside of it,
// and what the dead have made there, whose processes it cannot see.
func TestCleanFromAnotherNamespace(t *testing.T) {
	root(t)
	if me, err := self(""); err != nil || me.PIDNS != firstPIDNS {
		t.Skipf("this is not the first PID namespace: %+v, %v", me, err)
	}
	state := closed(t)
	must(t, os.Mkdir(state+"/d", 0o755))
	kill := owner(t, state, "dir", state+"/d")
	cleanApart := func() string {
		cmd := apartNS()
		cmd.Env = append(os.Environ(), "TARE_LEDGER_TEST_CLEAN="+state)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if out := cleanApart(); out != "" {
		t.Errorf("the owner lives, and yet: %s", out)
	}
	kill()
	if out, want := cleanApart(), "left dir "+state+"/d\n"; out != want {
		t.Errorf("%q, want %q", out, want)
	}
	if list, err := clean(t, state, false); err != nil || len(list) != 1 || list[0] != "gone dir "+state+"/d" {
		t.Errorf("cleaned outside: %q, %v", list, err)
	}
}

// The lock of an owner ends with it, whatever it has started.
func TestLifeEndsWithTheOwner(t *testing.T) {
	state := closed(t)
	cmd := exec.Command(os.Args[0], bench.KindProcess, "x")
	cmd.Env = append(os.Environ(), "TARE_LEDGER_TEST_CHILD=1")
	kill := ownerBy(t, state, cmd)
	book, err := readBook(state)
	must(t, err)
	at := book.entries[0].Owner.Lock
	if held, err := lifeHeld(state, at); err != nil || !held {
		t.Fatalf("its owner lives, and byte %d is locked: %v, %v", at, held, err)
	}
	if held, err := lifeHeld(state, at-1); err != nil || held {
		t.Errorf("nobody has byte %d: %v, %v", at-1, held, err)
	}
	kill()
	if held, err := lifeHeld(state, at); err != nil || held {
		t.Errorf("its owner is dead, and byte %d is locked: %v, %v", at, held, err)
	}
}

// Of what another machine has entered nothing is removed, whether its run lives
// or not; what an earlier boot of this one has, is, as is what old entries say.
func TestCleanOnASharedDirectory(t *testing.T) {
	me, err := self("")
	must(t, err)
	if me.Machine == "" {
		me.Machine = "00000000000000000000000000000001" // as far as the entries go
	}
	const boot, other = "2f9b6e3a-7f43-4a3e-9d6f-0a4f4a8c7d11", "0123456789abcdef0123456789abcdef"
	state := closed(t)
	held, err := holdLife(state)
	must(t, err)
	free := held - 1
	for _, c := range []struct {
		name  string
		owner Owner
		want  string // "" is nothing
	}{
		{"another machine's, dead", Owner{PID: 1, Boot: boot, Machine: other, Lock: free}, "left"},
		{"another machine's, alive", Owner{PID: 1, Boot: boot, Machine: other, Lock: held}, ""},
		{"a clone's with the same machine-id, alive", Owner{PID: 1, Boot: boot, Machine: me.Machine, Lock: held}, ""},
		{"an earlier boot's", Owner{PID: 1, Boot: boot, Machine: me.Machine, Lock: free}, "gone"},
		{"an earlier boot's without a machine-id", Owner{PID: 1, Boot: boot, Lock: free}, "gone"},
		{"another root's on this kernel", Owner{PID: me.PID, Start: 1, Boot: me.Boot, PIDNS: 77, Machine: other, Lock: free}, "gone"},
		{"another root's on this kernel, alive", Owner{PID: me.PID, Start: 1, Boot: me.Boot, PIDNS: 77, Machine: other, Lock: held}, ""},
		{"this namespace's, whose number was given anew", Owner{PID: me.PID, Start: 1, Boot: me.Boot, PIDNS: me.PIDNS, Lock: free}, "gone"},
		{"format 1, this process", Owner{PID: me.PID, Start: me.Start, Boot: me.Boot}, ""},
		{"format 1, dead", Owner{PID: me.PID, Start: 1, Boot: me.Boot}, "gone"},
		{"format 1, an earlier boot's", Owner{PID: me.PID, Start: me.Start, Boot: boot}, "gone"},
	} {
		dir := filepath.Join(state, strings.ReplaceAll(c.name, " ", "-"))
		must(t, os.Mkdir(dir, 0o755))
		l := &Ledger{dir: state, owner: c.owner}
		must(t, l.Register(bench.KindDir, dir))
		list, err := clean(t, state, false)
		want := []string{c.want + " dir " + dir}
		if c.want == "" {
			want = nil
		}
		if err != nil || fmt.Sprint(list) != fmt.Sprint(want) {
			t.Errorf("%s: %q, %v, want %q", c.name, list, err, want)
		}
		if _, err := os.Stat(dir); (err == nil) == (c.want == "gone") {
			t.Errorf("%s: %v", c.name, err)
		}
		must(t, l.Release(bench.KindDir, dir))
	}
}

// A run enters nothing before it holds the lock that says it lives.
func TestOpenHoldsItsLife(t *testing.T) {
	state := closed(t)
	l, err := Open(state, "r1")
	must(t, err)
	if held, err := lifeHeld(state, l.owner.Lock); err != nil || !held || l.owner.Lock == 0 {
		t.Errorf("byte %d: %v, %v", l.owner.Lock, held, err)
	}
	must(t, l.Register(bench.KindProcess, "one"))
	must(t, l.Release(bench.KindProcess, "one"))
	book, err := readBook(state)
	must(t, err)
	for _, e := range book.entries {
		if e.Format != Format || e.Owner != l.owner || e.Owner.PIDNS == 0 {
			t.Errorf("%+v", e)
		}
	}
}

// A state directory in which others could put links and lines is none.
func TestDirectoriesOfOthersAreRefused(t *testing.T) {
	root(t)
	for what, spoil := range map[string]func(string) error{
		"another user's":      func(dir string) error { return os.Chown(dir, 4711, 0) },
		"all may write":       func(dir string) error { return os.Chmod(dir, 0o777) },
		"all may add":         func(dir string) error { return os.Chmod(dir, 0o777|os.ModeSticky) },
		"another group may":   func(dir string) error { return errors.Join(os.Chown(dir, 0, 4711), os.Chmod(dir, 0o775)) },
		"below a link to one": func(dir string) error { return os.Chmod(dir, 0o777) },
	} {
		dir := filepath.Join(t.TempDir(), "state")
		must(t, os.Mkdir(dir, 0o700))
		must(t, os.Mkdir(dir+"/d", 0o755))
		owner(t, dir, "dir", dir+"/d")()
		must(t, spoil(dir))
		at := dir
		if strings.Contains(what, "link") {
			at = filepath.Join(t.TempDir(), "link")
			must(t, os.Symlink(dir, at))
		}
		if _, err := Open(at, "r"); err == nil || bench.HintOf(err) == "" {
			t.Errorf("%s: opened: %v", what, err)
		}
		if list, err := clean(t, at, false); err == nil || bench.HintOf(err) == "" || len(list) > 0 {
			t.Errorf("%s: cleaned: %q, %v", what, list, err)
		}
		if _, err := os.Stat(dir + "/d"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// What a newer tare has entered is neither forgotten nor guessed at.
func TestNewerLedgerIsLeftAlone(t *testing.T) {
	state := closed(t)
	must(t, os.Mkdir(state+"/d", 0o755))
	newer := `{"format":3,"op":"lend","thing":{"kind":"dir","path":"` + state + `/d"}}` + "\n"
	text := line("register", "dir", state+"/d") + newer + line("register", "dir", state+"/e")
	path := filepath.Join(state, fileName)
	must(t, os.WriteFile(path, []byte(text), 0o644))
	list, err := clean(t, state, false)
	if err == nil || !strings.Contains(err.Error(), fileName+":2: an entry of format 3") || bench.HintOf(err) == "" || len(list) > 0 {
		t.Errorf("%q, %v, hint %q", list, err, bench.HintOf(err))
	}
	l, err := Open(state, "r")
	must(t, err)
	if held, err := l.Held(); err == nil || len(held) > 0 {
		t.Errorf("held: %v, %v", held, err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != text {
		t.Errorf("the ledger is %q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(state, corruptName)); err == nil {
		t.Error("a line was set aside")
	}
	if err := compact(state, nil); err == nil {
		t.Error("a ledger that became a newer one meanwhile was rewritten")
	}
	if _, err := os.Stat(state + "/d"); err != nil {
		t.Error(err)
	}
}
