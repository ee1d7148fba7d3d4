// Package launchtest sets up what the container platforms' own tests share: a
// test network, a ledger, a root file system of a few empty directories and an echo in
// the agent's place. What holds for every platform is tested by platformtest.
package launchtest

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/host/testnet"
	"tare/internal/state/ledger"
)

// Env is the surroundings of one test.
type Env struct {
	bench.Env
	State  string // the state directory
	Ledger *ledger.Ledger
}

// New sets them up; they are removed when the test ends. The test is skipped
// without root.
func New(t testing.TB, name string) Env {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("namespaces and cgroups need root")
	}
	state, err := os.MkdirTemp("/var/tmp", name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(state) })
	return in(t, state, name)
}

// in sets them up in the state directory.
func in(t testing.TB, state, name string) Env {
	t.Helper()
	suffix := make([]byte, 4)
	rand.Read(suffix)
	run := name + "-" + hex.EncodeToString(suffix)
	led, err := ledger.Open(state, run)
	if err != nil {
		t.Fatal(err)
	}
	net, err := testnet.New(t.Context(), run, led)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := net.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	e := Env{State: state, Ledger: led}
	e.Env = bench.Env{Run: run, Image: root(t), Testnet: net, Ledger: led, Dir: state, AgentPath: echo(t)}
	return e
}

// Launch asks for an instance on CPU 0 with 256 MiB and the platform's default
// options, changed by options.
func (e Env) Launch(t testing.TB, p bench.Platform, id string, options map[string]string) bench.Launch {
	t.Helper()
	l := bench.Launch{
		ID: e.Run + "-" + id, CPUSet: []int{0}, Options: map[string]string{}, Dir: filepath.Join(e.State, e.Run+"-"+id),
		Shape: bench.Shape{CPUs: 1, Memory: 256 * bench.MiB, Disk: bench.GiB, Pids: 64},
	}
	for _, o := range p.Options() {
		l.Options[o.Name] = o.Default
	}
	for k, v := range options {
		l.Options[k] = v
	}
	if err := os.Mkdir(l.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(l.Dir) })
	return l
}

// Greet waits for the echo's greeting.
func Greet(t testing.TB, i bench.Instance) *bufio.Reader {
	t.Helper()
	r := bufio.NewReader(i.Stream())
	got := make(chan string, 1)
	go func() {
		line, _ := r.ReadString('\n')
		got <- line
	}()
	select {
	case line := <-got:
		if line != "echo\n" {
			t.Fatalf("greeting %q; log:\n%s", line, i.Log())
		}
	case <-time.After(time.Minute):
		t.Fatalf("no greeting within a minute; log:\n%s", i.Log())
	}
	return r
}

// Echo sends n random bytes and expects them back.
func Echo(t testing.TB, i bench.Instance, r io.Reader, n int) {
	t.Helper()
	sent, got := make([]byte, n), make([]byte, n)
	rand.Read(sent)
	go i.Stream().Write(sent)
	if _, err := io.ReadFull(r, got); err != nil {
		t.Fatalf("%v; log:\n%s", err, i.Log())
	}
	if string(sent) != string(got) {
		t.Error("the stream does not return what was sent")
	}
}

// Held returns what is registered for the test besides the test network's own things.
func (e Env) Held(t testing.TB) []string {
	t.Helper()
	entries, err := e.Ledger.Held()
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, h := range entries {
		if h.Name != e.Testnet.NetNS() && h.Name != filepath.Dir(e.Testnet.NetNS()) {
			list = append(list, h.Kind+" "+h.Name)
		}
	}
	return list
}

// Remains lists what is left on the host of the name: processes that carry it
// in their mark, cgroups and mounts.
func Remains(t testing.TB, name string) []string {
	t.Helper()
	var list []string
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range environs {
		env, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(env), bench.ProcessMark+"="+name) {
			args, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			list = append(list, "process "+strings.ReplaceAll(string(args), "\x00", " "))
		}
	}
	for _, pattern := range []string{"/sys/fs/cgroup/*/tare/", "/sys/fs/cgroup/tare/"} {
		groups, err := filepath.Glob(pattern + name + "*")
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, groups...)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(mounts), "\n") {
		if strings.Contains(line, name) && !strings.Contains(line, bench.RuntimeDir) {
			list = append(list, "mount "+line)
		}
	}
	return list
}

// echoEnv hands the echo's binary on to a test binary started again; whoever runs
// many tests may set it.
const echoEnv = "TARE_TEST_ECHO"

// echo builds the stand-in for the agent.
func echo(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(echoEnv); path != "" {
		return path
	}
	path := filepath.Join(t.TempDir(), "echo")
	cmd := exec.Command("go", "build", "-o", path, "tare/internal/platform/launch/testdata/echo")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the echo: %v\n%s", err, out)
	}
	return path
}

// image is a root file system of empty directories.
type image struct{ dir, tar, disk string }

func root(t testing.TB) image {
	t.Helper()
	im := image{dir: filepath.Join(t.TempDir(), "root"), tar: filepath.Join(t.TempDir(), "root.tar"),
		disk: filepath.Join(t.TempDir(), "root.ext4")}
	for _, d := range []string{"dev", "etc", "proc", "run", "scratch", "sys", "tmp", "usr/bin"} {
		if err := os.MkdirAll(filepath.Join(im.dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("tar", "-C", im.dir, "-cf", im.tar, ".").CombinedOutput(); err != nil {
		t.Fatalf("tar: %v\n%s", err, out)
	}
	return im
}

func (image) Digest() string                         { return "sha256:" + strings.Repeat("0123456789abcdef", 4) }
func (i image) Root(context.Context) (string, error) { return i.dir, nil }
func (i image) Tar(context.Context) (string, error)  { return i.tar, nil }

// Disk has a file system, and nothing in it that could be run.
func (i image) Disk(ctx context.Context) (string, error) {
	return i.disk, exec.CommandContext(ctx, "mkfs.ext4", "-q", "-F", "-d", i.dir, i.disk, "16M").Run()
}

func (image) Kernel(context.Context) (string, string, error) {
	panic("no container takes a kernel")
}
