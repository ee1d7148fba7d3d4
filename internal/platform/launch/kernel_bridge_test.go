package launch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestModuleCovered looks for the module apart and outside, in a copy of the
// host's libraries that has one.
func TestModuleCovered(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("namespaces need root")
	}
	if os.Getenv("TARE_TEST_INSIDE") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestModuleCovered$", "-test.v")
		cmd.Env = append(os.Environ(), "TARE_TEST_INSIDE=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	file := ownModules(t) + "/kernel/net/bridge/br_netfilter.ko.xz"
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("a module"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := Apart("/proc/self/ns/net", func() error {
		if text, err := os.ReadFile(file); err != nil || len(text) > 0 {
			return fmt.Errorf("a thread apart finds %q, %v", text, err)
		}
		if out, err := exec.Command("cat", file).Output(); err != nil || len(out) > 0 {
			return fmt.Errorf("a process born there finds %q, %v", out, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "a module" {
		t.Errorf("the host finds %q, %v", text, err)
	}
}

// ownModules is the directory of the running kernel's modules, with a layer of
// this mount namespace's over the host's libraries.
func ownModules(t *testing.T) string {
	lib, err := filepath.EvalSymlinks("/lib")
	if err != nil {
		t.Fatal(err)
	}
	layer := t.TempDir()
	err = unix.Mount("tare-test", layer, "tmpfs", 0, "")
	for _, dir := range []string{"upper", "work"} {
		err = errors.Join(err, os.Mkdir(filepath.Join(layer, dir), 0o755))
	}
	if err == nil {
		err = unix.Mount("tare-test", lib, "overlay", 0, fmt.Sprintf("lowerdir=%s,upperdir=%[2]s/upper,workdir=%[2]s/work", lib, layer))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(unix.Unmount(lib, unix.MNT_DETACH), unix.Unmount(layer, unix.MNT_DETACH)); err != nil {
			t.Error(err)
		}
	})
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		t.Fatal(err)
	}
	return "/lib/modules/" + unix.ByteSliceToString(uts.Release[:])
}
