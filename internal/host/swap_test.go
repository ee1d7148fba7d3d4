package host

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/host/proc"
)

const swapsHead = "Filename Type Size Used Priority\n"

func TestSwapOfItsOwnIsUsed(t *testing.T) {
	root := machine(t)
	if c := Controls(root, "/")[bench.CondSwap]; !strings.Contains(c.Why, "/proc/swaps") {
		t.Errorf("a kernel that cannot swap: %+v", c)
	}
	place(t, root, swapsFile, swapsHead+"/dev/dm-1 partition 1048576 524288 -2")
	c := Controls(root, "/")[bench.CondSwap]
	if c.Own != 512*bench.MiB || c.Why != "" || (c.Room > 0) == (c.NoRoom != "") {
		t.Errorf("%+v", c)
	}
	led := &book{t: t}
	restore, err := Set(root, "/", led, map[string]string{"swap": "512MiB"})
	if err != nil || len(led.held) != 0 {
		t.Fatalf("%v, registered %v", err, led.held)
	}
	if err := restore(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(root, swapFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was made: %v", err)
	}
}

// things is a ledger of any kinds.
type things []string

func (l *things) Register(kind, name string) error {
	if _, err := os.Stat(name); err == nil {
		return errors.New(name + " is there before it is registered")
	}
	*l = append(*l, kind+" "+name)
	return nil
}

func (l *things) Release(kind, name string) error {
	*l = (*l)[1:]
	return nil
}

// swapped adds swap space to this host for the test.
func swapped(t *testing.T, size string) (dir string, led *things, restore func() error) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("swap space needs root")
	}
	dir, led = t.TempDir(), &things{}
	if why := Controls("/", dir)[bench.CondSwap].Refuses(bench.CondSwap, size); why != "" {
		t.Skip(why)
	}
	restore, err := Set("/", dir, led, map[string]string{"swap": size})
	if errors.Is(err, unix.EPERM) {
		t.Skip(err) // in a container
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = restore() })
	return dir, led, restore
}

func spaces(t *testing.T) (paths []string) {
	t.Helper()
	text, err := os.ReadFile("/proc/swaps")
	if err != nil {
		t.Fatal(err)
	}
	all, err := proc.ParseSwaps(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		paths = append(paths, s.Path)
	}
	return paths
}

// A group with 32 MiB of memory and 32 MiB of swap holds 48 MiB, and not 96.
func TestSwapLimitInForce(t *testing.T) {
	dir, led, restore := swapped(t, "128MiB")
	if path := filepath.Join(dir, swapFile); len(*led) > 0 && !strings.Contains(strings.Join(spaces(t), " "), path) {
		t.Fatalf("%s is not in use: %v", path, spaces(t))
	}
	for mib, killed := range map[int]bool{24: false, 48: false, 96: true} {
		if got := holds(t, bench.Bytes(mib)*bench.MiB); got == killed {
			t.Errorf("%d MiB in 32 MiB of memory and 32 MiB of swap: held is %v", mib, got)
		}
	}
	if err := restore(); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 || len(*led) > 0 || strings.Contains(strings.Join(spaces(t), " "), dir) {
		t.Errorf("left: %v, %v, %v", left, *led, spaces(t))
	}
}

// holds reports whether a program with the given memory survives in the group.
func holds(t *testing.T, size bench.Bytes) bool {
	t.Helper()
	fs, err := cgroup.Detect()
	if err != nil {
		t.Skip(err)
	}
	g, missing, err := fs.Create("host-test-swap/"+strconv.Itoa(int(size/bench.MiB)), cgroup.Limits{Memory: 32 * bench.MiB, Swap: 32 * bench.MiB})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := g.End(ctx); err != nil {
			t.Error(err)
		}
	}()
	if len(missing) > 0 {
		t.Skipf("this host has no control group for: %v", missing)
	}
	// dd allocates a buffer of the size and fills it.
	cmd := exec.Command("sh", "-c", `read go; exec dd if=/dev/zero of=/dev/null count=1 bs=`+strconv.FormatInt(int64(size), 10))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := g.Add(cmd.Process.Pid); err != nil {
		cmd.Process.Kill()
		t.Fatal(err)
	}
	if _, err := in.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	return true
}
