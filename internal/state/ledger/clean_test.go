package ledger

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/host/tree"
)

// TestMain lets the test binary play the run that dies, see die, and those that
// clean, remove one thing or hold a lock.
func TestMain(m *testing.M) {
	if os.Getenv("TARE_LEDGER_TEST_APART") != "" {
		if err := RemoveApart(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if path := os.Getenv("TARE_LEDGER_TEST_HOLD"); path != "" {
		if _, err := lockWithin(path, time.Minute); err == nil {
			fmt.Println("held")
			time.Sleep(time.Minute)
		}
		return
	}
	if state := os.Getenv("TARE_LEDGER_TEST_CLEAN"); state != "" {
		err := Clean(context.Background(), state, false, func(r Removed) { fmt.Println(said(r)) })
		if err != nil {
			fmt.Println(err)
		}
		return
	}
	if state := os.Getenv("TARE_LEDGER_TEST_STATE"); state != "" {
		if err := die(state, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// die registers the things, given as kind, name, kind, name, ..., says so and waits.
func die(state string, things []string) error {
	l, err := Open(state, "dead")
	if err != nil {
		return err
	}
	if os.Getenv("TARE_LEDGER_TEST_CHILD") != "" {
		child := exec.Command("sleep", "20") // which outlives it
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := child.Start(); err != nil {
			return err
		}
	}
	for i := 0; i < len(things); i += 2 {
		if err := l.Register(things[i], things[i+1]); err != nil {
			return err
		}
	}
	fmt.Println("registered")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// owner starts a process that registers the things; kill ends it.
func owner(t *testing.T, state string, things ...string) (kill func()) {
	t.Helper()
	return ownerBy(t, state, exec.Command(os.Args[0], things...))
}

// ownerBy is owner by a command that starts this program with the things.
func ownerBy(t *testing.T, state string, cmd *exec.Cmd) (kill func()) {
	t.Helper()
	cmd.Env = append(cmd.Environ(), "TARE_LEDGER_TEST_STATE="+state)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if said, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the owner said %q, %v", said, err)
	}
	kill = sync.OnceFunc(func() { cmd.Process.Kill(); cmd.Wait(); stdin.Close() })
	t.Cleanup(kill)
	return kill
}

func clean(t *testing.T, state string, force bool) ([]string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var list []string
	err := Clean(ctx, state, force, func(r Removed) { list = append(list, said(r)) })
	return list, err
}

func said(r Removed) string {
	word := "gone"
	switch {
	case r.Err != nil:
		word = "failed"
	case r.Left != "":
		word = "left"
	}
	return word + " " + r.Kind + " " + r.Name
}

// closed is a state directory that holds other things already.
func closed(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	must(t, os.Mkdir(dir, 0o700))
	return dir
}

func root(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making cgroups, mounts and namespaces needs root")
	}
}

func TestCleanRemovesEveryKind(t *testing.T) {
	root(t)
	state := closed(t)
	id := fmt.Sprintf("native-ledger-%d", os.Getpid())
	tap := fmt.Sprintf("nlt%d", os.Getpid())
	dir, mount, image := state+"/runs/dir", state+"/runs/dir/mount", state+"/image"
	netns := bench.RuntimeDir + "/" + id + "/lab"
	kill := owner(t, state, "dir", bench.RuntimeDir+"/"+id, "netns", netns, "tap", tap, "loop", image,
		"dir", dir, "mount", mount, "cgroup", id+"/a", "process", id)

	fs, err := cgroup.Detect()
	if err != nil {
		t.Skip(err)
	}
	group, _, err := fs.Create(id+"/a", cgroup.Limits{})
	must(t, err)
	// A marked process and its marked children, in a group that is cleaned too.
	cmd := exec.Command("sh", "-c", "sleep 1000 & sleep 1000 & wait")
	cmd.Env = append(os.Environ(), bench.ProcessMark+"="+id)
	must(t, cmd.Start())
	go cmd.Wait()
	must(t, group.Add(cmd.Process.Pid))
	innocent := exec.Command("sleep", "1000")
	innocent.Env = append(os.Environ(), bench.ProcessMark+"="+id+"-2", "X="+bench.ProcessMark+"="+id)
	must(t, innocent.Start())
	defer innocent.Wait()
	defer innocent.Process.Kill()

	must(t, os.MkdirAll(mount, 0o755))
	must(t, unix.Mount("tmpfs", mount, "tmpfs", 0, ""))
	must(t, unix.Mount("tmpfs", mount, "tmpfs", 0, "")) // stacked
	busy, err := os.Create(mount + "/busy")
	must(t, err)
	defer busy.Close()
	must(t, os.WriteFile(image, make([]byte, 1<<20), 0o644))
	loop, err := exec.Command("losetup", "--find", "--show", image).CombinedOutput()
	if err != nil {
		t.Fatalf("losetup: %v: %s", err, loop)
	}
	must(t, netlink.LinkAdd(&netlink.Tuntap{LinkAttrs: netlink.LinkAttrs{Name: tap}, Mode: netlink.TUNTAP_MODE_TAP}))
	must(t, os.MkdirAll(filepath.Dir(netns), 0o755))
	must(t, os.WriteFile(netns, nil, 0o444))
	out, err := exec.Command("unshare", "--net="+netns, "true").CombinedOutput()
	if err != nil {
		t.Fatalf("unshare: %v: %s", err, out)
	}

	if list, err := clean(t, state, false); err != nil || len(list) > 0 {
		t.Fatalf("the owner lives, and yet: %q, %v", list, err)
	}
	kill()
	list, err := clean(t, state, false)
	if err != nil {
		t.Error(err)
	}
	want := []string{
		"gone process " + id, "gone cgroup " + id + "/a", "gone mount " + mount, "gone loop " + image,
		"gone tap " + tap, "gone netns " + netns, "gone dir " + dir, "gone dir " + bench.RuntimeDir + "/" + id,
	}
	if fmt.Sprint(list) != fmt.Sprint(want) {
		t.Errorf("removed %q, want %q", list, want)
	}
	for _, path := range append([]string{dir, filepath.Dir(netns), "/sys/class/net/" + tap,
		filepath.Join("/sys/block", filepath.Base(strings.TrimSpace(string(loop))), "loop")}, values(group.Dirs())...) {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
	mounts, err := tree.Mounts(state)
	if err != nil || len(mounts) > 0 {
		t.Errorf("mounts are left: %v, %v", mounts, err)
	}
	if marks, err := marked([]byte(bench.ProcessMark + "=" + id)); err != nil || len(marks) > 0 {
		t.Errorf("processes are left: %v, %v", marks, err)
	}
	if err := innocent.Process.Signal(unix.Signal(0)); err != nil {
		t.Errorf("a process with another mark was hit: %v", err)
	}
	if list, err := clean(t, state, false); err != nil || len(list) > 0 {
		t.Errorf("cleaned again: %q, %v", list, err)
	}
}

func values(m map[string]string) (list []string) {
	for _, v := range m {
		list = append(list, v)
	}
	return list
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Nothing is removed through a symbolic link, whatever its kind, nor a directory
// with a mount in it, and the entry stays until it can be.
func TestCleanRefusesDangerousDirs(t *testing.T) {
	root(t)
	state, precious := closed(t), t.TempDir()
	must(t, os.WriteFile(precious+"/file", nil, 0o644))
	must(t, os.Mkdir(precious+"/sub", 0o755))
	must(t, os.MkdirAll(precious+"/sys/kernel/mm/transparent_hugepage", 0o755))
	setting := "/sys/kernel/mm/transparent_hugepage/enabled"
	must(t, os.WriteFile(precious+setting, []byte("theirs"), 0o644))
	must(t, os.Mkdir(precious+"/mount", 0o755))
	must(t, unix.Mount("tmpfs", precious+"/mount", "tmpfs", 0, ""))
	defer unix.Unmount(precious+"/mount", unix.MNT_DETACH)
	must(t, os.WriteFile(precious+"/swap", make([]byte, 4<<20), 0o600))
	if out, err := exec.Command("/sbin/mkswap", precious+"/swap").CombinedOutput(); err != nil {
		t.Fatalf("mkswap: %v: %s", err, out)
	}
	swap, err := unix.BytePtrFromString(precious + "/swap")
	must(t, err)
	_, _, swapped := unix.Syscall(unix.SYS_SWAPON, uintptr(unsafe.Pointer(swap)), 0, 0)
	defer unix.Syscall(unix.SYS_SWAPOFF, uintptr(unsafe.Pointer(swap)), 0, 0)
	must(t, os.WriteFile(precious+"/image", make([]byte, 1<<20), 0o644))
	loop, err := exec.Command("losetup", "--find", "--show", precious+"/image").Output()
	must(t, err)
	device := strings.TrimSpace(string(loop))
	defer exec.Command("losetup", "--detach", device).Run()

	must(t, os.Symlink(precious, state+"/link"))
	must(t, os.Symlink(precious+"/swap", state+"/swap"))
	must(t, os.Symlink(precious+"/mount", state+"/mount"))
	must(t, os.MkdirAll(state+"/sys/kernel/mm", 0o755))
	must(t, os.Symlink(precious+filepath.Dir(setting), state+filepath.Dir(setting)))
	must(t, os.MkdirAll(state+"/mounted/here", 0o755))
	must(t, unix.Mount(precious, state+"/mounted/here", "", unix.MS_BIND, ""))
	defer unix.Unmount(state+"/mounted/here", unix.MNT_DETACH)
	must(t, os.MkdirAll(state+"/plain/deep", 0o755))
	must(t, os.Symlink(precious, state+"/plain/deep/link"))
	things := []string{"dir", state + "/link", "dir", state + "/link/sub", "dir", state + "/mounted", "dir", state + "/plain",
		"setting", bench.SettingName(state+setting, "never"), "setting", bench.SettingName(state+"/link"+setting, "never"),
		"netns", state + "/link/file", "loop", state + "/link/image", "mount", state + "/link/mount", "mount", state + "/mount",
		"swap", state + "/link/swap", "swap", state + "/swap"}
	owner(t, state, things...)()

	list, err := clean(t, state, false)
	want := []string{"failed swap " + state + "/swap", "failed swap " + state + "/link/swap",
		"gone mount " + state + "/mount", // which is not a mount
		"failed mount " + state + "/link/mount", "failed loop " + state + "/link/image", "failed netns " + state + "/link/file",
		"gone dir " + state + "/plain", "failed dir " + state + "/mounted", "failed dir " + state + "/link/sub", "failed dir " + state + "/link",
		"failed setting " + bench.SettingName(state+"/link"+setting, "never"), "failed setting " + bench.SettingName(state+setting, "never")}
	if d := cmp.Diff(want, list); d != "" {
		t.Error(d)
	}
	if bench.HintOf(err) == "" || !strings.Contains(err.Error(), "mounted/here") {
		t.Errorf("%v, hint %q", err, bench.HintOf(err))
	}
	for _, p := range []string{"/file", "/sub", "/image", "/swap"} {
		if _, err := os.Stat(precious + p); err != nil {
			t.Errorf("what others own is gone: %v", err)
		}
	}
	if text, err := os.ReadFile(precious + setting); err != nil || string(text) != "theirs" {
		t.Errorf("what others own was written: %q, %v", text, err)
	}
	if mounts, err := tree.Mounts(precious + "/mount"); err != nil || len(mounts) != 1 {
		t.Errorf("what others have mounted is gone: %q, %v", mounts, err)
	}
	if _, err := os.Stat("/sys/block/" + filepath.Base(device) + "/loop/backing_file"); err != nil {
		t.Errorf("the loop device of others is free: %v", err)
	}
	if text, err := os.ReadFile("/proc/swaps"); swapped == 0 && (err != nil || !strings.Contains(string(text), precious)) {
		t.Errorf("the swap space of others is out of use: %s, %v", text, err)
	}
	must(t, unix.Unmount(state+"/mounted/here", 0))
	if list, _ := clean(t, state, false); !slices.Contains(list, "gone dir "+state+"/mounted") {
		t.Errorf("cleaned again after the mount was taken off: %q", list)
	}
}

func TestCleanForce(t *testing.T) {
	state := closed(t)
	must(t, os.Mkdir(state+"/theirs", 0o755))
	must(t, os.Mkdir(state+"/mine", 0o755))
	owner(t, state, "dir", state+"/theirs")
	l, err := Open(state, "alive")
	must(t, err)
	must(t, l.Register(bench.KindDir, state+"/mine"))
	list, err := clean(t, state, true)
	if err != nil || len(list) != 1 || list[0] != "gone dir "+state+"/theirs" {
		t.Errorf("%q, %v", list, err)
	}
	if _, err := os.Stat(state + "/mine"); err != nil {
		t.Error(err)
	}
}

// After a reboot only what lies on disk is left, whatever has the old names now.
func TestCleanAfterReboot(t *testing.T) {
	state := closed(t)
	must(t, os.Mkdir(state+"/d", 0o755))
	id := fmt.Sprintf("native-reboot-%d", os.Getpid())
	cmd := exec.Command("sleep", "1000")
	cmd.Env = append(os.Environ(), bench.ProcessMark+"="+id)
	must(t, cmd.Start())
	defer cmd.Wait()
	defer cmd.Process.Kill()
	text := line("register", "process", id) + line("register", "dir", state+"/d") + "garbage\n" + line("register", "cgroup", id)
	must(t, os.WriteFile(filepath.Join(state, fileName), []byte(text), 0o644))
	list, err := clean(t, state, false)
	if err == nil || !strings.Contains(err.Error(), fileName+":3:") || bench.HintOf(err) == "" {
		t.Errorf("the corrupt line: %v, hint %q", err, bench.HintOf(err))
	}
	if len(list) != 3 {
		t.Errorf("%q", list)
	}
	if err := cmd.Process.Signal(unix.Signal(0)); err != nil {
		t.Errorf("a process of this boot was hit: %v", err)
	}
	if _, err := os.Stat(state + "/d"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is left: %v", err)
	}
	aside, err := os.ReadFile(filepath.Join(state, corruptName))
	if err != nil || string(aside) != "garbage\n" {
		t.Errorf("set aside: %q, %v", aside, err)
	}
	if list, err := clean(t, state, false); err != nil || len(list) > 0 {
		t.Errorf("cleaned again: %q, %v", list, err)
	}
}

// Processes that add to the ledger while it is cleaned lose nothing.
func TestConcurrentUse(t *testing.T) {
	state := closed(t)
	var group sync.WaitGroup
	for w := range 4 {
		group.Go(func() {
			l, err := Open(state, "r")
			if err != nil {
				t.Error(err)
				return
			}
			for i := range 25 {
				name := fmt.Sprintf("w%d-%d", w, i)
				err := l.Register(bench.KindProcess, name)
				if i%2 == 1 {
					err = errors.Join(err, l.Release(bench.KindProcess, name))
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 10 {
		if list, err := clean(t, state, false); err != nil || len(list) > 0 {
			t.Errorf("%q, %v", list, err)
		}
	}
	group.Wait()
	l, err := Open(state, "r")
	must(t, err)
	if held, err := l.Held(); err != nil || len(held) != 4*13 {
		t.Errorf("%d held, want 52; %v", len(held), err)
	}
}

func TestCleanWithoutLedger(t *testing.T) {
	if list, err := clean(t, t.TempDir()+"/none", false); err != nil || len(list) > 0 {
		t.Errorf("%q, %v", list, err)
	}
}

// Killing goes on until no marked process is left, also when they multiply.
func TestKillMarkedWhileForking(t *testing.T) {
	id := fmt.Sprintf("native-forker-%d", os.Getpid())
	// Each generation starts the next in a new session and ends; five at a time.
	cmd := exec.Command("sh", "-c", `n() { while :; do setsid sh -c 'sleep 0.05; sleep 100' & sleep 0.02; done; }; n`)
	cmd.Env = append(os.Environ(), bench.ProcessMark+"="+id)
	must(t, cmd.Start())
	go cmd.Wait()
	time.Sleep(200 * time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	must(t, killMarked(ctx, id))
	if left, err := marked([]byte(bench.ProcessMark + "=" + id)); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func BenchmarkRegister(b *testing.B) {
	l, err := Open(b.TempDir(), "r")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := errors.Join(l.Register(bench.KindProcess, "x"), l.Release(bench.KindProcess, "x")); err != nil {
			b.Fatal(err)
		}
	}
}

// What is dead is known without a look at it, and what lives is not among it.
func TestDeadAreTheThingsWhoseOwnerHasEnded(t *testing.T) {
	state := closed(t)
	owner(t, state, "kubejob", "https://a:1 n/tare-living living /k")
	kill := owner(t, state, "kubejob", "https://a:1 n/tare-dead dead /k")
	list, err := Cleaner{Dir: state}.Dead()
	if err != nil || len(list) > 0 {
		t.Errorf("while both live: %+v, %v", list, err)
	}
	kill()
	list, err = Cleaner{Dir: state}.Dead()
	if err != nil || len(list) != 1 || list[0].Kind != bench.KindJob || !strings.Contains(list[0].Name, "tare-dead") {
		t.Errorf("%+v, %v", list, err)
	}
}
