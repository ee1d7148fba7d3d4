package lxc

import (
	"context"
	"os/exec"
	"testing"

	"tare/internal/bench"
	"tare/internal/platform/launch/launchtest"
)

// BenchmarkLaunch reports medians; run it with -benchtime 10x.
func BenchmarkLaunch(b *testing.B) {
	env := launchtest.New(b, "lxcbench")
	p := New()
	e, err := p.Open(context.Background(), env.Env)
	if err != nil {
		b.Fatal(err)
	}
	launchtest.Bench(b, env, p, e, func(l bench.Launch) (*exec.Cmd, func()) {
		i := e.(*engine).instance(l)
		if err := i.prepare(context.Background()); err != nil {
			b.Fatal(err)
		}
		return exec.Command("lxc-execute", i.container.args()...), func() {
			if err := i.undo.Run(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
