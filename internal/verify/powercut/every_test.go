package powercut

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// durable are the packages that promise what a loss of power must not break, each with a TestDurable.
var durable = []string{"store", "ledger", "selftest", "image"}

// forcing are the names of the functions that force something to disk, beside the method Sync of a file.
var forcing = []string{"Sync", "syncDir", "syncFile", "settle"}

// TestEverySync takes the calls that force something to disk out of the source, one at a time, and sees TestDurable of the package fail.
func TestEverySync(t *testing.T) {
	if os.Getenv("TARE_LONG") == "" {
		t.Skip("compiles a package for each call, a minute or two: TARE_LONG=1 runs it")
	}
	for _, name := range durable {
		dir, err := filepath.Abs(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			set := token.NewFileSet()
			tree, err := parser.ParseFile(set, path, text, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(tree, func(node ast.Node) bool {
				call, ok := node.(*ast.CallExpr)
				if !ok || !forces(call) {
					return true
				}
				n++
				at := set.Position(call.Pos())
				t.Run(fmt.Sprintf("%s/%s:%d:%d", name, filepath.Base(path), at.Line, at.Column), func(t *testing.T) {
					without := slices.Concat(text[:at.Offset], []byte("error(nil)"), text[set.Position(call.End()).Offset:])
					out := testWith(t, name, path, without)
					if !bytes.Contains(out, []byte("--- FAIL: TestDurable")) {
						t.Errorf("TestDurable does not fail without %s:\n%s", text[at.Offset:set.Position(call.End()).Offset], out)
					}
				})
				return true
			})
		}
		if n == 0 {
			t.Errorf("package %s forces nothing to disk", name)
		}
	}
}

func forces(call *ast.CallExpr) bool {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return slices.Contains(forcing, f.Name)
	case *ast.SelectorExpr:
		return f.Sel.Name == "Sync"
	}
	return false
}

// testWith runs a package's TestDurable with another text of one file.
func testWith(t *testing.T, name, path string, text []byte) []byte {
	t.Helper()
	dir := t.TempDir()
	other := filepath.Join(dir, "other.go")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: other}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	for file, data := range map[string][]byte{other: text, list: overlay} {
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, _ := exec.Command("go", "test", "-overlay", list, "-vet=off", "-count=1", "-run", "^TestDurable", "tare/internal/"+name).CombinedOutput()
	return out
}
