package spec_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/spec"
	"tare/internal/spec/spectest"
)

// with is an experiment with an image and platforms.
func with(image, platforms string) string {
	return "name: x\nplatforms: [" + platforms + "]\nimage: " + image + "\nscenes: [{name: a, workload: serve}]\n"
}

func TestKernelOfOnesOwn(t *testing.T) {
	e, err := spec.Parse("x.yaml", []byte(with("{kernel: boot/server.elf, initrd: /i.cpio, disk: /d.img, append: 'ip={address}::{gateway}:{netmask} mac={mac} -- {prefix} {port}', port: 8080}", "native, 'qemu-tcg[guest=own]'")), nil, spectest.Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	k := e.Kernel
	if k == nil || k.Kernel.Path != filepath.Join(here, "boot/server.elf") || k.Initrd.Path != "/i.cpio" || k.Disk.Path != "/d.img" || k.Port != 8080 || !strings.HasPrefix(k.Append, "ip={address}") || len(e.Warnings) > 0 {
		t.Errorf("%+v, warnings %q", k, e.Warnings)
	}
	if ref := e.Platforms.Named[1]; !ref.Agentless() || e.Platforms.Named[0].Agentless() {
		t.Errorf("platforms %v", e.Platforms.Named)
	}
	unused, err := spec.Parse("x.yaml", []byte(with("{kernel: k, port: 80}", "native, qemu-tcg")), nil, spectest.Vocabulary())
	if err != nil || len(unused.Warnings) != 1 || !strings.Contains(unused.Warnings[0], "these would: qemu-tcg[guest=own]") {
		t.Errorf("%v; warnings %q", err, unused.Warnings)
	}
}

// What cannot be a machine without an agent is an error where it was written, with the text and a hint.
func TestKernelOfOnesOwnRefused(t *testing.T) {
	const on = "native, 'qemu-tcg[guest=own]'"
	for _, c := range []struct{ image, platforms, says, hint string }{
		{"{add: []}", on, "qemu-tcg[guest=own] boots a kernel of your own, and none is named", "image: {kernel:"},
		{"{kernel: k}", on, "the kernel needs a port", "port: 8080"},
		{"{kernel: k, port: 0}", on, "0 is too few", ""},
		{"{kernel: k, port: http}", on, `"http" is not a whole number`, ""},
		{"{kernel: '', port: 80}", on, "no file is named for the kernel", ""},
		{"{kernel: [k], port: 80}", on, "found a list", ""},
		{"{kernel: k, port: 80, initrd: ''}", on, "no file is named for the initrd", ""},
		{"{kernel: k, port: 80, disk: ''}", on, "no file is named for the disk", ""},
		{"{kernel: k, port: 80, disk: [d]}", on, "found a list", ""},
		{"{disk: d}", "native", "disk belongs to a kernel", "image: {kernel:"},
		{"{append: quiet, add: [curl]}", "native", "append belongs to a kernel", "image: {kernel:"},
		{"{port: 80}", "native", "port belongs to a kernel", "image: {kernel:"},
		{"{kernel: k, port: 80, append: 'ip={adress}'}", on, `unknown placeholder "{adress}"; did you mean "{address}"?`, "one of: {address}"},
		{"{kernel: k, port: 80, append: 'ip={address'}", on, `"{address": the brace is not closed`, ""},
		{`{kernel: k, port: 80, append: "a\nb"}`, on, `character 2 is '\n'`, ""},
		{"{kernel: k, port: 80, append: '" + strings.Repeat("x", 2001) + "'}", on, "2001 bytes: at most 2000", ""},
		{"{kernel: k, port: 80}", "native, 'docker[guest=own]'", `docker has no option "guest"`, "these have: qemu-tcg"},
		{"{kernel: k, port: 80}", "native, 'docker@qemu-tcg[guest=own]'", "a machine without an agent neither runs in another", "leave the nesting out"},
	} {
		_, err := spec.Parse("x.yaml", []byte(with(c.image, c.platforms)), nil, spectest.Vocabulary())
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(bench.HintOf(err), c.hint) {
			t.Errorf("%s on %s: %v; hint %q", c.image, c.platforms, err, bench.HintOf(err))
		}
	}
}
