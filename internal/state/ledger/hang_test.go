package ledger

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/tool"
)

// The requests of ioctl(2) by which a file system is frozen and thawed (linux/fs.h).
const (
	fiFreeze = 0xC0045877
	fiThaw   = 0xC0045878
)

// frozen mounts a small file system at the directory and returns what freezes
// and what thaws it: between the two, whoever writes to it waits in the kernel.
func frozen(t *testing.T, dir string) (freeze, thaw func()) {
	t.Helper()
	image := filepath.Join(t.TempDir(), "image")
	must(t, os.WriteFile(image, nil, 0o600))
	must(t, os.Truncate(image, 32<<20))
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", image).CombinedOutput(); err != nil {
		t.Skipf("mkfs.ext4: %v: %s", err, out)
	}
	if out, err := exec.Command("mount", "-o", "loop", image, dir).CombinedOutput(); err != nil {
		t.Skipf("mount: %v: %s", err, out)
	}
	d, err := os.Open(dir)
	must(t, err)
	thaw = func() { unix.IoctlSetInt(int(d.Fd()), fiThaw, 0) }
	t.Cleanup(func() {
		thaw()
		d.Close()
		for range 100 {
			if err = unix.Unmount(dir, 0); !errors.Is(err, unix.EBUSY) {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		if err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return func() { must(t, unix.IoctlSetInt(int(d.Fd()), fiFreeze, 0)) }, thaw
}

// Directories of launches are given up as well, and removed once their disk answers.
func TestRemoveDirs(t *testing.T) {
	root(t)
	for name, apart := range map[string][]string{
		"apart": {"/usr/bin/env", "TARE_LEDGER_TEST_APART=1", os.Args[0]}, "in this process": nil,
	} {
		t.Run(name, func(t *testing.T) {
			state := closed(t)
			must(t, os.MkdirAll(state+"/disk", 0o755))
			freeze, thaw := frozen(t, state+"/disk")
			for _, dir := range []string{"a/deep", "b", "c"} {
				must(t, os.MkdirAll(state+"/disk/"+dir, 0o755))
			}
			c := Cleaner{Dir: state, Apart: apart}
			must(t, c.RemoveDirs(t.Context()))
			must(t, c.RemoveDirs(t.Context(), state+"/disk/a", state+"/disk/b", state+"/disk/none"))
			freeze()
			c.limit = time.Second
			if err := c.RemoveDirs(t.Context(), state+"/disk/c"); !errors.Is(err, tool.ErrLate) || bench.HintOf(err) == "" {
				t.Errorf("frozen: %v, hint %q", err, bench.HintOf(err))
			}
			thaw()
			c.limit = 0
			elsewhere := t.TempDir()
			err := c.RemoveDirs(t.Context(), elsewhere, state+"/disk/c")
			if err == nil || err.Error() != "remove "+elsewhere+": outside "+state+" and "+bench.RuntimeDir {
				t.Errorf("another's directory: %v", err)
			}
			if _, err := os.Stat(elsewhere); err != nil {
				t.Error(err)
			}
			for _, dir := range []string{"a", "b", "c"} {
				if _, err := os.Stat(state + "/disk/" + dir); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s is left: %v", dir, err)
				}
			}
		})
	}
}

// One process and one directory that hang in the kernel hold up neither the
// removal of anything else nor the next run: each is given up at its deadline.
func TestCleanGoesOnPastWhatHangs(t *testing.T) {
	root(t)
	for name, apart := range map[string][]string{
		"apart": {"/usr/bin/env", "TARE_LEDGER_TEST_APART=1", os.Args[0]}, "in this process": nil,
	} {
		t.Run(name, func(t *testing.T) {
			state := closed(t)
			must(t, os.MkdirAll(state+"/disk", 0o755))
			freeze, thaw := frozen(t, state+"/disk")
			must(t, os.MkdirAll(state+"/disk/tree/deep", 0o755))
			must(t, os.Mkdir(state+"/other", 0o755))
			id := fmt.Sprintf("native-hang-%d", os.Getpid())
			owner(t, state, "dir", state+"/other", "dir", state+"/disk/tree", "process", id)()
			freeze()
			marked := func(args ...string) *exec.Cmd {
				cmd := exec.Command(args[0], args[1:]...)
				cmd.Env = append(os.Environ(), bench.ProcessMark+"="+id)
				must(t, cmd.Start())
				return cmd
			}
			dd := marked("dd", "if=/dev/zero", "of="+state+"/disk/file", "bs=64k", "count=4")
			defer dd.Wait()
			defer thaw()
			well := marked("sleep", "1000") // after it, so that its number is looked at later
			ended := make(chan error, 1)
			go func() { ended <- well.Wait() }()
			for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
				if _, st, err := startOf(fmt.Sprint(dd.Process.Pid)); err == nil && st == "D" {
					break
				} else if time.Now().After(deadline) {
					t.Skipf("dd does not hang: state %s, %v", st, err)
				}
			}

			var list []string
			began := time.Now()
			err := Cleaner{Dir: state, Apart: apart, limit: time.Second}.Clean(t.Context(), func(r Removed) { list = append(list, said(r)) })
			took := time.Since(began)
			want := []string{"failed process " + id, "failed dir " + state + "/disk/tree", "gone dir " + state + "/other"}
			if fmt.Sprint(list) != fmt.Sprint(want) || !errors.Is(err, tool.ErrLate) {
				t.Errorf("%q, %v, want %q", list, err, want)
			}
			if took > 15*time.Second {
				t.Errorf("it took %v", took)
			}
			if !strings.Contains(err.Error(), fmt.Sprintf("process %d", dd.Process.Pid)) {
				t.Errorf("%v does not name process %d", err, dd.Process.Pid)
			}
			select {
			case <-ended:
			case <-time.After(10 * time.Second):
				well.Process.Kill()
				t.Error("the process that does not hang is left, since another does")
			}
			t.Logf("%v: %v", took.Round(time.Millisecond), err)

			thaw()
			dd.Wait()
			for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
				list, err = clean(t, state, false)
				if err == nil || time.Now().After(deadline) {
					break
				}
			}
			if err != nil {
				t.Errorf("after it: %q, %v", list, err)
			}
			if _, err := os.Stat(state + "/disk/tree"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("left: %v", err)
			}
		})
	}
}

// A lock that another process does not give back is an error that names it.
func TestLockNamesItsHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), lockName)
	hold := func() (*exec.Cmd, io.Reader) { // or wait for it
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "TARE_LEDGER_TEST_HOLD="+path)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		return cmd, out
	}
	holder, out := hold()
	if said, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("it said %q, %v", said, err)
	}
	hold()
	began := time.Now()
	_, err := lockWithin(path, 300*time.Millisecond)
	want := fmt.Sprintf("held by process %d (", holder.Process.Pid)
	if !errors.Is(err, tool.ErrLate) || !strings.Contains(err.Error(), want) || bench.HintOf(err) == "" || time.Since(began) > 10*time.Second {
		t.Errorf("%v after %v, want %q", err, time.Since(began), want)
	}
	unlock, err := lockWithin(filepath.Join(t.TempDir(), lockName), 0)
	must(t, err)
	unlock()
}

func TestLockers(t *testing.T) {
	// Captured from /proc/locks, but for the numbers.
	const locks = `1: FLOCK  ADVISORY  WRITE 4242 fd:01:131 0 EOF
1: -> FLOCK  ADVISORY  WRITE 4343 fd:01:131 0 EOF
2: POSIX  ADVISORY  WRITE 17 fd:01:131 0 EOF
3: OFDLCK ADVISORY  WRITE -1 fd:01:131 1 1
4: FLOCK  ADVISORY  READ  0 fd:01:131 0 EOF
5: FLOCK  ADVISORY  READ  18 fd:01:1131 0 EOF
`
	if got := lockers(locks, 131); fmt.Sprint(got) != "[4242]" {
		t.Errorf("%v hold it, want 4242", got)
	}
}

func FuzzLockers(f *testing.F) {
	f.Add("1: FLOCK  ADVISORY  WRITE 4242 fd:01:131 0 EOF\n", uint64(131))
	f.Add("1: -> FLOCK\n\n1: FLOCK", uint64(0))
	f.Fuzz(func(t *testing.T, text string, inode uint64) {
		for _, pid := range lockers(text, inode) {
			if pid <= 0 {
				t.Errorf("process %d", pid)
			}
		}
	})
}
