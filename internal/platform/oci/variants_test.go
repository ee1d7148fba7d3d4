package oci_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/platform/containerd"
	"tare/internal/platform/crun"
	"tare/internal/platform/gvisor"
	"tare/internal/platform/launch/launchtest"
	"tare/internal/platform/podman"
	"tare/internal/platform/runc"
)

// TestVariants looks at what each option makes of a container.
func TestVariants(t *testing.T) {
	for _, c := range []struct {
		platform bench.Platform
		options  map[string]string
		parts    string // of the processes that serve it
		netns    bool
		dev      bool
	}{
		{runc.New(), nil, "runtime", true, true},
		{runc.New(), map[string]string{"net": "host"}, "runtime", false, false},
		{runc.New(), map[string]string{"net": "none"}, "runtime", false, false},
		{runc.New(), map[string]string{"storage": "rootfs"}, "runtime", true, true},
		{crun.New(), nil, "runtime", true, true},
		{crun.New(), map[string]string{"net": "host"}, "runtime", false, false},
		{gvisor.New(), nil, "gofer runtime sandbox", true, true},
		{gvisor.New(), map[string]string{"platform": "ptrace"}, "gofer runtime sandbox", true, true},
		{gvisor.New(), map[string]string{"stack": "host"}, "gofer runtime sandbox", true, true},
		{gvisor.New(), map[string]string{"net": "host", "stack": "host"}, "gofer runtime sandbox", false, false},
		{gvisor.New(), map[string]string{"net": "none", "overlay": "memory"}, "gofer runtime sandbox", false, false},
		{gvisor.New(), map[string]string{"overlay": "none"}, "gofer runtime sandbox", true, true},
		{containerd.New(), nil, "client shim", true, true},
		{containerd.New(), map[string]string{"runtime": "crun", "net": "host", "storage": "rootfs"}, "client shim", false, false},
		{containerd.New(), map[string]string{"net": "none"}, "client shim", false, false},
		{podman.New(), nil, "client monitor", true, true},
		{podman.New(), map[string]string{"runtime": "runc", "net": "host", "storage": "rootfs"}, "client monitor", false, false},
		{podman.New(), map[string]string{"net": "none"}, "client monitor", false, false},
	} {
		name := bench.PlatformRef{Name: c.platform.Name(), Options: c.options}.String()
		t.Run(strings.ReplaceAll(name, ",", " "), func(t *testing.T) {
			if _, err := c.platform.Check(t.Context()); err != nil {
				t.Skip(err)
			}
			env := launchtest.New(t, "ocitest")
			e, err := c.platform.Open(t.Context(), env.Env)
			if err != nil {
				t.Fatal(err)
			}
			l := env.Launch(t, c.platform, "a", c.options)
			i, err := e.Start(t.Context(), l)
			if err != nil {
				t.Fatal(err)
			}
			launchtest.Echo(t, i, launchtest.Greet(t, i), 3<<20)
			s, err := i.Scope()
			if err != nil {
				t.Error(err)
			}
			if (s.NetNS != "") != c.netns || (len(s.NetDevs) == 1) != c.dev || i.Addr().IsValid() != (l.Options["net"] != "none") {
				t.Errorf("network namespace %q, devices %q, address %v", s.NetNS, s.NetDevs, i.Addr())
			}
			var parts []string
			for _, p := range s.Helpers {
				parts = append(parts, p.Part)
				if p.Inside != (p.Part == "sandbox" || p.Part == "gofer") {
					t.Errorf("%+v", p)
				}
			}
			slices.Sort(parts)
			if got := strings.Join(parts, " "); got != c.parts {
				t.Errorf("processes %q, want %q", got, c.parts)
			}
			if dir := s.Cgroups["memory"] + s.Cgroups["unified"]; !strings.Contains(dir, "/tare/"+env.Run+"/"+env.Run+"-a/") {
				t.Errorf("cgroups %v", s.Cgroups)
			}
			if err := errors.Join(i.Close(context.Background()), e.Close(context.Background())); err != nil {
				t.Error(err)
			}
			if held := env.Held(t); len(held) != 0 {
				t.Errorf("still registered: %q", held)
			}
			if left := launchtest.Remains(t, env.Run); len(left) != 0 {
				t.Errorf("left on the host: %q", left)
			}
		})
	}
}

// TestRefused asks for what the runtimes themselves refuse: the error is in the log.
func TestRefused(t *testing.T) {
	for _, p := range []bench.Platform{runc.New(), crun.New(), gvisor.New(), podman.New(), containerd.New()} {
		t.Run(p.Name(), func(t *testing.T) {
			if _, err := p.Check(t.Context()); err != nil {
				t.Skip(err)
			}
			env := launchtest.New(t, "ocitest")
			env.AgentPath = "/no/such/agent"
			e, err := p.Open(t.Context(), env.Env)
			if err != nil {
				t.Fatal(err)
			}
			i, err := e.Start(t.Context(), env.Launch(t, p, "a", nil))
			if err != nil {
				t.Fatal(err)
			}
			if n, err := i.Stream().Read(make([]byte, 1)); err == nil {
				t.Errorf("read %d bytes from a container that cannot be", n)
			}
			// Of gVisor's reasons no more is printed than that its gofer did not start.
			if log := strings.ToLower(i.Log()); !strings.Contains(log, "no such file") && !strings.Contains(log, "cannot create sandbox") {
				t.Errorf("log %q", log)
			}
			if err := i.Close(context.Background()); err != nil {
				t.Error(err)
			}
			l := env.Launch(t, p, "b", nil)
			l.Dir = "/a:b"
			if _, err := e.Start(t.Context(), l); err == nil {
				t.Error("started in a directory that is not there")
			}
			if err := e.Close(context.Background()); err != nil {
				t.Error(err)
			}
			if held := env.Held(t); len(held) != 0 {
				t.Errorf("still registered: %q", held)
			}
		})
	}
}
