package lxc

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/platform/launch/launchtest"
)

// TestVariants looks at what each option makes of a container.
func TestVariants(t *testing.T) {
	launchtest.Variants(t, New(), []map[string]string{
		{"net": "veth"}, {"net": "host"}, {"net": "none"}, {"store": "dir"}, {"userns": "yes"}, {"userns": "yes", "store": "dir"},
	}, func(t *testing.T, env launchtest.Env, i bench.Instance) {
		s, err := i.Scope()
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Helpers) != 1 || s.Helpers[0].Part != "monitor" {
			t.Errorf("helpers %v", s.Helpers)
		}
		if dir := s.Cgroups["memory"] + s.Cgroups["unified"]; !strings.Contains(dir, "/tare/"+env.Run+"/"+env.Run+"-a/lxc.payload.") {
			t.Errorf("cgroups %v", s.Cgroups)
		}
	})
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
	opened := env.Held(t)
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
	l = env.Launch(t, p, "c", map[string]string{"init": "systemd"})
	if _, err := e.Start(t.Context(), l); !errors.Is(err, bench.ErrUnavailable) || bench.HintOf(err) == "" {
		t.Errorf("an image without init: %v", err)
	}
	if held := env.Held(t); !slices.Equal(held, opened) {
		t.Errorf("still registered: %q, and when it was opened %q", held, opened)
	}
}
