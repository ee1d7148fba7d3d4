package vm_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/guest/agent"
	"tare/internal/guest/serial"
	"tare/internal/platform/launch"
	"tare/internal/platform/platformtest"
	"tare/internal/platform/vm"
)

// The guest of monitors that start an ELF kernel, share a read-only root and have
// one serial line: unpacked from the golden image, booted by QEMU, whose emulation
// knows the same entry (PVH), disks on PCI or mapped into memory and announced by
// ACPI, and UART.
func TestGuestByPVH(t *testing.T) {
	if _, err := launch.Program(vm.QEMU); err != nil {
		t.Fatalf("%v: ./test installs it", err)
	}
	image := platformtest.Image(t)
	root, err := image.Disk(t.Context())
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	kernel, initrd, err := vm.Boot(t.Context(), bench.Env{Image: image, Dir: dir, AgentPath: platformtest.Agent(t)})
	if err != nil {
		t.Fatal(err)
	}
	if kernel, err = vm.Vmlinux(t.Context(), dir, kernel); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, machine, disk, net, bus string }{
		{"pci", "q35", "virtio-blk-pci", "virtio-net-pci,romfile=", ""},
		{"mmio", "microvm,acpi=on", "virtio-blk-device", "virtio-net-device", vm.BusMMIO},
	} {
		t.Run(c.name, func(t *testing.T) {
			disks := t.TempDir()
			if err := vm.Scratch(t.Context(), disks, vm.Raw, 64*bench.MiB); err != nil {
				t.Fatal(err)
			}
			if err := vm.Layer(t.Context(), disks); err != nil {
				t.Fatal(err)
			}
			guest := vm.Guest{
				Addr: netip.MustParsePrefix("10.0.2.15/24"), Gateway: netip.MustParseAddr("10.0.2.2"),
				Scratch: "/dev/vdb", Layer: "/dev/vdc", Port: "/dev/ttyS0", Bus: c.bus, Restart: true,
			}
			argv := []string{"-accel", "tcg,thread=multi", "-cpu", "max,-cx16", "-M", c.machine, "-m", "256M", "-nodefaults", "-no-user-config",
				"-display", "none", "-no-reboot", "-serial", "stdio", "-kernel", kernel, "-initrd", initrd,
				"-append", "console=ttyS0 quiet panic=-1 reboot=t" + hostTSC(t) + " " + guest.Args(), "-netdev", "user,id=net", "-device", c.net + ",netdev=net"}
			checkGuest(t, append(argv,
				"-drive", "if=none,id=root,format=raw,readonly=on,file.locking=off,file="+root, "-device", c.disk+",drive=root",
				"-drive", "if=none,id=scratch,format=raw,file="+filepath.Join(disks, "scratch.raw"), "-device", c.disk+",drive=scratch",
				"-drive", "if=none,id=layer,format=raw,file="+filepath.Join(disks, vm.LayerFile), "-device", c.disk+",drive=layer"))
		})
	}
}

// hostTSC tells the guest how fast its TSC is, which under emulation is the
// host's: an emulated microvm has nothing to measure it by, and on a busy host hangs
// where it tries.
func hostTSC(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^cpu MHz\s*: ([0-9.]+)$`).FindSubmatch(text)
	if m == nil {
		t.Skip("the host does not say how fast its TSC is")
	}
	mhz, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(" tsc_early_khz=%.0f", mhz*1000)
}

// checkGuest starts QEMU, speaks to the agent over its standard streams and expects
// what the layer and the line promise.
func checkGuest(t *testing.T, argv []string) {
	t.Helper()
	cmd := exec.Command(vm.QEMU, argv...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	process, err := launch.Start(cmd, filepath.Join(t.TempDir(), "words"))
	if err != nil {
		t.Fatal(err)
	}
	defer process.Kill()
	var console bytes.Buffer
	stream := serial.NewHost(process.Stream(), &console)
	defer stream.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	client, err := agent.Dial(ctx, stream)
	if err != nil {
		stream.Close()
		process.Kill()
		t.Fatalf("%v; QEMU is %s; the console: %q", err, process.State(), console.String())
	}
	if text := console.String(); !strings.Contains(text, "tare-agent") {
		t.Errorf("the console has %q", text)
	}
	noise := bytes.Repeat([]byte{0xf7, 2, 0, 1, '\r', '\n', 3, 4}, 1<<12)
	for _, c := range []struct {
		argv []string
		in   []byte
		want string
	}{
		{[]string{"rm", "/usr/bin/wc"}, nil, ""},
		{[]string{"sh", "-c", "echo here > /usr/bin/mark && cat /usr/bin/mark"}, nil, "here\n"},
		{[]string{"stat", "-f", "-c", "%T", "/", bench.ScratchDir}, nil, "overlayfs\next2/ext3\n"},
		{[]string{"sh", "-c", "echo '<2>tare: not on this line' > /dev/kmsg; cut -f1 /proc/sys/kernel/printk"}, nil, "1\n"},
		{[]string{"sha256sum"}, noise, fmt.Sprintf("%x  -\n", sha256.Sum256(noise))},
	} {
		out, err := client.Exec(ctx, bench.Command{Argv: c.argv, Stdin: c.in, Timeout: time.Minute})
		if err != nil {
			t.Fatalf("%q: %v", c.argv, err)
		}
		if out.Exit != 0 || string(out.Stdout) != c.want {
			t.Errorf("%q: exit %d, %q, %s; want %q", c.argv, out.Exit, out.Stdout, out.Stderr, c.want)
		}
	}
	// The agent ends with its stream's good-bye; the machine ends by a restart, and QEMU with it.
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	select {
	case <-process.Done():
	case <-time.After(time.Minute):
		t.Error("the machine does not end")
	}
}
