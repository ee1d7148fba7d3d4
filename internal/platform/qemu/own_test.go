package qemu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/bench"
	"tare/internal/platform/launch"
	"tare/internal/platform/vm/vmtest"
)

// ownLaunch is one of a machine without an agent.
func ownLaunch(t testing.TB, g *engine, id string, k *bench.OwnKernel) bench.Launch {
	l := aLaunch(t, g, id)
	l.Options[bench.GuestOption], l.Own, l.Shape.CPUs = bench.OwnGuest, k, 1
	return l
}

// A machine without an agent boots the user's kernel, serves at its address and has no disk; its
// stream ends with it, and nothing of it is left.
func TestAMachineWithoutAnAgentServes(t *testing.T) {
	g := run(t, "qemu-own")
	i := startOwn(t, g, ownLaunch(t, g, "a", vmtest.Served(t, g.env)))
	if got, err := vmtest.Ask(t.Context(), g.env.Testnet, i.Addr()); err != nil || got != vmtest.Answer {
		t.Fatalf("it answers %q, %v; its log:\n%s", got, err, i.Log())
	}
	if argv := strings.Join(i.Command(), " "); strings.Contains(argv, "virtio-blk") || strings.Contains(argv, "virtserialport") || !strings.Contains(argv, "address="+i.Addr().String()+"/") {
		t.Errorf("command %s", argv)
	}
	scope, err := i.Scope()
	if err != nil || !scope.OwnKernel || len(scope.NetDevs) != 1 || len(scope.Helpers) == 0 {
		t.Errorf("scope %+v, %v", scope, err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := i.Stream().Read(make([]byte, 1))
		ended <- err
	}()
	select {
	case err := <-ended:
		t.Fatalf("the stream of a machine that runs ended: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	if err := i.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, io.EOF) {
		t.Errorf("the stream of a machine that was killed: %v", err)
	}
	if log := i.Log(); !strings.Contains(log, "served: listening") || !strings.Contains(log, "killed") {
		t.Errorf("log:\n%s", log)
	}
}

// A machine without an agent has the user's disk, and what it writes to it ends with it.
func TestADiskOfAMachineWithoutAnAgent(t *testing.T) {
	g := run(t, "qemu-own-disk")
	k := vmtest.Served(t, g.env)
	k.Disk = &bench.BootFile{Path: vmtest.Disk(t)}
	k.Append += " disk=/dev/vda"
	for _, id := range []string{"a", "b"} {
		i := startOwn(t, g, ownLaunch(t, g, id, k))
		if got, err := vmtest.Ask(t.Context(), g.env.Testnet, i.Addr()); err != nil || got != vmtest.Answer {
			t.Fatalf("it answers %q, %v; its log:\n%s", got, err, i.Log())
		}
		if want := fmt.Sprintf("served: disk begins with %q", vmtest.DiskHead); !strings.Contains(i.Log(), want) {
			t.Errorf("no %s in log:\n%s", want, i.Log())
		}
	}
}

func startOwn(t testing.TB, g *engine, l bench.Launch) *instance {
	t.Helper()
	started, err := g.Start(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := started.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return started.(*instance)
}

// A kernel that panics ends the stream with the panic's own line; one that QEMU cannot load ends
// with QEMU's words.
func TestAMachineWithoutAnAgentThatEnds(t *testing.T) {
	g := run(t, "qemu-own-end")
	k := vmtest.Served(t, g.env)
	lost := *k
	lost.Append = strings.Replace(lost.Append, "address={address}", "address=nonsense", 1)
	i := startOwn(t, g, ownLaunch(t, g, "a", &lost))
	_, err := i.Stream().Read(make([]byte, 1))
	var fatal *launch.Fatal
	if !errors.As(err, &fatal) || !strings.Contains(err.Error(), "Kernel panic - not syncing: Attempted to kill init") {
		t.Errorf("%v; log:\n%s", err, i.Log())
	}
	if log := i.Log(); !strings.Contains(log, `address "nonsense/`) {
		t.Errorf("log:\n%s", log)
	}

	none := *k
	none.Kernel.Path = filepath.Join(g.env.Dir, "no-kernel")
	if err := os.WriteFile(none.Kernel.Path, []byte("\x7fELF\x02\x01\x01 and nothing more that a monitor could start"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := ownLaunch(t, g, "b", &none)
	words := ""
	if started, err := g.Start(t.Context(), l); err != nil {
		words = err.Error()
	} else { // it connects before it loads
		_, err := started.Stream().Read(make([]byte, 1))
		words = fmt.Sprintf("%v; log:\n%s", err, started.Log())
		if err := started.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if !strings.Contains(words, "exit status 1") {
		t.Errorf("QEMU says %s", words)
	}
	l.Options[bench.GuestOption] = bench.ImageGuest
	if _, err := g.Start(t.Context(), l); !errors.Is(err, bench.ErrInvalid) {
		t.Errorf("an own kernel beside guest=image: %v", err)
	}
}

// Nothing is told such a machine but what the user says.
func TestCommandLineOfAMachineWithoutAnAgent(t *testing.T) {
	m := aMachine()
	m.own, m.initrd, m.line = true, "", "ip=10.99.0.5"
	want := strings.Fields(`qemu-system-x86_64 -name r1-b01-t02,debug-threads=on -accel kvm -cpu host -machine q35
		-smp cpus=2,sockets=1,cores=2,threads=1 -m size=524288K -nodefaults -no-user-config -display none -no-reboot
		-chardev file,id=console,path=console -serial chardev:console -chardev socket,id=monitor,path=qmp.sock -mon chardev=monitor,mode=control
		-netdev tap,id=net,ifname=tap0123456789,script=no,downscript=no,vhost=off -device virtio-net-pci,netdev=net,romfile=,mac=02:00:00:00:00:05
		-kernel /img/vmlinuz -append ip=10.99.0.5`)
	if d := cmp.Diff(want, m.argv()); d != "" {
		t.Error(d)
	}
	m.disk = "/own/a,b"
	want = slices.Insert(want, slices.Index(want, "-netdev"), strings.Fields(`-object iothread,id=io0
		-drive if=none,id=disk,format=raw,snapshot=on,file.locking=off,file=/own/a,,b -device virtio-blk-pci,drive=disk,iothread=io0`)...)
	if d := cmp.Diff(want, m.argv()); d != "" {
		t.Error(d)
	}
	m.initrd, m.line = "/i", ""
	if argv := m.argv(); !slices.Equal(argv[len(argv)-2:], []string{"-initrd", "/i"}) {
		t.Errorf("command %q", argv)
	}
}
