package cgroup

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestInGuest repeats this package's tests on a kernel with all controllers in v2, which this host
// may not have. It boots an emulated machine with the golden image's kernel and nothing but this
// test binary.
func TestInGuest(t *testing.T) {
	if testing.Short() {
		t.Skip("boots a virtual machine, which -short leaves out")
	}
	if os.Getpid() == 1 {
		t.Skip("this is the guest")
	}
	for _, program := range []string{"qemu-system-x86_64", "cpio", "go"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v: ./test installs it", err)
		}
	}
	kernels, err := filepath.Glob("/var/lib/tare/images/*/kernel/boot/vmlinuz-*")
	if err != nil || len(kernels) == 0 {
		t.Skip("no guest kernel: the golden image is not built")
	}
	dir := t.TempDir()
	build := exec.Command("go", "test", "-c", "-o", filepath.Join(dir, "init"), ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	pack := exec.Command("cpio", "--create", "--format=newc", "--quiet", "-R", "0:0")
	pack.Dir, pack.Stdin = dir, strings.NewReader("init\n")
	archive, err := pack.Output()
	if err != nil {
		t.Fatalf("cpio: %v", err)
	}
	initrd := filepath.Join(dir, "initrd")
	if err := os.WriteFile(initrd, archive, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	qemu := exec.CommandContext(ctx, "qemu-system-x86_64", "-accel", "tcg,thread=single", "-cpu", "max", "-machine", "q35",
		"-smp", "2", "-m", "768", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-serial", "stdio",
		"-kernel", kernels[0], "-initrd", initrd,
		"-append", "console=ttyS0 quiet panic=-1 -- -test.v -test.skip=^TestInGuest$")
	var console bytes.Buffer
	qemu.Stdout, qemu.Stderr = &console, &console
	err = qemu.Run()
	said := strings.ReplaceAll(console.String(), "\r", "")
	if err != nil || !strings.Contains(said, guestExit+" 0\n") {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, test := range []string{"TestCreateOnThisHost", "TestMembershipOnThisHost", "TestMemoryLimitKills", "TestQuotaHolds", "TestFreeze", "TestRefusedCPUSetLeavesNothing", "TestBornInGroup",
		"TestTopPutBack", "TestTopPutBackAfterKill", "TestTopLeavesOthers", "TestTopHeld"} {
		if !strings.Contains(said, "--- PASS: "+test+" ") {
			t.Errorf("%s did not pass in the guest:\n%s", test, said)
		}
	}
}
