package docker

import (
	"context"
	"testing"

	"tare/internal/platform/launch/launchtest"
)

func TestContainer(t *testing.T) {
	env := launchtest.New(t, "dockertest")
	p := New(env.State)
	a, err := p.Check(t.Context())
	if err != nil {
		t.Skip(err)
	}
	t.Log(a)
	e, err := p.Open(t.Context(), env.Env)
	if err != nil {
		t.Fatal(err)
	}
	for id, options := range map[string]map[string]string{
		"bridge": nil, "host": {"net": "host"}, "none": {"net": "none"}, "volume": {"storage": "volume"},
	} {
		t.Run(id, func(t *testing.T) {
			i, err := e.Start(t.Context(), env.Launch(t, p, id, options))
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
			t.Log(i.Log())
		})
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
}
