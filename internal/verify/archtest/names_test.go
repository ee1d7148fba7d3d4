package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tare/internal/platform/all"
)

// mayName are the places outside of the drivers' folders and of platform/all that
// name platforms, as of [path.Match], and why they may. Whoever adds a platform has to change none of them.
var mayName = map[string]string{
	"cmd/tare/ab.go":                      "an example in a help text",
	"cmd/tare/try.go":                     "what a command is tried on unless one says otherwise",
	"cmd/tare/list.go":                    "an example in a help text",
	"cmd/tare/plan.go":                    "an example in a help text",
	"cmd/tare/reproduce.go":               "examples in help texts",
	"cmd/tare/selftest_*.go":              "what is tested unless one says otherwise; observing is compared with docker stats",
	"internal/app/prove/*.go":             "observing is compared with docker stats",
	"internal/app/session/ready.go":       "one of the forms of the image that are measured is that in Docker's store",
	"internal/bench/ref.go":               "the usual baseline, where peers run as well",
	"internal/host/hypervisor.go":         "what a device tree calls the hypervisor under a guest",
	"internal/image/hosts.go":             "the programs and packages of the outer guests' image: a change makes a new image",
	"internal/image/own/own.go":           "the engines of this host whose images can be taken",
	"internal/platform/launch/version.go": "whichever driver asks crun for its version must leave nothing",
	"internal/platform/vm/qemu.go":        "what QEMU calls an accelerator",
	"internal/selftest/costspec.go":       "observing is compared with docker stats",
	"internal/selftest/watch.go":          "the part that a process of Docker's plays",
	"internal/selftest/numbers/*.go":      "the figures that the project promises of these platforms",
	"internal/spec/*.go":                  "examples in hints",
}

// TestNobodyNamesDrivers looks for the names of platforms among the words of the
// source, outside of the drivers' own folders and of what only tests use.
func TestNobodyNamesDrivers(t *testing.T) {
	var names []string
	for _, p := range all.Platforms("") {
		names = append(names, p.Name())
	}
	places := slices.Sorted(maps.Keys(mayName))
	found := map[string][]string{}
	for at, file := range sourceFiles(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.Field:
				n.Tag = nil
			case *ast.BasicLit:
				if n.Kind != token.STRING {
					break
				}
				word, err := strconv.Unquote(n.Value)
				if err != nil {
					t.Fatal(err)
				}
				if name := nameIn(word, names); name != "" && !slices.Contains(found[at], name) {
					found[at] = append(found[at], name)
				}
			}
			return true
		})
	}
	used := map[string]bool{}
	for _, file := range slices.Sorted(maps.Keys(found)) {
		says := file + " names " + strings.Join(found[file], ", ")
		where := slices.IndexFunc(places, func(place string) bool { ok, _ := path.Match(place, file); return ok })
		if where < 0 {
			t.Errorf("%s: what it knows of a platform belongs into the driver's Traits", says)
			continue
		}
		used[places[where]] = true
		t.Logf("%s: %s", says, mayName[places[where]])
	}
	for _, place := range places {
		if !used[place] {
			t.Errorf("%s names no platform: take it off the list", place)
		}
	}
}

// nameIn is the name that a word is, or one in a list of names and variants such
// as "docker[net=host]@kvm, lxc"; "" if it has none.
func nameIn(word string, names []string) string {
	for part := range strings.FieldsFuncSeq(word, func(r rune) bool { return strings.ContainsRune(",@[]|='", r) }) {
		if part = strings.TrimSpace(part); slices.Contains(names, part) {
			return part
		}
	}
	return ""
}

// sourceFiles are those of the program, but for drivers and what only tests use.
func sourceFiles(t *testing.T) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	for _, top := range []string{"cmd", "internal"} {
		err := filepath.WalkDir(filepath.Join("../../..", top), func(path string, d fs.DirEntry, err error) error {
			name := filepath.ToSlash(strings.TrimPrefix(path, "../../../"))
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "testdata" || strings.HasSuffix(name, "test") && name != "internal/selftest" || name == "internal/verify" || isDriver(name)):
				return filepath.SkipDir
			case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			files[name], err = parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(files) < 200 {
		t.Fatalf("only %d files were found", len(files))
	}
	return files
}

// shared are the folders of internal/platform that are no drivers.
var shared = []string{"criu", "launch", "microvm", "nest", "oci", "trial", "vm"}

// isDriver says whether the folder is a driver's, or lists them.
func isDriver(folder string) bool {
	name, below := strings.CutPrefix(folder, "internal/platform/")
	return below && !strings.Contains(name, "/") && !slices.Contains(shared, name)
}

func TestNameIn(t *testing.T) {
	names := []string{"docker", "kvm", "xen-pv"}
	for word, want := range map[string]string{
		"docker": "docker", "docker[net=host]": "docker", "runc@kvm": "kvm", "native, docker": "docker", "runtime=kvm": "kvm",
		"docker stats": "", "dockerd": "", "xen": "", "": "", "such as xen-pv": "",
	} {
		if got := nameIn(word, names); got != want {
			t.Errorf("%q names %q, want %q", word, got, want)
		}
	}
	if fmt.Sprint(isDriver("internal/platform/docker"), isDriver("internal/platform/launch"), isDriver("internal/platform"), isDriver("internal/plan")) != "true false false false" {
		t.Error("drivers are not told from others")
	}
}
