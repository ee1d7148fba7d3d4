package oci

import (
	"context"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/platform/launch/launchtest"
)

// BenchmarkLaunch reports medians; run it with -benchtime 10x. By hand, the
// root is mounted on the host. (By hand, crun does not start at all where v1 control
// groups have left some to v2.)
func BenchmarkLaunch(b *testing.B) {
	env := launchtest.New(b, "ocibench")
	p := New(Runtime{Name: "runc", Program: "runc"})
	if _, err := p.Check(b.Context()); err != nil {
		b.Skip(err)
	}
	e, err := p.Open(context.Background(), env.Env)
	if err != nil {
		b.Fatal(err)
	}
	launchtest.Bench(b, env, p, e, func(l bench.Launch) (*exec.Cmd, func()) {
		i := e.(*engine).instance(l)
		must := func(err error) {
			if err != nil {
				b.Fatal(err)
			}
		}
		must(i.prepare(context.Background()))
		must(i.bundle().mount())
		return i.engine.command(l, i.engine.run(i.site)), func() {
			must(unix.Unmount(i.bundle().rootfs(), unix.MNT_DETACH))
			must(i.undo.Run(context.Background()))
		}
	})
}
