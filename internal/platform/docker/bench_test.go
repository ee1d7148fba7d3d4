package docker

import (
	"context"
	"os/exec"
	"testing"

	"tare/internal/bench"
	"tare/internal/platform/launch/launchtest"
)

// BenchmarkLaunch reports medians; run it with -benchtime 10x.
func BenchmarkLaunch(b *testing.B) {
	env := launchtest.New(b, "dockerbench")
	p := New(env.State)
	e, err := p.Open(context.Background(), env.Env)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := e.Close(context.Background()); err != nil {
			b.Error(err)
		}
	}()
	launchtest.Bench(b, env, p, e, func(l bench.Launch) (*exec.Cmd, func()) {
		i := &instance{engine: e.(*engine), service: e.(*engine).services[drivers[0]], launch: l}
		if err := i.prepare(context.Background()); err != nil {
			b.Fatal(err)
		}
		i.undo.Add(i.remove)
		return exec.Command("docker", i.args()...), func() {
			if err := i.undo.Run(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
