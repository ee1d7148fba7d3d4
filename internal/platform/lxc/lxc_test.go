package lxc

import (
	"context"
	"errors"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/platform/launch/launchtest"
)

// TestVariants looks at what each option makes of a container.
func TestVariants(t *testing.T) {
	p := New()
	if _, err := p.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	for net, c := range map[string]struct{ netns, dev, routed bool }{
		"veth": {true, true, true}, "host": {false, false, true}, "none": {true, false, false},
	} {
		t.Run(net, func(t *testing.T) {
			env := launchtest.New(t, "lxctest")
			e, err := p.Open(t.Context(), env.Env)
			if err != nil {
				t.Fatal(err)
			}
			i, err := e.Start(t.Context(), env.Launch(t, p, "a", map[string]string{"net": net}))
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
			if len(s.Helpers) != 1 || s.Helpers[0].Part != "monitor" {
				t.Errorf("helpers %v", s.Helpers)
			}
			if dir := s.Cgroups["memory"] + s.Cgroups["unified"]; !strings.Contains(dir, "/tare/"+env.Run+"/"+env.Run+"-a/lxc.payload.") {
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

// TestRefused asks for what lxc-execute itself refuses: the error is in the log.
func TestRefused(t *testing.T) {
	p := New()
	if _, err := p.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	env := launchtest.New(t, "lxctest")
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
	if !strings.Contains(i.Log(), "/no/such/agent") {
		t.Errorf("log %q", i.Log())
	}
	if err := i.Close(context.Background()); err != nil {
		t.Error(err)
	}
	l := env.Launch(t, p, "b", nil)
	l.Dir = "/a b"
	if _, err := e.Start(t.Context(), l); !errors.Is(err, bench.ErrInvalid) || bench.HintOf(err) == "" {
		t.Errorf("a directory that LXC cannot name: %v", err)
	}
	if held := env.Held(t); len(held) != 0 {
		t.Errorf("still registered: %q", held)
	}
}
