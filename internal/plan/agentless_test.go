package plan_test

import (
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/plan"
	"tare/internal/spec"
)

// ownKernel is a host's inputs with a kernel of the user's own.
func ownKernel() plan.Inputs {
	in := inputs(2)
	in.Kernel = &bench.OwnKernel{Kernel: bench.BootFile{Path: "/k", Digest: "sha256:00", Size: 20 * bench.MiB},
		Initrd: &bench.BootFile{Path: "/i", Digest: "sha256:01", Size: 20 * bench.MiB}, Port: 8080}
	return in
}

const ownHead = "name: x\nplatforms: [native, 'qemu-tcg[guest=own]']\nimage: {kernel: /k, initrd: /i, port: 8080}\nshape: {memory: 64MiB}\nscenes:\n"

// Machines without an agent serve, start and rest; the plan has the kernel by its digest.
func TestMachinesWithoutAnAgent(t *testing.T) {
	p := planned(t, ownHead+"- {name: a, workload: serve, idle: 1}\n- {name: b, startup: true}\n", ownKernel())
	if p.Image.Kernel == nil || p.Image.Kernel.Kernel.Digest != "sha256:00" {
		t.Errorf("image %+v", p.Image)
	}
	if len(p.Scenes) != 4 || !p.Scenes[1].Actors[0].Platform.Agentless() {
		t.Errorf("%d scenes", len(p.Scenes))
	}
	if ms := p.Metrics["b"]; len(ms) != 1 || ms[0].Name != "time_to_ready" || !ms[0].Headline {
		t.Errorf("start-up metrics %+v", ms)
	}
	alone := planned(t, strings.Replace(ownHead, "native, ", "", 1)+"- {name: a, workload: serve, params: {server: none}}\n", ownKernel())
	if len(alone.Scenes) != 1 {
		t.Errorf("without a server for other platforms: %d scenes", len(alone.Scenes))
	}
	without := planned(t, "name: x\nplatforms: [native, qemu-tcg]\nscenes: [{name: b, startup: true}]\n", ownKernel())
	if without.Image.Kernel != nil || len(without.Metrics["b"]) != 2 {
		t.Errorf("a plan that boots no kernel of the user's own: image %+v, metrics %v", without.Image, without.Metrics)
	}
}

func TestMachinesWithoutAnAgentRefused(t *testing.T) {
	for _, c := range []struct{ scene, says, hint string }{
		{"{name: a, workload: spin}", "spin has no server that the kernel of qemu-tcg[guest=own] could be", "workload: service"},
		{"{name: a, workload: serve, params: {prepare: 1}}", "serve makes its server ready inside", "workload: service"},
		{"{name: a, workload: serve, params: {port: 0}}", "nothing tells when the server", "probe: tcp"},
		{"{name: a, workload: serve, params: {port: 80}}", "asks port 80, and the kernel's server listens on 8080", "the same port"},
		{"{name: a, workload: serve, beside: {workload: spin}}", "neighbour runs spin on qemu-tcg[guest=own], which has no agent", "serves a load"},
		{"{name: a, workload: serve, shape: {memory: 32MiB}}", "32 MiB of memory do not hold the 40 MiB of /k", "shape.memory"},
		{"{name: a, workload: serve, params: {server: none}}", "serve names no server for native to run", "guest=own"},
		{"{name: a, ramp: {to: 2}}", "no agent to run the first command", "serves a load"},
		{"{name: a, workload: serve, migrate: live}", "nothing tells how its move went", "serves a load"},
	} {
		head := ownHead
		if strings.Contains(c.scene, "migrate") { // native cannot move either
			head = strings.Replace(head, "native", "qemu-tcg", 1)
		}
		e, err := spec.Parse("x.yaml", []byte(head+"- "+c.scene+"\n"), nil, ownKernel().Words)
		if err == nil {
			_, err = plan.Make(e, ownKernel())
		}
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(bench.HintOf(err), c.hint) {
			t.Errorf("%s: %v; hint %q", c.scene, err, bench.HintOf(err))
		}
	}
}
