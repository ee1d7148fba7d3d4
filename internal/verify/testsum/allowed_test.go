package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/host"
	"tare/internal/platform/all"
)

// The list can be read, and no condition is the lack of a program that set-up installs.
func TestAllowedSkips(t *testing.T) {
	allowed, err := readAllowed("allowed-skips")
	if err != nil || len(allowed) < 20 {
		t.Fatalf("%d entries, %v", len(allowed), err)
	}
	if allowed["uml.TestConformance"] != "amx" {
		t.Errorf("User-mode Linux may be skipped where %q", allowed["uml.TestConformance"])
	}
	for name, c := range allowed {
		program, is := strings.CutPrefix(string(c), without)
		for _, p := range host.Programs(all.Platforms("")) {
			if is && p.Name == program && !p.Optional {
				t.Errorf("%s: %s is in package %s", name, program, p.Package)
			}
		}
	}
}

func TestReadAllowed(t *testing.T) {
	for text, want := range map[string]string{
		"# a comment\n\nx.TestA [always] it says so\nx.TestB/of_c [without nosuch] none\n": "",
		"x.TestA it is slow\n":                 "allowed-skips:1: x.TestA has no condition",
		"\nx.TestA\n":                          "allowed-skips:2: x.TestA has no condition",
		"x.TestA [no kvm paravirtual\n":        "allowed-skips:1: x.TestA has no condition",
		"x.TestA [full moon] it is dark\n":     "allowed-skips:1: x.TestA has no condition",
		"x.TestA [without ] which?\n":          "allowed-skips:1: x.TestA has no condition",
		"x.TestA [amx]\n":                      "allowed-skips:1: x.TestA: why",
		"x.TestA [always] a\nx.TestB [amx] \n": "allowed-skips:2: x.TestB: why",
	} {
		path := filepath.Join(t.TempDir(), "allowed-skips")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		allowed, err := readAllowed(path)
		if want == "" && (err != nil || len(allowed) != 2 || allowed["x.TestB/of_c"] != "without nosuch") {
			t.Errorf("%q: %v, %v", text, allowed, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := readAllowed(t.TempDir() + "/none"); err == nil {
		t.Error("no list was read")
	}
}

// The same skip is right on one host and wrong on another.
func TestJudge(t *testing.T) {
	hosts := map[string]map[string]string{
		"AMX, paravirtual KVM, v1": {"proc/cpuinfo": "processor\t: 0\nflags\t\t: fpu amx_bf16 amx_tile vmx\n", "dev/kvm": "", "sys/module/kvm_pvm": ""},
		"KVM, v2":                  {"proc/cpuinfo": "flags\t\t: fpu svm amx_tiles\n", "dev/kvm": "", "sys/fs/cgroup/cgroup.controllers": "cpu"},
		"Dom0, v2":                 {"proc/cpuinfo": "flags\t\t: fpu\n", "sys/hypervisor/type": "xen\n", "dev/kvm": "", "sys/fs/cgroup/cgroup.controllers": ""},
		"nothing known":            {},
	}
	for _, c := range []struct {
		condition condition
		right     string // the hosts where it holds
	}{
		{"amx", "AMX, paravirtual KVM, v1"},
		{"no kvm", "AMX, paravirtual KVM, v1; Dom0, v2; nothing known"},
		{"no xen", "AMX, paravirtual KVM, v1; KVM, v2; nothing known"},
		{"cgroup v1", "AMX, paravirtual KVM, v1; nothing known"},
		{"always", "AMX, paravirtual KVM, v1; KVM, v2; Dom0, v2; nothing known"},
		{"without nosuch", "AMX, paravirtual KVM, v1; KVM, v2; Dom0, v2; nothing known"},
		{"without sh", ""},
	} {
		for name, files := range hosts {
			root := t.TempDir()
			for path, text := range files {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			wrong, always := allowance{"x.TestA": c.condition}.judge(root, "x.TestA", "it cannot run here")
			if right := strings.Contains(c.right, name); right != (wrong == "") || always {
				t.Errorf("[%s] on %s: %q", c.condition, name, wrong)
			}
		}
	}
	if wrong, always := (allowance{"x.TestA": "amx"}).judge(t.TempDir(), "x.TestA", "cpio is not installed"); wrong == "" || !always {
		t.Errorf("a missing package: %q, %t", wrong, always)
	}
	if wrong, always := (allowance{}).judge("/", "x.TestA", "it cannot run here"); wrong == "" || always {
		t.Errorf("not listed: %q, %t", wrong, always)
	}
	t.Setenv("TARE_LONG", "1")
	if condition("not long").holds("/") {
		t.Error("with TARE_LONG nothing is left out for its length")
	}
}
