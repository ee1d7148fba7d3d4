package lxc

import (
	"context"
	"testing"

	"tare/internal/platform/launch/launchtest"
)

func TestContainer(t *testing.T) {
	p := New()
	a, err := p.Check(t.Context())
	if err != nil {
		t.Skip(err)
	}
	t.Log(a)
	for _, net := range []string{"veth", "host", "none"} {
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
			t.Logf("%+v %v %v", s, i.Addr(), i.Unenforced())
			if err := i.Close(context.Background()); err != nil {
				t.Error(err)
			}
			if err := e.Close(context.Background()); err != nil {
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
