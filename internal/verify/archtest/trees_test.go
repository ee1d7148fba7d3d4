package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// removers are the packages that may delete trees by os.RemoveAll, with the reason. All
// others delete by package tree, which deletes nothing through a mount.
var removers = map[string]string{
	"verify/powercut":            "part of tests",
	"platform/platformtest":      "part of tests",
	"platform/launch/launchtest": "part of tests",
}

// Trees are deleted in one place, which looks for mounts first.
func TestTreesAreRemovedInOnePlace(t *testing.T) {
	looked := 0
	for _, top := range []string{"../..", "../../../cmd"} {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			looked++
			if removers[strings.TrimPrefix(filepath.Dir(path), "../../")] != "" {
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
