package all

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/bench"
)

// TestPlatformFromOutside adds a platform as a folder and a line of the list with its
// import, by an overlay over the source. The program then knows it wherever it knows platforms.
func TestPlatformFromOutside(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	list, err := os.ReadFile("all.go")
	if err != nil {
		t.Fatal(err)
	}
	const line, imported = "\t\tnative.New(),\n", "\t\"tare/internal/platform/native\"\n"
	added := strings.Replace(string(list), line, line+"\t\ttiny.New(),\n", 1)
	added = strings.Replace(added, imported, imported+"\t\"tare/internal/platform/tiny\"\n", 1)
	if len(added) != len(list)+len("\t\ttiny.New(),\n")+len("\t\"tare/internal/platform/tiny\"\n") {
		t.Fatal("the list of drivers has no place for another")
	}
	abs := func(path string) string {
		t.Helper()
		path, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {
		abs("all.go"): write("all.go", added), abs("../tiny/tiny.go"): abs("testdata/tiny.go.txt"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	tare := filepath.Join(dir, "tare")
	build := exec.Command("go", "build", "-overlay", write("overlay.json", string(overlay)), "-o", tare, "tare/cmd/tare")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	state := filepath.Join(dir, "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	write("state/tiny-1.notes", "noted")
	ask := func(args ...string) []byte {
		t.Helper()
		cmd := exec.Command(tare, append(args, "--state", state)...)
		var words strings.Builder
		cmd.Stderr = &words
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("tare %s: %v\n%s", strings.Join(args, " "), err, words.String())
		}
		return out
	}
	read := func(into any, args ...string) {
		t.Helper()
		if err := json.Unmarshal(ask(args...), into); err != nil {
			t.Fatalf("tare %s: %v", strings.Join(args, " "), err)
		}
	}

	type known struct {
		Name, Version string
		Available     bool
		Options       []bench.Option
		On            []string
	}
	find := func(list []known) known {
		i := slices.IndexFunc(list, func(k known) bool { return k.Name == "tiny" })
		if i < 0 {
			t.Fatalf("it is not among %+v", list)
		}
		return list[i]
	}
	var platforms []known
	read(&platforms, "list", "platforms", "--json")
	listed := find(platforms)
	if len(listed.Options) != 1 {
		t.Errorf("listed %+v", listed)
	}
	for _, outer := range []string{"kvm", "qemu-tcg", "xen-pv", "xen-hvm@qemu-tcg", "kvm@qemu-tcg"} {
		if !slices.Contains(listed.On, outer) {
			t.Errorf("it does not run inside %s: %q", outer, listed.On)
		}
	}
	if kept := string(ask("image", "list")); !strings.Contains(kept, "tiny-1.notes") || !strings.Contains(kept, "what the box noted") {
		t.Errorf("what it keeps is not known: %s", kept)
	}

	var doctor struct{ Platforms []known }
	read(&doctor, "doctor", "--json")
	if p := find(doctor.Platforms); !p.Available || p.Version != "1.2.3" {
		t.Errorf("doctor says %+v", p)
	}
	spec := write("x.yaml", "name: x\ntitle: X\nbaseline: tiny\nplatforms: [tiny]\nblocks: 3\nscenes:\n  - name: up\n    startup: true\n    timing: {cooldown: 0s}\n")
	if packages := string(ask("doctor", "--packages", spec)); !strings.Contains(packages, "tiny-boxes\n") {
		t.Errorf("missing for it: %q", packages)
	}
	var plan bench.Plan
	read(&plan, "plan", spec, "--json")
	if len(plan.Scenes) != 1 || plan.Scenes[0].Estimate < 37 || plan.Scenes[0].Estimate > 38 {
		t.Errorf("planned %+v", plan.Scenes)
	}
}
