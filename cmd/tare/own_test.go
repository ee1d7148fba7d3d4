package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"tare/internal/bench"
)

// teller tells of the process that it is, or answers everyone.
const teller = `package main

import (
	"fmt"
	"net"
	"os"
)

func main() {
	if os.Args[len(os.Args)-1] == "listen" {
		l, err := net.Listen("tcp", ":"+os.Getenv("TARE_PORT"))
		for err == nil {
			var c net.Conn
			if c, err = l.Accept(); err == nil {
				fmt.Fprint(c, "seven\n")
				c.Close()
			}
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	dir, _ := os.Getwd()
	fmt.Printf("{\"uid\": %d, \"args\": %d, \"colour\": %q, \"dir\": %d}\n", os.Getuid(), len(os.Args)-1, os.Getenv("COLOUR"), len(dir))
}
`

// savedImage writes what docker save would of an image that has one static program and no shell.
func savedImage(t *testing.T, command string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"main.go": teller, "go.mod": "module teller\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-o", "app", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	app, err := os.ReadFile(filepath.Join(dir, "app"))
	if err != nil {
		t.Fatal(err)
	}
	layer := tarOf(t, "usr/bin/app", app, "etc/passwd", []byte("worker:x:1234:1234::/home/worker:/bin/none\n"))
	config := fmt.Appendf(nil, `{"architecture": %q, "os": "linux", "rootfs": {"type": "layers", "diff_ids": ["sha256:%x"]},
		"config": {"User": "worker", "Env": ["COLOUR=7", "PATH=/usr/bin"], "WorkingDir": "/data/in", "Entrypoint": ["app", "fixed"], "Cmd": ["by", %q]}}`,
		runtime.GOARCH, sha256.Sum256(layer), command)
	file := filepath.Join(dir, "saved.tar")
	saved := tarOf(t, "config.json", config, "layer.tar", layer, "manifest.json", []byte(`[{"Config": "config.json", "Layers": ["layer.tar"]}]`))
	if err := os.WriteFile(file, saved, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// tarOf is an archive of files: a string with a name, and bytes with what is in it.
func tarOf(t *testing.T, files ...any) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		text := files[i+1].([]byte)
		err := w.WriteHeader(&tar.Header{Name: files[i].(string), Mode: 0o755, Size: int64(len(text))})
		if err == nil {
			_, err = w.Write(text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// An image of one's own runs as it would in Docker, on every kind of platform.
func TestOwnImage(t *testing.T) {
	state := realState(t)
	file := savedImage(t, "default")
	metrics := []string{"--metric", "uid=json:uid", "--metric", "args=json:args", "--metric", `colour=regex:"colour": "(\d+)"`, "--metric", "dir=json:dir"}
	for name, c := range map[string]struct {
		argv []string
		args float64
	}{
		"its own command":      {nil, 3}, // the entrypoint's one and the command's two
		"after its entrypoint": {[]string{"--", "one"}, 2},
	} {
		dir := filepath.Join(t.TempDir(), "results")
		argv := append([]string{"try", "--image", file, "--file", file, "--platforms", "native,docker,lxc,gvisor,qemu-tcg", "--blocks", "2", "-o", dir}, metrics...)
		p := start(t, state, append(argv, c.argv...)...)
		p.end()
		all := outcomes(t, dir)
		if len(all) != 10 {
			t.Errorf("%s: %d outcomes of 10 trials:\n%s", name, len(all), p.stderr())
		}
		for _, o := range all {
			got := map[string]float64{}
			for _, v := range o.Values {
				got[v.Metric] = v.Value
			}
			if o.Status != bench.Done || got["uid"] != 1234 || got["args"] != c.args || got["colour"] != 7 || got["dir"] != float64(len("/data/in")) {
				t.Errorf("%s: %s: %s: %s: %v", name, o.Scene, o.Status, o.Error, got)
			}
		}
	}
	spec := writeSpec(t, "native, docker", "  - {name: cpu, workload: sysbench-cpu}\n")
	p := start(t, state, "run", spec, "--set", "image.from="+file, "-o", filepath.Join(t.TempDir(), "results"))
	p.ends(exitInvalid)
	p.says("your image lacks")
	p = start(t, state, "run", spec, "--set", "image.from="+spec)
	p.ends(exitInvalid)
	p.says("not a tar archive")
}

// The client of an image that serves runs in the golden image, which has a perl and this one not.
func TestOwnImageServes(t *testing.T) {
	state := realState(t)
	for name, c := range map[string]struct{ command, serve string }{
		"what is said": {"default", "listen"}, "by its own command": {"listen", ""},
	} {
		dir := filepath.Join(t.TempDir(), "results")
		p := start(t, state, "try", "--image", savedImage(t, c.command), "--platforms", "native,docker", "--blocks", "1", "-o", dir, "--serve", c.serve, "--ready", "tcp:7000",
			"--metric", "got=regex:(.*)", "--", "perl", "-e",
			`use Socket; socket(S,PF_INET,SOCK_STREAM,0); connect(S,sockaddr_in($ARGV[1],inet_aton($ARGV[0]))) or die; print <S> eq "seven\n" ? 7 : 0`, "{server}", "{port}")
		p.end()
		all := outcomes(t, dir)
		if len(all) != 2 {
			t.Errorf("%s: %d outcomes of 2 trials:\n%s", name, len(all), p.stderr())
		}
		for _, o := range all {
			if o.Status != bench.Done || len(o.Values) != 2 || o.Values[0].Value != 7 {
				t.Errorf("%s: %s: %s: %s: %v", name, o.Scene, o.Status, o.Error, o.Values)
			}
		}
	}
}
