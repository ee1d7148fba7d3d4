package docker

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/launch"
	"tare/internal/platform/launch/launchtest"
)

// open starts a daemon for the test, or skips it.
func open(t *testing.T) (launchtest.Env, *Platform, bench.Engine) {
	t.Helper()
	env := launchtest.New(t, "dockertest")
	p := New(env.State)
	if _, err := p.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	e, err := p.Open(t.Context(), env.Env)
	if err != nil {
		t.Fatal(err)
	}
	return env, p, e
}

// nothingLeft expects that all the run has made is gone and released.
func nothingLeft(t *testing.T, env launchtest.Env) {
	t.Helper()
	if held := env.Held(t); len(held) != 0 {
		t.Errorf("still registered: %q", held)
	}
	if left := launchtest.Remains(t, env.Run); len(left) != 0 {
		t.Errorf("left on the host: %q", left)
	}
}

// TestVariants looks at what each option makes of a container.
func TestVariants(t *testing.T) {
	env, p, e := open(t)
	for name, c := range map[string]struct {
		options            map[string]string
		netns, dev, routed bool
	}{
		"bridge": {nil, true, true, true},
		"host":   {map[string]string{"net": "host"}, false, false, true},
		"none":   {map[string]string{"net": "none"}, true, false, false},
		"volume": {map[string]string{"storage": "volume"}, true, true, true},
		"bind":   {map[string]string{"storage": "bind"}, true, true, true},
		"crun":   {map[string]string{"runtime": "crun"}, true, true, true},
		"runsc":  {map[string]string{"runtime": "runsc"}, true, true, true},
		"kata":   {map[string]string{"runtime": kata}, true, true, true},
		"vfs":    {map[string]string{"driver": "vfs"}, true, true, true},
		"btrfs":  {map[string]string{"driver": "btrfs"}, true, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			i, err := e.Start(t.Context(), env.Launch(t, p, name, c.options))
			if errors.Is(err, bench.ErrUnavailable) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			r := launchtest.Greet(t, i)
			launchtest.Echo(t, i, r, 3<<20)
			s, err := i.Scope()
			if err != nil {
				t.Error(err)
			}
			if (s.NetNS != "") != c.netns || (len(s.NetDevs) == 1) != c.dev || i.Addr().IsValid() != c.routed {
				t.Errorf("network namespace %q, devices %q, address %v", s.NetNS, s.NetDevs, i.Addr())
			}
			var parts []string
			for _, helper := range append(s.Helpers, s.Shared...) {
				parts = append(parts, helper.Part)
			}
			slices.Sort(parts)
			want := "client containerd daemon shim"
			if name == "runsc" {
				want = "client containerd daemon gofer sandbox shim"
			}
			if name == "kata" {
				want = "client containerd daemon shim virtiofsd vmm"
			}
			if got := strings.Join(parts, " "); got != want {
				t.Errorf("processes %q", got)
			}
			if dir := s.Cgroups["memory"] + s.Cgroups["unified"]; !strings.Contains(dir, "/tare/"+env.Run+"/") {
				t.Errorf("cgroups %v", s.Cgroups)
			}
			if err := i.Close(context.Background()); err != nil {
				t.Error(err)
			}
			if left := launchtest.Remains(t, env.Run+"-"+name); len(left) != 0 {
				t.Errorf("left on the host: %q", left)
			}
		})
	}
	if err := e.Close(context.Background()); err != nil {
		t.Error(err)
	}
	nothingLeft(t, env)
}

// TestPublishedPort has a port mapped by NAT, at the address of the run's bridge and at no other.
func TestPublishedPort(t *testing.T) {
	env, p, e := open(t)
	defer e.Close(context.Background())
	l := env.Launch(t, p, "published", map[string]string{bench.PublishOption: "yes"})
	l.Publish = 6379
	i, err := e.Start(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	launchtest.Greet(t, i)
	bridge, err := launch.BridgeAddr(env.Testnet)
	if err != nil || i.Addr() != bridge {
		t.Errorf("called at %v, not at the bridge's %v: %v", i.Addr(), bridge, err)
	}
	var rules []byte
	err = env.Testnet.Do(func() (err error) {
		rules, err = exec.Command("iptables", "-t", "nat", "-S", "DOCKER").CombinedOutput()
		return err
	})
	if want := fmt.Sprintf("-d %s/32 ! -i docker0 -p tcp -m tcp --dport 6379 -j DNAT --to-destination ", bridge); err != nil || !strings.Contains(string(rules), want) {
		t.Errorf("no rule %q: %v in\n%s", want, err, rules)
	}
	if err := i.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestForwarding expects that packets between the bridge and the peers pass
// although docker's daemon has set up its filter.
func TestForwarding(t *testing.T) {
	env, _, e := open(t)
	defer e.Close(context.Background())
	var rules []byte
	err := env.Testnet.Do(func() (err error) {
		rules, err = exec.Command("iptables", "-S", "FORWARD").CombinedOutput()
		return err
	})
	if err != nil {
		t.Skipf("iptables cannot be asked: %v: %s", err, rules)
	}
	text := string(rules)
	bridge := strings.Index(text, env.Testnet.Bridge()+" -j ACCEPT")
	if strings.Contains(text, "-P FORWARD DROP") && bridge < 0 {
		t.Errorf("packets of %s are dropped:\n%s", env.Testnet.Bridge(), text)
	}
}

// TestDeadDaemon kills the daemon below a running container.
func TestDeadDaemon(t *testing.T) {
	env, p, e := open(t)
	i, err := e.Start(t.Context(), env.Launch(t, p, "a", nil))
	if err != nil {
		t.Fatal(err)
	}
	launchtest.Greet(t, i)
	d := e.(*engine).services[drivers[0]]
	if err := d.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-d.done
	_, err = i.Scope()
	died(t, "scope", err)
	_, err = e.Start(t.Context(), env.Launch(t, p, "b", nil))
	died(t, "start", err)
	if !strings.Contains(i.Log(), "daemon died") {
		t.Errorf("log %q", i.Log())
	}
	died(t, "close", i.Close(context.Background()))
	if err := e.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if left := launchtest.Remains(t, env.Run); len(left) != 0 {
		t.Errorf("left on the host: %q", left)
	}
	// The next run removes the container of which only the data root still knows.
	next, err := p.Open(t.Context(), env.Env)
	if err != nil {
		t.Fatal(err)
	}
	if err := next.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func died(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "daemon died (signal: killed)") || bench.HintOf(err) == "" {
		t.Errorf("%s: %v", what, err)
	}
}

// TestRefused asks for what docker run itself refuses: the error is in the log.
func TestRefused(t *testing.T) {
	env, p, e := open(t)
	defer e.Close(context.Background())
	l := env.Launch(t, p, "a", nil)
	l.Shape.Memory = bench.KiB
	i, err := e.Start(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := i.Stream().Read(make([]byte, 1)); err == nil {
		t.Errorf("read %d bytes from a container that cannot be", n)
	}
	if !strings.Contains(i.Log(), "memory limit") {
		t.Errorf("log %q", i.Log())
	}
	if err := i.Close(context.Background()); err != nil {
		t.Error(err)
	}
	l = env.Launch(t, p, "b", nil)
	l.CPUSet = []int{4095}
	if _, err := e.Start(t.Context(), l); err == nil || bench.HintOf(err) == "" {
		t.Errorf("CPU 4095 was given: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Start(ctx, env.Launch(t, p, "c", nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("started although cancelled: %v", err)
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := lock(t.Context(), path, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock(t.Context(), path, time.Millisecond); err == nil || bench.HintOf(err) == "" {
		t.Errorf("locked twice: %v", err)
	}
	first.Close()
	second, err := lock(t.Context(), path, 0)
	if err != nil {
		t.Fatal(err)
	}
	second.Close()
}
