package vm

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/trial"
)

// hostTree makes the files of a host with the captured cpuinfo.
func hostTree(t *testing.T, cpuinfo string, paths ...string) string {
	t.Helper()
	root := t.TempDir()
	text, err := os.ReadFile("testdata/" + cpuinfo)
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{
		"proc/cpuinfo": string(text), "proc/sys/kernel/random/boot_id": "boot-1\n",
	} {
		write(t, filepath.Join(root, path), content)
	}
	for _, p := range paths {
		write(t, filepath.Join(root, p), "")
	}
	return root
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestSigns(t *testing.T) {
	for _, c := range []struct {
		what    string
		root    string
		want    signs // device is compared as there or not
		hint    string
		explain string
	}{
		{"bare metal", hostTree(t, "cpuinfo-bare-metal-svm", "dev/kvm"), signs{flag: "svm"}, "", ""},
		{"bare metal, module not loaded", hostTree(t, "cpuinfo-bare-metal-svm"), signs{flag: "svm", device: os.ErrNotExist},
			"modprobe kvm_amd", ""},
		{"nested", hostTree(t, "cpuinfo-guest-svm", "dev/kvm"), signs{flag: "svm", guest: true}, "", "nested virtualization"},
		{"paravirtual", hostTree(t, "cpuinfo-pvm", "dev/kvm", "sys/module/kvm_pvm/parameters/force"),
			signs{guest: true, pvm: true}, "", "paravirtual"},
		{"guest without", hostTree(t, "cpuinfo-pvm"), signs{guest: true, device: os.ErrNotExist}, "nested virtualization on", "neither svm nor vmx"},
	} {
		got, err := readSigns(c.root)
		if err != nil {
			t.Fatal(err)
		}
		refused := got.refuse()
		if (refused == nil) != (c.want.device == nil) || !strings.Contains(bench.HintOf(refused), c.hint) {
			t.Errorf("%s: refused with %v, hint %q", c.what, refused, bench.HintOf(refused))
		}
		if refused != nil && !errors.Is(refused, bench.ErrUnavailable) {
			t.Errorf("%s: %v does not wrap ErrUnavailable", c.what, refused)
		}
		if e := got.explain(); !strings.Contains(e, c.explain) || (c.explain == "") != (e == "") {
			t.Errorf("%s: explained as %q", c.what, e)
		}
		got.device, c.want.device = nil, nil
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.what, got, c.want)
		}
	}
	if _, err := readSigns(t.TempDir()); err == nil {
		t.Error("a host without /proc/cpuinfo was understood")
	}
}

func FuzzCPU(f *testing.F) {
	f.Add("processor\t: 0\nflags\t\t: fpu svm\n")
	f.Add("flags")
	f.Fuzz(func(t *testing.T, text string) {
		var s signs
		if err := s.cpu(text); err != nil && strings.HasPrefix(text, "flags:") {
			t.Errorf("%q: %v", text, err)
		}
	})
}

func TestVerdict(t *testing.T) {
	root := hostTree(t, "cpuinfo-pvm", "dev/kvm", "sys/module/kvm_pvm/parameters/force")
	tr := &Trial{Monitor: "qemu", State: filepath.Join(t.TempDir(), "state"), host: root}

	err := tr.Check("7.2.22")
	if !errors.Is(err, ErrNotTried) || !errors.Is(err, bench.ErrUnavailable) ||
		!strings.Contains(err.Error(), "paravirtual") || bench.HintOf(err) == "" {
		t.Errorf("before a trial: %v (hint %q)", err, bench.HintOf(err))
	}

	keep := func(version, failure string) {
		t.Helper()
		if err := tr.book().Keep(tr.name(), version, time.Now(), trial.Failure{Reason: failure}); err != nil {
			t.Fatal(err)
		}
	}
	keep("7.2.22", "")
	if err := tr.Check("7.2.22"); err != nil {
		t.Errorf("after a good trial: %v", err)
	}
	keep("7.2.21", "")
	if err := tr.Check("7.2.22"); !errors.Is(err, ErrNotTried) {
		t.Errorf("of another version: %v", err)
	}
	keep("7.2.22", "Kernel panic - not syncing")
	err = tr.Check("7.2.22")
	if errors.Is(err, ErrNotTried) || !errors.Is(err, bench.ErrUnavailable) ||
		!strings.Contains(err.Error(), "Kernel panic") || !strings.Contains(err.Error(), "paravirtual") ||
		!strings.Contains(bench.HintOf(err), tr.file()) {
		t.Errorf("after a bad trial: %v (hint %q)", err, bench.HintOf(err))
	}

	// One that was given up at its deadline holds until the next run.
	late := trial.Failure{Reason: "no program ran in the guest within 20s", Late: true}
	if err := tr.book().Keep(tr.name(), "7.2.22", time.Now(), late); err != nil {
		t.Fatal(err)
	}
	err = tr.Check("7.2.22")
	if errors.Is(err, ErrNotTried) || !errors.Is(err, bench.ErrUnavailable) || !strings.Contains(bench.HintOf(err), "the next run tries again") {
		t.Errorf("after a late trial: %v (hint %q)", err, bench.HintOf(err))
	}
	text, err := os.ReadFile(tr.file())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(tr.file(), regexp.MustCompile(`"by": ".*?"`).ReplaceAll(text, []byte(`"by": "another"`)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err = tr.Check("7.2.22"); !errors.Is(err, ErrNotTried) || !strings.Contains(err.Error(), "was given up: "+late.Reason) {
		t.Errorf("after another's late trial: %v", err)
	}
}

func TestConsole(t *testing.T) {
	seen := 0
	c := NewConsole(func() { seen++ })
	if w := c.LastWords(); w != "said nothing" {
		t.Errorf("silent: %q", w)
	}
	for _, p := range []string{"booting\r\n", "tare-", "agent: no disk\r\n"} {
		if _, err := c.Write([]byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	if !c.Shows() || seen == 0 {
		t.Error("the agent was not noticed")
	}
	if w := c.LastWords(); w != `last said "tare-agent: no disk"` {
		t.Errorf("last words %q", w)
	}
}
