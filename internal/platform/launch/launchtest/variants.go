package launchtest

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"tare/internal/bench"
)

// Variants starts an instance with each of the options, looks whether what its
// scope and address say fits its network, and that nothing is left of it. more
// looks further.
func Variants(t *testing.T, p bench.Platform, variants []map[string]string, more func(*testing.T, Env, bench.Instance)) {
	if _, err := p.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	for _, options := range variants {
		// Directories are named after the test, and not every platform can name a comma.
		name := strings.ReplaceAll(bench.PlatformRef{Name: p.Name(), Options: options}.String(), ",", "+")
		t.Run(name, func(t *testing.T) {
			env := New(t, p.Name()+"test")
			e, err := p.Open(t.Context(), env.Env)
			if err != nil {
				t.Fatal(err)
			}
			l := env.Launch(t, p, "a", maps.Clone(options))
			i, err := e.Start(t.Context(), l)
			if err != nil {
				t.Fatal(err)
			}
			r := Greet(t, i)
			Echo(t, i, r, 3<<20)
			s, err := i.Scope()
			if err != nil {
				t.Error(err)
			}
			net := l.Options["net"]
			if (len(s.NetDevs) == 1) != (net == "veth") || i.Addr().IsValid() != (net != "none") || net == "host" && s.NetNS != "" {
				t.Errorf("net=%s: network namespace %q, devices %q, address %v", net, s.NetNS, s.NetDevs, i.Addr())
			}
			if more != nil {
				more(t, env, i)
			}
			if err := errors.Join(i.Close(context.Background()), e.Close(context.Background())); err != nil {
				t.Error(err)
			}
			if held := env.Held(t); len(held) != 0 {
				t.Errorf("still registered: %q", held)
			}
			if left := Remains(t, env.Run); len(left) != 0 {
				t.Errorf("left on the host: %q", left)
			}
		})
	}
}
