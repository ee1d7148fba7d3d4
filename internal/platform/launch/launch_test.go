package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

func TestParseStat(t *testing.T) {
	for text, want := range map[string]struct {
		child  Child
		parent int
	}{
		"22630 (init) S 22627 22630 22630 0 -1 4194560": {Child{22630, "init"}, 22627},
		"7 (a) b (c)) R 1 7":                            {Child{7, "a) b (c)"}, 1},
	} {
		c, parent, err := parseStat(text)
		if c != want.child || parent != want.parent || err != nil {
			t.Errorf("%q: %v, %d, %v", text, c, parent, err)
		}
	}
	for _, bad := range []string{"", "1 init S 0", "1 (init)", "x (init) S 0", "1 (init) S x", ")1("} {
		if c, _, err := parseStat(bad); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", bad)) {
			t.Errorf("%q: %v, %v", bad, c, err)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("22630 (init) S 22627 22630 22630 0 -1 4194560")
	f.Add("7 (a) b (c)) R 1 7")
	f.Fuzz(func(t *testing.T, text string) {
		if c, _, err := parseStat(text); err == nil && !strings.Contains(text, "("+c.Name+")") {
			t.Errorf("%q: %v", text, c)
		}
	})
}

func TestMountsBelow(t *testing.T) {
	text, err := os.ReadFile("testdata/mountinfo.txt")
	if err != nil {
		t.Fatal(err)
	}
	got := outermost(mountsBelow(string(text), "/sys"))
	want := []string{"/sys/kernel/security", "/sys/fs/cgroup", "/sys/fs/pstore", "/sys/with blank"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzMountsBelow(f *testing.F) {
	f.Add("32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n")
	f.Fuzz(func(t *testing.T, text string) {
		all := mountsBelow(text, "/sys")
		for _, p := range outermost(all) {
			if !slices.Contains(all, p) {
				t.Errorf("%q is none of %q", p, all)
			}
		}
	})
}

func TestSearchPath(t *testing.T) {
	for in, want := range map[string]string{
		"":                 "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"/opt/x:/usr/bin":  "/opt/x:/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/bin",
		"/usr/sbin:/usr/b": "/usr/sbin:/usr/b:/usr/local/sbin:/usr/local/bin:/usr/bin:/sbin:/bin",
	} {
		if got := SearchPath(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if path, err := Program("no-such-program"); err == nil {
		t.Errorf("found %q", path)
	}
}

func TestUndo(t *testing.T) {
	var did []string
	step := func(name string, err error) func(context.Context) error {
		return func(context.Context) error { did = append(did, name); return err }
	}
	var led bench.Ledger = book{&did}
	boom := errors.New("boom")
	var u Undo
	u.Add(step("first", nil))
	if err := errors.Join(u.Register(led, "dir", "good", step("remove good", nil)),
		u.Register(led, "dir", "stuck", step("remove stuck", boom))); err != nil {
		t.Fatal(err)
	}
	cause := errors.New("cause")
	if err := u.Fail(t.Context(), cause); !errors.Is(err, boom) || !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	want := []string{"register good", "register stuck", "remove stuck", "remove good", "release good", "first"}
	if diff := cmp.Diff(want, did); diff != "" {
		t.Error(diff)
	}
	if err := u.Run(t.Context()); err != nil || len(did) != len(want) {
		t.Errorf("the second time: %v, %q", err, did)
	}
}

type book struct{ did *[]string }

func (b book) Register(_, name string) error { *b.did = append(*b.did, "register "+name); return nil }
func (b book) Release(_, name string) error  { *b.did = append(*b.did, "release "+name); return nil }

func TestProcess(t *testing.T) {
	words := filepath.Join(t.TempDir(), "words")
	p, err := Start(exec.Command("sh", "-c", "echo no >&2; exec cat"), words)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(p.Stream(), "ping"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 4)
	if _, err := io.ReadFull(p.Stream(), got); err != nil || string(got) != "ping" {
		t.Errorf("got %q, %v", got, err)
	}
	if !p.Running() || p.State() != "running" {
		t.Errorf("it is %s", p.State())
	}
	if parent, err := Parent(p.PID()); err != nil || parent != os.Getpid() {
		t.Errorf("parent %d, %v; want %d", parent, err, os.Getpid())
	}
	children, err := Children(os.Getpid())
	if err != nil || !slices.ContainsFunc(children, func(c Child) bool { return c.PID == p.PID() }) {
		t.Errorf("children %v, %v; want %d among them", children, err, p.PID())
	}
	if err := p.Stop(t.Context(), time.Minute); err != nil || p.State() != "exit status 0" {
		t.Errorf("%v, %s", err, p.State())
	}
	if got := Tail(words); got != "no\n" {
		t.Errorf("words %q", got)
	}

	p, err = Start(exec.Command("sleep", "1000"), words)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(t.Context(), 0); err != nil || p.State() != "signal: killed" {
		t.Errorf("%v, %s", err, p.State())
	}
	if _, err := Start(exec.Command("/no/such/program"), words); err == nil {
		t.Error("started what is not there")
	}
}

// TestApart looks from a thread apart and from outside at a hidden directory.
func TestApart(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("namespaces need root")
	}
	holder := exec.Command("sleep", "1000") // of another network namespace
	holder.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	defer holder.Wait()
	defer holder.Process.Kill()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	err = Apart(fmt.Sprintf("/proc/%d/ns/net", holder.Process.Pid), func() error {
		if unix.Gettid() == os.Getpid() {
			return errors.New("on the first thread")
		}
		if err := errors.Join(Hide(dir), FreshSysfs()); err != nil {
			return err
		}
		if _, err := os.Stat(file); err == nil {
			return errors.New("the hidden directory shows its file")
		}
		if out, err := exec.Command("ls", dir).Output(); err != nil || len(out) > 0 {
			return fmt.Errorf("a process born there sees %q, %v", out, err)
		}
		devices, err := os.ReadDir("/sys/class/net")
		if err != nil {
			return err
		}
		for _, d := range devices { // a new namespace has but loopback and fallback tunnels
			if strings.HasPrefix(d.Name(), "e") || strings.HasPrefix(d.Name(), "veth") {
				return fmt.Errorf("the fresh sysfs shows the host's device %s", d.Name())
			}
		}
		groups, err := os.ReadDir("/sys/fs/cgroup")
		if err != nil || len(groups) == 0 {
			return fmt.Errorf("control groups are not mounted again: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	after, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(after), "\n") {
		if !strings.Contains(string(before), line) && strings.Contains(line, dir) {
			t.Errorf("a mount got out: %s", line)
		}
	}
	if err := Apart("/no/such/namespace", func() error { return nil }); err == nil {
		t.Error("entered a namespace that is not there")
	}
}
