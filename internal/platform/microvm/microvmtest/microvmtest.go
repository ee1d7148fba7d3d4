// Package microvmtest tests drivers of monitors that cannot be had here, with a
// program in their place that reads their command lines and runs no machine: what
// holds is the driver's own part, from the files it makes to what it takes back.
package microvmtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/launch"
	"tare/internal/platform/launch/launchtest"
	"tare/internal/platform/microvm"
	"tare/internal/platform/platformtest"
	"tare/internal/platform/vm"
	"tare/internal/platform/vm/vmtest"
)

// Fake puts the program in the monitor's place into the PATH, and returns its directory.
func Fake(t testing.TB, program string) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("go", "build", "-o", filepath.Join(dir, program), "tare/internal/platform/microvm/microvmtest/testdata/fakevmm")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the fake: %v\n%s", err, out)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return dir
}

// Conformance runs the suite with the monitor itself, where it is installed and
// KVM works.
func Conformance(t *testing.T, platform func(state string) *microvm.Platform) {
	state := t.TempDir()
	p := platform(state)
	if _, err := p.Check(t.Context()); errors.Is(err, vm.ErrNotTried) {
		env := launchtest.New(t, "microvmtest").Env
		env.Image, env.AgentPath = platformtest.Image(t), platformtest.Agent(t)
		if err := p.Probe(t.Context(), env); err != nil {
			t.Skip(err)
		}
	}
	platformtest.Run(t, p, platformtest.Options{})
}

// Driver runs what of the suite needs no machine, with the fake.
func Driver(t *testing.T, p *microvm.Platform) {
	if os.Geteuid() != 0 {
		t.Skip("limits and a tap device need root")
	}
	Fake(t, p.Name())
	p.Trial = nil
	lacks := map[string]string{}
	for _, name := range []string{"cpus", "cpu quota", "memory limit", "disk rate", "pids limit", "network"} {
		lacks[name] = "the fake runs no machine"
	}
	platformtest.Run(t, faked{p}, platformtest.Options{Lacks: lacks})
}

// faked says that the monitor is none, for the table of what was tested.
type faked struct{ *microvm.Platform }

func (f faked) Check(ctx context.Context) (bench.Availability, error) {
	a, err := f.Platform.Check(ctx)
	a.Label = "a fake in its place"
	return a, err
}

// Absent expects a platform whose monitor is not installed to be explained.
func Absent(t *testing.T, p *microvm.Platform) {
	t.Helper()
	_, err := p.Check(t.Context())
	if err == nil || errors.Is(err, bench.ErrUnavailable) && !strings.Contains(err.Error(), "not installed") {
		t.Skipf("%s is installed here: %v", p.Name(), err)
	}
	if !errors.Is(err, bench.ErrUnavailable) || strings.Contains(err.Error(), "\n") {
		t.Errorf("without the program: %v", err)
	}
	if hint := bench.HintOf(err); !strings.Contains(hint, "https://github.com/") {
		t.Errorf("the hint does not say where it is to be had: %q", hint)
	}
	if _, err := p.Open(t.Context(), bench.Env{}); !errors.Is(err, bench.ErrUnavailable) {
		t.Errorf("opened without the program: %v", err)
	}
}

// Dies starts a machine whose monitor ends at once, and expects its own words and
// nothing left of it.
func Dies(t *testing.T, p *microvm.Platform) {
	dir := Fake(t, p.Name())
	p.Trial = nil
	env := launchtest.New(t, "microvmtest")
	env.Image, env.AgentPath = platformtest.Image(t), platformtest.Agent(t)
	e, err := p.Open(t.Context(), env.Env)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "broken"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	i, err := e.Start(t.Context(), env.Launch(t, p, "a", nil))
	words := fmt.Sprint(err)
	if err == nil { // its line is there before it is
		if n, err := i.Stream().Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("read %d bytes, %v", n, err)
		}
		gone := func() bool { _, err := i.Scope(); return err != nil }
		for end := time.Now().Add(10 * time.Second); !gone(); time.Sleep(time.Millisecond) { // its line ends before it does
			if time.Now().After(end) {
				t.Fatal("a machine that is gone has a scope")
			}
		}
		words = i.Log()
		if err := i.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	if !strings.Contains(words, "exit status 1") || !strings.Contains(strings.ToLower(words), "kvm") {
		t.Errorf("the monitor's words are not told: %q", words)
	}
	if held := env.Held(t); len(held) != 0 {
		t.Errorf("still registered: %q", held)
	}
	if left := launchtest.Remains(t, env.Run); len(left) != 0 {
		t.Errorf("left on the host: %q", left)
	}
}

// Own starts machines without an agent: one serves at its address, the kernel of another panics.
func Own(t *testing.T, p *microvm.Platform) {
	if os.Geteuid() != 0 {
		t.Skip("limits and a tap device need root")
	}
	Fake(t, p.Name())
	p.Trial = nil
	env := launchtest.New(t, "microvmtest")
	env.Image, env.AgentPath = platformtest.Image(t), platformtest.Agent(t)
	e, err := p.Open(t.Context(), env.Env)
	if err != nil {
		t.Fatal(err)
	}
	kernel, _, err := env.Image.Kernel(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	own := *vmtest.Booting(kernel, vmtest.Initrd(t, ""))
	start := func(name string, k bench.OwnKernel) bench.Instance {
		l := env.Launch(t, p, name, map[string]string{bench.GuestOption: bench.OwnGuest})
		l.Own = &k
		i, err := e.Start(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	i := start("serves", own)
	if got, err := vmtest.Ask(t.Context(), env.Testnet, i.Addr()); err != nil || got != vmtest.Answer {
		t.Errorf("it answers %q, %v; log:\n%s", got, err, i.Log())
	}
	if s, err := i.Scope(); err != nil || !s.OwnKernel || len(s.NetDevs) != 1 {
		t.Errorf("scope %+v, %v", s, err)
	}
	if err := i.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if !strings.Contains(i.Log(), "served: listening") {
		t.Errorf("log:\n%s", i.Log())
	}

	own.Disk = &bench.BootFile{Path: vmtest.Disk(t)}
	for _, name := range []string{"disk", "again"} { // what one writes, the next does not see
		i = start(name, own)
		if got, err := vmtest.Ask(t.Context(), env.Testnet, i.Addr()); err != nil || got != vmtest.Answer {
			t.Errorf("with a disk it answers %q, %v; log:\n%s", got, err, i.Log())
		}
		if err := i.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if want := fmt.Sprintf("disk of the guest begins with %q", vmtest.DiskHead); !strings.Contains(i.Log(), want) {
			t.Errorf("no %s in log:\n%s", want, i.Log())
		}
	}
	own.Disk = nil

	lost := own
	lost.Append = strings.Replace(own.Append, "address={address}", "address=nonsense", 1)
	i = start("panics", lost)
	var fatal *launch.Fatal
	if _, err := i.Stream().Read(make([]byte, 1)); !errors.As(err, &fatal) || !strings.Contains(err.Error(), "Attempted to kill init") {
		t.Errorf("%v; log:\n%s", err, i.Log())
	}
	if err := i.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if !strings.Contains(i.Log(), `address "nonsense/`) {
		t.Errorf("log:\n%s", i.Log())
	}
	if held := env.Held(t); len(held) != 0 {
		t.Errorf("still registered: %q", held)
	}
	if left := launchtest.Remains(t, env.Run); len(left) != 0 {
		t.Errorf("left on the host: %q", left)
	}
}

// Trial tries KVM with the fake, once where it works and once where it does not.
// The host's own signs count: without /dev/kvm there is nothing to try.
func Trial(t *testing.T, platform func(state string) *microvm.Platform) {
	dir := Fake(t, platform("").Name())
	env := launchtest.New(t, "microvmtest").Env
	env.Image, env.AgentPath = platformtest.Image(t), platformtest.Agent(t)
	for _, works := range []bool{true, false} {
		if !works {
			if err := os.WriteFile(filepath.Join(dir, "broken"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p := platform(t.TempDir())
		if _, err := p.Check(t.Context()); !errors.Is(err, bench.ErrUnavailable) {
			t.Errorf("before a trial: %v", err)
		} else if !strings.Contains(err.Error(), "not tried yet") {
			t.Skip(err)
		}
		err := p.Probe(t.Context(), env)
		if works != (err == nil) {
			t.Errorf("works %t: %v", works, err)
		}
		_, checked := p.Check(t.Context())
		if (checked == nil) != works {
			t.Errorf("works %t; afterwards: %v", works, checked)
		}
		if works {
			continue
		}
		if !errors.Is(err, bench.ErrUnavailable) || !strings.Contains(err.Error(), "exit status 1") || !strings.Contains(strings.ToLower(err.Error()), "kvm") {
			t.Errorf("the reason is not told: %v", err)
		}
	}
}
