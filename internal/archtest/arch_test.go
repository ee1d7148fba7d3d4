// Package archtest checks that imports point the way docs/ARCHITECTURE.md says.
package archtest

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// allowed is what each package may import of the project. A name ending in /
// stands for every package below it.
var allowed = map[string][]string{
	"bench":     {},
	"stats":     {},
	"clock":     {},
	"proc":      {},
	"cage":      {},
	"serial":    {},
	"pagecache": {},
	"trace":     {"agent", "bench"},
	"spec":      {"bench"},
	"plan":      {"bench", "spec", "stats"},
	"agent":     {"bench", "clock", "proc"},
	"cgroup":    {"bench"},
	"statedir":  {"bench"},
	"ledger":    {"bench", "cgroup", "statedir", "tool", "tree"},
	"lab":       {"bench", "tool", "tree"},
	"host":      {"bench", "cgroup", "proc", "tool"},
	"guest":     {"agent", "bench", "serial", "xenpipe"},
	"image":     {"bench", "statedir", "tool", "tree"},
	"kept":      {"bench", "image", "tree"},
	"tool":      {"bench"},
	"tree":      {"bench"},
	"meter":     {"bench", "meter/domain", "meter/idle", "proc"},
	"store":     {"bench", "host"},

	"xenpipe": {},

	"workload":   {"bench"},
	"experiment": {"bench"},
	"audit":      {"bench", "host", "stats"},
	"stop":       {"bench", "stats"},
	"overhead":   {"audit", "bench", "host", "stats", "stop", "store"},
	"compare":    {"audit", "bench", "overhead", "stats", "store"},
	"report":     {"audit", "bench", "compare", "overhead"},
	"selftest":   {"bench", "host", "overhead", "stats", "stop"},
	"outercage":  {"bench", "cgroup"},
	"run":        {"agent", "bench", "cgroup", "clock", "meter", "meter/sched", "outercage", "pagecache", "proc", "stats", "trace", "tree"},

	"power":         {"bench", "power/"},
	"power/source":  {"bench"},
	"power/snmp":    {"bench", "power/source"},
	"power/ipmi":    {"bench", "power/source"},
	"power/redfish": {"bench", "power/source"},
	"power/rapl":    {"bench", "power/source"},
	"power/sensor":  {"bench", "power/source"},
	"power/model":   {"bench", "power/source", "proc"},

	"power/powertest": {"clock"},

	"meter/domain": {"bench"},
	"meter/idle":   {"bench"},
	"meter/sched":  {"bench", "proc"},

	"platform/all":    {"bench", "image", "platform/"},
	"platform/nest":   {"agent", "bench", "clock", "nested/wire", "platform/launch", "tool", "tree"},
	"platform/launch": {"bench", "cage", "cgroup", "clock", "tool"},
	"platform/native": {"bench", "cage", "cgroup", "clock", "platform/launch"},
	"platform/vm":     {"bench", "cgroup", "platform/launch", "platform/trial", "tool"},
	"platform/trial":  {"agent", "bench", "platform/launch", "tree"},
	"platform/fake":   {"agent", "bench", "clock"},

	"platform/criu": {"bench", "platform/launch"},
	"platform/oci":  {"bench", "cgroup", "clock", "platform/criu", "platform/launch"},

	"platform/containerd": {"bench", "cgroup", "platform/launch", "platform/oci"},

	"nested/wire":           {"bench"},
	"nested":                {"bench", "cgroup", "clock", "guest", "lab", "ledger", "meter", "nested/wire", "tool"},
	"platform/platformtest": {"agent", "bench", "cgroup", "clock", "image", "lab", "ledger", "statedir", "trace"},
	"store/storetest":       {"bench", "host", "store"},
	"spec/spectest":         {"bench", "spec"},

	"platform/microvm": {"bench", "cgroup", "platform/launch", "platform/vm", "serial"},

	"platform/microvm/microvmtest": {"bench", "platform/launch/launchtest", "platform/microvm", "platform/platformtest", "platform/vm"},

	"platform/launch/launchtest": {"bench", "clock", "lab", "ledger", "platform/launch"},

	"numbers": {"agent", "bench", "cage", "clock", "image", "lab", "ledger", "overhead", "platform/", "stats", "store/storetest", "trace", "tree", "workload"},

	"endure": {"bench", "image", "ledger", "store", "survey", "tree"},
	"survey": {"bench"},

	"archtest": {},
	"powercut": {"systrace"},
	"systrace": {},
	"testsum":  {},
}

// driver is what a package under platform may import that has no entry above.
var driver = []string{"agent", "bench", "cgroup", "clock", "platform/criu", "platform/launch", "platform/microvm", "platform/oci", "platform/vm", "serial", "tool", "tree", "xenpipe"}

// outside names the only packages that may import a module other than the
// standard library and golang.org/x/sys, with the modules.
var outside = map[string][]string{
	"stats":            {"gonum.org/"},
	"selftest":         {"gonum.org/"},
	"spec":             {"github.com/goccy/go-yaml"},
	"meter/idle":       {"github.com/cilium/ebpf"},
	"meter/sched":      {"github.com/cilium/ebpf"},
	"power/snmp":       {"github.com/gosnmp/gosnmp"},
	"power/ipmi":       {"github.com/bougou/go-ipmi/"},
	"lab":              {"github.com/vishvananda/"},
	"ledger":           {"github.com/vishvananda/netlink"},
	"platform/launch":  {"github.com/vishvananda/"},
	"platform/docker":  {"github.com/moby/", "github.com/containerd/errdefs", "github.com/vishvananda/netlink"},
	"platform/oci":     {"github.com/opencontainers/runtime-spec/"},
	"platform/criu":    {"google.golang.org/protobuf/encoding/protowire"},
	"platform/libkrun": {"github.com/opencontainers/runtime-spec/"},
	"platform/qemu":    {"github.com/ulikunitz/xz"},
}

type pkg struct {
	ImportPath string
	Imports    []string
	Standard   bool
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "tare/internal/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var ps []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return ps
		} else if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
}

func TestImportsPointOneWay(t *testing.T) {
	ps := packages(t)
	if len(ps) < 15 {
		t.Fatalf("only %d packages found", len(ps))
	}
	for _, p := range ps {
		name := strings.TrimPrefix(p.ImportPath, "tare/internal/")
		may, known := allowed[name]
		if in, below := strings.CutPrefix(name, "platform/"); below && !known && !strings.Contains(in, "/") {
			may, known = driver, true
		}
		if !known {
			t.Errorf("package %s has no place in the map; give it one here and in docs/ARCHITECTURE.md", name)
			continue
		}
		for _, i := range p.Imports {
			to, ours := strings.CutPrefix(i, "tare/internal/")
			switch {
			case ours && !permits(may, to):
				t.Errorf("%s imports %s, which the map does not allow", name, to)
			case !ours && strings.Contains(strings.SplitN(i, "/", 2)[0], ".") && !strings.HasPrefix(i, "golang.org/x/sys/"):
				if !slices.ContainsFunc(outside[name], func(m string) bool { return strings.HasPrefix(i, m) }) {
					t.Errorf("%s imports %s; only the packages listed may use a library", name, i)
				}
			}
		}
	}
}

func permits(may []string, to string) bool {
	return slices.ContainsFunc(may, func(m string) bool {
		return m == to || strings.HasSuffix(m, "/") && strings.HasPrefix(to, m)
	})
}

// sharedByDrivers are the packages below platform/ that are no drivers.
var sharedByDrivers = []string{
	"platform/criu", "platform/launch", "platform/microvm", "platform/oci", "platform/trial", "platform/vm",
	"platform/launch/launchtest", "platform/platformtest",
}

// A driver never imports another driver.
func TestDriversKeepApart(t *testing.T) {
	for name, may := range allowed {
		if !strings.HasPrefix(name, "platform/") || name == "platform/all" {
			continue
		}
		for _, m := range may {
			if strings.HasPrefix(m, "platform/") && !slices.Contains(sharedByDrivers, m) {
				t.Errorf("the map lets %s import %s", name, m)
			}
		}
	}
}

// removers are the packages that may delete trees by os.RemoveAll, with the reason. All
// others delete by package tree, which deletes nothing through a mount.
var removers = map[string]string{
	"powercut":                   "part of tests",
	"platform/platformtest":      "part of tests",
	"platform/launch/launchtest": "part of tests",
}

// Trees are deleted in one place, which looks for mounts first.
func TestTreesAreRemovedInOnePlace(t *testing.T) {
	looked := 0
	for _, top := range []string{"..", "../../cmd"} {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			looked++
			if removers[strings.TrimPrefix(filepath.Dir(path), "../")] != "" {
				return nil
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok || s.Sel.Name != "RemoveAll" {
					return true
				}
				if pkg, ok := s.X.(*ast.Ident); ok && pkg.Name == "os" {
					t.Errorf("%s: os.RemoveAll deletes through mounts: use tree.Remove", fset.Position(s.Pos()))
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if looked < 200 {
		t.Errorf("only %d files found", looked)
	}
}
