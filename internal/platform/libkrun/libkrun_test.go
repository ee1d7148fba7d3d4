package libkrun

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/runtime-spec/specs-go"

	"tare/internal/bench"
	"tare/internal/platform/platformtest"
)

func TestConformance(t *testing.T) { platformtest.Run(t, New(), platformtest.Options{}) }

func TestAdapt(t *testing.T) {
	limit, pids := int64(256*bench.MiB), int64(64)
	s := specs.Spec{
		Process: &specs.Process{Args: []string{"/.tare-agent", "serve"}},
		Linux: &specs.Linux{Resources: &specs.LinuxResources{
			Memory: &specs.LinuxMemory{Limit: &limit, Swap: &limit}, Pids: &specs.LinuxPids{Limit: &pids},
		}},
	}
	unenforced, err := adapt(&s, bench.Launch{Shape: bench.Shape{CPUs: 2, Memory: 256 * bench.MiB, Pids: 64}})
	if d := cmp.Diff([]string{"pids limit"}, unenforced); d != "" || err != nil {
		t.Error(d, err)
	}
	got, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"args":["/.tare-agent","serve","--own-kernel"]`, `"annotations":{"krun.cpus":"2","krun.ram_mib":"256"}`,
		`"resources":{"memory":{"limit":805306368,"swap":805306368}}`,
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	for want, shape := range map[string]bench.Shape{
		"17 CPUs": {CPUs: 17, Memory: bench.GiB}, "memory 128 MiB": {CPUs: 1, Memory: 128 * bench.MiB},
		"whole MiB": {CPUs: 1, Memory: bench.GiB + bench.KiB},
	} {
		if _, err := adapt(&s, bench.Launch{Shape: shape}); !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestRefuse(t *testing.T) {
	for version, ok := range map[string]bool{
		"1.27": true, "1.27.1": true, "1.28": true, "2.0": true, "1.27-rc1": true, "1.28+dev": true,
		"1.8.1": false, "1.26": false, "0.21": false, "": false, "1": false, "x.y": false, "1.x": false,
	} {
		if err := refuse(version); (err == nil) != ok || err != nil && version != "" && !strings.Contains(err.Error(), version) {
			t.Errorf("%q: %v", version, err)
		}
	}
}

func FuzzRefuse(f *testing.F) {
	f.Add("1.27.1-4-gabc")
	f.Fuzz(func(t *testing.T, version string) { _ = refuse(version) })
}

// What the program says of itself decides: as printed by Debian's crun 1.8.1 and by
// Fedora's with libkrun.
func TestCheck(t *testing.T) {
	for name, c := range map[string]struct{ says, want string }{
		"absent":    {"", "krun is not installed"},
		"too old":   {"crun version 1.9\ncommit: a538ac4\nspec: 1.0.0\n+SYSTEMD +SECCOMP +CRIU +LIBKRUN +YAJL", "krun 1.9 is too old"},
		"without":   {"crun version 1.28\ncommit: f8a096b\nrundir: /run/crun\nspec: 1.0.0\n+SYSTEMD +SELINUX +YAJL", "built without +LIBKRUN"},
		"something": {"krun: no such option", "no version"},
		"with":      {"crun version 1.28\ncommit: f8a096b\nspec: 1.0.0\n+SYSTEMD +SELINUX +CAP +SECCOMP +LIBKRUN", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if _, err := exec.LookPath("krun"); c.says == "" && err == nil {
				t.Skip("krun is installed here")
			}
			if c.says != "" {
				script := "#!/bin/sh\necho '" + c.says + "'\n"
				if err := os.WriteFile(filepath.Join(dir, "krun"), []byte(script), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
			a, err := New().Check(t.Context())
			if os.Geteuid() != 0 {
				t.Skip(err)
			}
			if c.want == "" {
				if err != nil && !strings.Contains(err.Error(), "/dev/kvm") || err == nil && a.Version != "1.28" {
					t.Errorf("%+v, %v", a, err)
				}
				return
			}
			if !errors.Is(err, bench.ErrUnavailable) || !strings.Contains(err.Error(), c.want) || !strings.Contains(bench.HintOf(err), "crun-krun") {
				t.Errorf("%v (hint %q)", err, bench.HintOf(err))
			}
		})
	}
}
