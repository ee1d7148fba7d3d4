package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tare/internal/app/planning"
	"tare/internal/bench"
	"tare/internal/image"
	"tare/internal/platform/vm/vmtest"
	"tare/internal/spec"
)

// A command line stands for a specification that can be read, and is what one would have written.
func TestTrySpecification(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"ask", "bench", "serve"} {
		if err := os.WriteFile(name, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	plain := trying{platforms: []string{"native", "docker[net=host", "storage=volume]"}, cpus: 1, memory: "512MiB", budget: time.Minute}
	words := planning.Catalog{Dir: t.TempDir()}.Words()
	for name, c := range map[string]struct {
		change func(*trying)
		want   []string
	}{
		"plain":  {func(x *trying) { x.argv = []string{"true"} }, []string{"- docker[net=host,storage=volume]", "budget: 1m0s", "workload: command", "- \"true\""}},
		"blocks": {func(x *trying) { x.argv, x.blocks, x.warmup = []string{"fio", "--x"}, 4, true }, []string{"blocks: 4", "warmup:", "- --x"}},
		"own": {func(x *trying) {
			x.argv, x.files, x.add = []string{"./bench", "--json"}, []string{"input"}, []string{"jq"}
			x.metrics = []string{"rate=json:a.b", "p99:ms:lower=regex:p99: (.*)"}
		}, []string{"- ./bench", "- input", "add:\n  - jq", "json: a.b", "better: lower", "unit: ms", "regex: \"p99: (.*)\"", "answers:\n- rate\n- p99\n"}},
		"served": {func(x *trying) {
			x.argv, x.serve, x.ready = []string{"curl", "http://{server}:{port}"}, "./serve --port {port}", "tcp:8080"
		}, []string{"workload: service", "server:", "- ./serve", "port: 8080", "load:", "- curl"}},
		"served late": {func(x *trying) {
			x.argv, x.serve, x.ready, x.within = []string{"curl", "{server}"}, "./serve", "tcp:8080", 5*time.Minute
		}, []string{"    ready: 5m0s\n"}},
		"served by this host's programs": {func(x *trying) {
			x.argv, x.serve, x.ready = []string{"./bench", "{server}"}, "./serve", "tcp:8080"
		}, []string{"title: What does serve lose?", "    files:\n    - ./serve\n    load-files:\n    - ./bench\n"}},
		"of this host by absolute paths": {func(x *trying) {
			x.argv, x.serve, x.ready = []string{mustGetwd(t) + "/bench", "{server}"}, mustGetwd(t)+"/serve", "tcp:8080"
		}, []string{"server:\n    - ./serve", "load:\n    - ./bench", "    files:\n    - " + mustGetwd(t) + "/serve\n    load-files:\n    - " + mustGetwd(t) + "/bench\n"}},
		"the image's by an absolute path": {func(x *trying) { x.argv = []string{"/usr/bin/env"} }, []string{"argv:\n    - /usr/bin/env\n"}},
		"server and client in one": {func(x *trying) {
			x.argv, x.serve, x.ready = []string{"./serve", "ask"}, "./serve listen", "tcp:8080"
		}, []string{"files:", "- ask", "- listen"}},
		"an image that serves by itself": {func(x *trying) {
			x.argv, x.image, x.itself, x.own, x.whole, x.ready = []string{"curl", "{server}"}, "i.tar", true, []string{"app", "listen"}, true, "tcp:8080"
		}, []string{"workload: service", "server:\n    - app\n    - listen\n", "entrypoint: none"}},
		"a kernel and its client": {func(x *trying) {
			x.argv, x.platforms = []string{"./bench", "{server}"}, []string{"qemu-tcg", "kvm[vhost=on", "machine=q35]", "firecracker[guest=own]"}
			x.kernel, x.initrd, x.disk, x.line, x.ready = "k.elf", "i.cpio", "d.img", "ip={address} quiet", "tcp:8080"
		}, []string{"- qemu-tcg[guest=own]", "- kvm[vhost=on,machine=q35,guest=own]", "- firecracker[guest=own]", "kernel: k.elf", "initrd: i.cpio", "disk: d.img",
			"append: ip={address} quiet", "workload: service", "load:\n    - ./bench", "load-files:\n    - ./bench"}},
		"a kernel beside a server": {func(x *trying) {
			x.argv, x.serve, x.platforms = []string{"curl", "{server}"}, "./serve", []string{"native", "kvm", "kvm[guest=own]"}
			x.kernel, x.ready, x.image = "k.elf", "tcp:8080", ""
		}, []string{"- native\n", "- kvm\n", "- kvm[guest=own]", "server:", "kernel: k.elf", "port: 8080"}},
		"as it would be written by hand": {func(x *trying) {
			x.argv, x.platforms, x.budget = []string{"./ask", "http://{server}:{port}/"}, []string{"qemu-tcg"}, 3*time.Minute
			x.kernel, x.line, x.ready = "k.elf", "ip={address}", "tcp:8080"
		}, []string{`name: try
title: What does k.elf lose?
platforms:
- qemu-tcg[guest=own]
baseline: qemu-tcg[guest=own]
shape:
  cpus: 1
  memory: 512MiB
timing:
  cooldown: 100ms
until:
  min: 3
  max: 30
budget: 3m0s
image:
  kernel: k.elf
  append: ip={address}
  port: 8080
scenes:
- name: command
  short: k.elf
  workload: service
  params:
    port: 8080
    load:
    - ./ask
    - http://{server}:{port}/
    load-files:
    - ./ask
`}},
		"a client on a further host": {func(x *trying) {
			x.argv, x.serve, x.ready, x.afar = []string{"./bench", "{server}"}, "./serve", "tcp:8080", "load1=10.0.0.7/24"
		}, []string{"hosts:\n  load1:\n    reach: 10.0.0.7/24\n", "  peer:\n    host: load1\n"}},
		"a kernel's start": {func(x *trying) {
			x.kernel, x.ready, x.platforms = "k.elf", "tcp:8080", []string{"qemu-tcg"}
		}, []string{"startup: true", "title: How soon is k.elf up?", "- qemu-tcg[guest=own]"}},
		"a kernel's late start": {func(x *trying) {
			x.argv, x.kernel, x.ready, x.platforms, x.within = nil, "k.elf", "tcp:8080", []string{"qemu-tcg"}, 5*time.Minute
		}, []string{"startup: true", "  cooldown: 100ms\n  deadline: 5m0s\n"}},
	} {
		x := plain
		c.change(&x)
		text, err := x.specification()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, want := range c.want {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: no %q in\n%s", name, want, text)
			}
		}
		if _, err := spec.Parse("try.yaml", text, nil, words); err != nil {
			t.Errorf("%s: %v in\n%s", name, err, text)
		}
	}
	for name, c := range map[string]struct {
		change func(*trying)
		says   string
	}{
		"no such file":     {func(x *trying) { x.argv = []string{"./none"} }, "./none: there is no such file here"},
		"no program":       {func(x *trying) { x.argv = []string{"../" + filepath.Base(mustGetwd(t))} }, "is not a program"},
		"metric":           {func(x *trying) { x.metrics = []string{"rate"} }, `--metric "rate"`},
		"metric's kind":    {func(x *trying) { x.metrics = []string{"rate=xml:a"} }, `--metric "rate=xml:a"`},
		"quotes":           {func(x *trying) { x.serve, x.ready = "./serve 'a b'", "tcp:80" }, "no shell"},
		"a blank server":   {func(x *trying) { x.serve, x.ready = " ", "tcp:80" }, `--serve " "`},
		"no port":          {func(x *trying) { x.serve = "./serve" }, `--ready ""`},
		"a port alone":     {func(x *trying) { x.serve, x.ready = "./serve", "8080" }, `--ready "8080"`},
		"port 0":           {func(x *trying) { x.serve, x.ready = "./serve", "tcp:0" }, `--ready "tcp:0"`},
		"ready for nobody": {func(x *trying) { x.ready = "tcp:80" }, "say --serve"},
		"within for none":  {func(x *trying) { x.within = time.Second }, "--ready-within is about a server"},
		"within before":    {func(x *trying) { x.serve, x.ready, x.within = "./serve", "tcp:80", -time.Second }, "is negative"},
		"within for both":  {func(x *trying) { x.kernel, x.ready, x.within = "k", "tcp:80", time.Second }, "its client's, too"},
		"a kernel's port":  {func(x *trying) { x.kernel = "k" }, `--ready ""`},
		"no kernel":        {func(x *trying) { x.line = "quiet" }, "say --kernel"},
		"kernel in image":  {func(x *trying) { x.kernel, x.image, x.ready = "k", "i.tar", "tcp:80" }, "boot the kernel alone"},
		"host of none":     {func(x *trying) { x.afar = "load1=10.0.0.7/24" }, "say --serve, too"},
		"host nowhere":     {func(x *trying) { x.serve, x.ready, x.afar = "./serve", "tcp:80", "load1" }, "NAME=ADDRESS/LENGTH"},
		"a public host":    {func(x *trying) { x.serve, x.ready, x.afar = "./serve", "tcp:80", "load1=8.8.8.8/24" }, "not a private address"},
		"host as option":   {func(x *trying) { x.serve, x.ready, x.afar = "./serve", "tcp:80", "-oX=10.0.0.7/24" }, "not the name of a further host"},
		"metric of none":   {func(x *trying) { x.argv, x.kernel, x.ready, x.warmup = nil, "k", "tcp:80", true }, "none is named"},
	} {
		x := plain
		x.argv = []string{"true"}
		c.change(&x)
		_, err := x.specification()
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
		if status := new(statusError); !errors.As(err, &status) && !errors.Is(err, bench.ErrInvalid) {
			t.Errorf("%s: no exit status of its own: %v", name, err)
		}
	}
}

// A kernel is booted where it can be, unless platforms are named.
func TestTryBootsAKernelWhereItCan(t *testing.T) {
	for _, c := range []struct {
		x    trying
		want string
	}{
		{trying{kernel: "k.elf"}, "qemu-tcg"},
		{trying{kernel: "k.elf", serve: "./serve"}, "native docker qemu-tcg[guest=own]"},
		{trying{kernel: "k.elf", itself: true}, "native docker qemu-tcg[guest=own]"},
	} {
		c.x.platforms = []string{"native", "docker"} // the flag's own
		if got := strings.Join(c.x.booting("qemu-tcg"), " "); got != c.want {
			t.Errorf("%+v: %q, want %q", c.x, got, c.want)
		}
	}
}

func mustGetwd(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestTry takes a command line the whole way.
func TestTry(t *testing.T) {
	state := realState(t)
	dir := filepath.Join(t.TempDir(), "results")
	saved := filepath.Join(t.TempDir(), "saved.yaml")
	p := start(t, state, "try", "--platforms", "native", "--blocks", "2", "--save", saved, "-o", dir, "--metric", "n=regex:(.*)", "--", "echo", "7")
	p.end()
	for _, o := range outcomes(t, dir) {
		if o.Status != bench.Done || len(o.Values) != 2 || o.Values[0].Metric != "n" || o.Values[0].Value != 7 {
			t.Errorf("%s: %s: %s: %v", o.Trial, o.Status, o.Error, o.Values)
		}
	}
	if text, err := os.ReadFile(saved); err != nil || !strings.Contains(string(text), "- echo") {
		t.Errorf("saved %q, %v", text, err)
	}
	p = start(t, state, "try", "--save", saved, "--", "true")
	p.ends(exitUsage)
	p.says("exists already")
	p = start(t, state, "try", "--save", saved+".again", "--platforms", "native", "--", "nosuchprogram")
	p.ends(exitInvalid)
	if _, err := os.Stat(saved + ".again"); err == nil {
		t.Error("saved a program that no instance has")
	}
	invalid := filepath.Join(t.TempDir(), "invalid.yaml")
	start(t, state, "try", "--save", invalid, "--metric", "n=regex:(", "--", "true").ends(exitInvalid)
	if _, err := os.Stat(invalid); err == nil {
		t.Error("saved what is not valid")
	}
}

// A kernel on the command line is booted without an agent, with its disk, and its server answers the client.
func TestTryBootsAKernel(t *testing.T) {
	state := realState(t)
	img, err := image.New(state).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	k := vmtest.Served(t, bench.Env{Dir: t.TempDir(), Image: img, AgentPath: filepath.Join(bin, "tare-agent")})
	dir := filepath.Join(t.TempDir(), "results")
	const ask = `exec 3<>/dev/tcp/{server}/{port} && printf 'GET / HTTP/1.0\r\n\r\n' >&3 && cat <&3`
	p := start(t, state, "try", "--kernel", k.Kernel.Path, "--initrd", k.Initrd.Path, "--append", k.Append+" disk=/dev/vda", "--disk", vmtest.Disk(t),
		"--ready", "tcp:"+strconv.Itoa(k.Port), "--blocks", "1", "-o", dir,
		"--metric", "length=regex:Content-Length: (.*)", "--", "bash", "-c", ask)
	p.end()
	all := outcomes(t, dir)
	if len(all) != 1 {
		t.Fatalf("%d trials:\n%s", len(all), p.stderr())
	}
	for _, o := range all {
		if o.Status != bench.Done || len(o.Values) != 2 || o.Values[0].Value != float64(len(vmtest.Answer)) || !o.Actors[0].Platform.Agentless() ||
			!strings.Contains(o.Actors[0].Facts[bench.FactOwnKernel], ", disk sha256:") {
			t.Errorf("%s: %s: %s: %v", o.Trial, o.Status, o.Error, o.Values)
		}
	}
}
