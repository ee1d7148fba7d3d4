package oci

import (
	"context"
	"os/exec"
	"testing"

	"tare/internal/bench"
	"tare/internal/platform/launch/launchtest"
)

// BenchmarkLaunch reports medians; run it with -benchtime 10x.
func BenchmarkLaunch(b *testing.B) {
	for _, name := range []string{"runc", "crun"} {
		b.Run(name, func(b *testing.B) {
			env := launchtest.New(b, "ocibench")
			p := New(Runtime{Name: name, Program: name})
			if _, err := p.Check(b.Context()); err != nil {
				b.Skip(err)
			}
			e, err := p.Open(context.Background(), env.Env)
			if err != nil {
				b.Fatal(err)
			}
			launchtest.Bench(b, env, p, e, func(l bench.Launch) (*exec.Cmd, func()) {
				l.Options["net"] = "host"
				i := e.(*engine).instance(l)
				if err := i.prepare(context.Background()); err != nil {
					b.Fatal(err)
				}
				// A copy of the image in the layer's place, for a mount would not be in its namespace.
				if out, err := exec.Command("cp", "-a", i.engine.image+"/.", i.bundle().rootfs()).CombinedOutput(); err != nil {
					b.Fatalf("%v: %s", err, out)
				}
				return i.engine.command(l.ID, i.engine.run(i.site)), func() {
					if err := i.undo.Run(context.Background()); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}
