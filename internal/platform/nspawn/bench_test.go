package nspawn

import (
	"context"
	"os/exec"
	"testing"

	"tare/internal/bench"
	"tare/internal/platform/launch"
	"tare/internal/platform/launch/launchtest"
)

// BenchmarkLaunch reports medians; run it with -benchtime 10x. By hand there is
// neither a control group nor a layer or a wire.
func BenchmarkLaunch(b *testing.B) {
	env := launchtest.New(b, "nspawnbench")
	root, err := env.Image.Root(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	p := New()
	e, err := p.Open(context.Background(), env.Env)
	if err != nil {
		b.Fatal(err)
	}
	launchtest.Bench(b, env, p, e, func(l bench.Launch) (*exec.Cmd, func()) {
		site := launch.Site{Launch: l, Root: root, Scratch: l.Dir, Agent: env.AgentPath}
		return exec.Command(program, args(site)...), func() {}
	})
}
