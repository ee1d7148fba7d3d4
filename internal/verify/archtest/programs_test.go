package archtest

import (
	"go/ast"
	"go/constant"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gopackages "golang.org/x/tools/go/packages"

	"tare/internal/host"
	"tare/internal/platform/all"
)

// starters are the functions that are given a program's name, and as which argument.
var starters = map[string]int{"os/exec.Command": 0, "os/exec.CommandContext": 1, "os/exec.LookPath": 0}

// inside is the source that starts programs in instances, outer guests or the
// image, whose recipes have them, or that was handed what it starts.
var inside = []string{
	"internal/guest/agent/", "internal/guest/", "internal/guest/nested/", "internal/image.askVersion", "internal/host.find", "internal/host.Program",
}

// unlisted are programs that the host's table need not have, and why.
var unlisted = map[string]string{
	"go":                      "./test builds tare with it before it asks for anything",
	"true":                    "Debian installs nothing without coreutils",
	"cat":                     "likewise",
	"dd":                      "likewise",
	"mkfifo":                  "likewise",
	"mv":                      "likewise",
	"rm":                      "likewise",
	"ls":                      "likewise",
	"firecracker":             "a platform that no package has",
	"cloud-hypervisor":        "likewise",
	"containerd-shim-kata-v2": "likewise",
	"krun":                    "likewise",
	"kata":                    "likewise",
	"echo":                    "the project's own, built for tests",
	"tare":                    "likewise",
	"tare-agent":              "likewise",
	"program":                 "there to be missing",
	"exe":                     "the test itself",
	"ld-linux-x86-64.so.2":    "in the image",
	"sleep":                   "likewise",
	"sed":                     "Debian installs nothing without it",
	"sh":                      "likewise",
	"perl":                    "likewise",
	"pidstat":                 "what observing is compared with, where it is installed",
	"perf":                    "likewise",
}

// TestProgramsAreListed follows the names of programs from the words in the
// source to what starts or looks them up. Each must be in the table by which
// set-up installs packages, and every hint and list of a driver's must agree
// with it.
func TestProgramsAreListed(t *testing.T) {
	s := readSource(t)
	listed := map[string]string{}
	packaged := map[string]bool{}
	for _, p := range host.Programs(all.Platforms("")) {
		listed[p.Name] = p.Package
		for name := range strings.SplitSeq(p.Package, "|") {
			packaged[name] = true
		}
	}
	names := s.programs()
	s.tests(t)
	s.scripts(t)
	if len(names) < 40 {
		t.Fatalf("only %d programs were found in the source", len(names))
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if listed[name] == "" && unlisted[name] == "" {
			t.Errorf("%s: %q is neither in internal/host/programs.go nor among the programs of a platform's Traits", names[name], name)
		}
	}
	for name := range unlisted {
		if names[name] == "" {
			t.Errorf("unlisted has %q, which nothing starts", name)
		}
	}
	for at, hint := range s.hints() {
		if !packaged[hint] {
			t.Errorf("%s: the hint's package %q is neither in internal/host/programs.go nor in a platform's Traits", at, hint)
		}
	}
	for at, pair := range s.pairs() {
		if program, pkg := pair[0], pair[1]; !slices.Contains(strings.Split(listed[program], "|"), pkg) {
			t.Errorf("%s: %s is said to be in package %s, by internal/host/programs.go or Traits it is in %q", at, program, pkg, listed[program])
		}
	}
}

// source is the project's source, with what is assigned to each variable,
// parameter and field. They are known by where they are declared: a package and
// its tests are two in which the same variable is another object.
type source struct {
	packages []*gopackages.Package
	assigned map[string][]value
	returned map[string][]value // by function
	seen     map[string]bool
	found    map[string]string // where each program's name stands
}

// value is an expression, with the types of its file.
type value struct {
	ast.Expr
	of  *gopackages.Package
	all bool // every element of a list, not the first: it is ranged over
}

func readSource(t *testing.T) *source {
	t.Helper()
	mode := gopackages.NeedName | gopackages.NeedFiles | gopackages.NeedImports | gopackages.NeedTypes | gopackages.NeedSyntax | gopackages.NeedTypesInfo | gopackages.NeedExportFile
	list, err := gopackages.Load(&gopackages.Config{Mode: mode, Dir: "../../.."}, "./...")
	if err != nil || gopackages.PrintErrors(list) > 0 {
		t.Fatalf("read the source: %v", err)
	}
	s := &source{packages: list, assigned: map[string][]value{}, returned: map[string][]value{}, seen: map[string]bool{}, found: map[string]string{}}
	s.each(s.note)
	return s
}

// each calls visit with every node of the source.
func (s *source) each(visit func(p *gopackages.Package, n ast.Node)) {
	for _, p := range s.packages {
		for _, f := range p.Syntax {
			ast.Inspect(f, func(n ast.Node) bool { visit(p, n); return true })
		}
	}
}

func (s *source) at(p *gopackages.Package, n ast.Node) string {
	return p.Fset.Position(n.Pos()).String()
}

func (s *source) assign(p *gopackages.Package, to types.Object, e ast.Expr, all bool) {
	if to != nil {
		key := p.Fset.Position(to.Pos()).String()
		s.assigned[key] = append(s.assigned[key], value{Expr: e, of: p, all: all})
	}
}

// note keeps what the node assigns.
func (s *source) note(p *gopackages.Package, n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for i, to := range n.Lhs {
			if len(n.Lhs) == len(n.Rhs) {
				s.assign(p, object(p, to), n.Rhs[i], false)
			} else if i == 0 {
				s.assign(p, object(p, to), n.Rhs[0], false)
			}
		}
	case *ast.ValueSpec:
		for i, name := range n.Names {
			if i < len(n.Values) {
				s.assign(p, p.TypesInfo.Defs[name], n.Values[i], false)
			}
		}
	case *ast.RangeStmt:
		if n.Value != nil {
			s.assign(p, object(p, n.Value), n.X, true)
		}
	case *ast.CompositeLit:
		fields, ok := p.TypesInfo.TypeOf(n).Underlying().(*types.Struct)
		if !ok {
			return
		}
		for i, e := range n.Elts {
			if kv, named := e.(*ast.KeyValueExpr); named {
				s.assign(p, p.TypesInfo.Uses[kv.Key.(*ast.Ident)], kv.Value, false)
			} else {
				s.assign(p, fields.Field(i), e, false)
			}
		}
	case *ast.CallExpr:
		f := called(p, n)
		if f == nil {
			return
		}
		params := f.Signature().Params()
		for i, arg := range n.Args {
			if params.Len() > 0 {
				s.assign(p, params.At(min(i, params.Len()-1)), arg, false)
			}
		}
	case *ast.FuncDecl:
		f, _ := p.TypesInfo.Defs[n.Name].(*types.Func)
		if f == nil || n.Body == nil {
			return
		}
		ast.Inspect(n.Body, func(in ast.Node) bool {
			if r, ok := in.(*ast.ReturnStmt); ok && len(r.Results) > 0 {
				s.returned[f.FullName()] = append(s.returned[f.FullName()], value{Expr: r.Results[0], of: p})
			}
			_, inner := in.(*ast.FuncLit)
			return !inner
		})
	}
}

// object is the variable or field that an expression is, or nil.
func object(p *gopackages.Package, e ast.Expr) types.Object {
	switch e := e.(type) {
	case *ast.Ident:
		return p.TypesInfo.ObjectOf(e)
	case *ast.SelectorExpr:
		return p.TypesInfo.ObjectOf(e.Sel)
	}
	return nil
}

// called is the function or method of a call, or nil.
func called(p *gopackages.Package, c *ast.CallExpr) *types.Func {
	f, _ := object(p, ast.Unparen(c.Fun)).(*types.Func)
	return f
}

// programs finds the names of all programs that the source starts or looks up.
func (s *source) programs() map[string]string {
	s.each(func(p *gopackages.Package, n ast.Node) {
		c, ok := n.(*ast.CallExpr)
		if !ok {
			return
		}
		f := called(p, c)
		if f == nil {
			return
		}
		if i, ok := starters[f.FullName()]; ok && !s.runsInside(p, n) {
			s.trace(value{Expr: c.Args[i], of: p})
		}
	})
	return s.found
}

// runsInside says whether the node is in a file or a function of [inside].
func (s *source) runsInside(p *gopackages.Package, n ast.Node) bool {
	where := strings.TrimPrefix(p.PkgPath, "tare/") + "/"
	for _, f := range p.Syntax {
		for _, d := range f.Decls {
			if fun, ok := d.(*ast.FuncDecl); ok && fun.Pos() <= n.Pos() && n.End() <= fun.End() {
				name, _ := p.TypesInfo.Defs[fun.Name].(*types.Func)
				where = strings.NewReplacer("tare/", "", "(", "", ")", "", "*", "").Replace(name.FullName())
			}
		}
	}
	return slices.ContainsFunc(inside, func(in string) bool {
		return strings.HasPrefix(where, in) || strings.HasPrefix(where, strings.TrimSuffix(in, "/")+".") && strings.HasSuffix(in, "/")
	})
}

// add keeps a program's name, or the path of a file that must be there.
func (s *source) add(name, at string) {
	if filepath.IsAbs(name) && !strings.Contains(name, "/dist-packages/") {
		name = filepath.Base(name)
	}
	if name != "" {
		s.found[name] = at
	}
}

// trace follows an expression back to the words it may be. Of a list it is the first.
func (s *source) trace(v value) {
	if word := v.of.TypesInfo.Types[v.Expr].Value; word != nil && word.Kind() == constant.String {
		s.add(constant.StringVal(word), s.at(v.of, v.Expr))
		return
	}
	switch e := ast.Unparen(v.Expr).(type) {
	case *ast.Ident, *ast.SelectorExpr:
		o := object(v.of, e)
		if o == nil {
			return
		}
		key := v.of.Fset.Position(o.Pos()).String()
		if s.seen[key] || o.Name() == "Values" { // those of an option
			return
		}
		s.seen[key] = true
		for _, from := range s.assigned[key] {
			from.all = from.all || v.all
			s.trace(from)
		}
	case *ast.IndexExpr:
		if _, list := v.of.TypesInfo.TypeOf(e.X).Underlying().(*types.Slice); list {
			s.trace(value{Expr: e.X, of: v.of})
		}
	case *ast.CompositeLit:
		for i, element := range e.Elts {
			if i == 0 || v.all {
				s.trace(value{Expr: element, of: v.of})
			}
		}
	case *ast.CallExpr:
		if fun, ok := ast.Unparen(e.Fun).(*ast.Ident); ok && fun.Name == "append" {
			s.trace(value{Expr: e.Args[0], of: v.of, all: v.all})
			return
		}
		f := called(v.of, e)
		if f == nil || s.seen[f.FullName()] {
			return
		}
		if f.FullName() == "path/filepath.Join" {
			s.trace(value{Expr: e.Args[len(e.Args)-1], of: v.of})
			return
		}
		s.seen[f.FullName()] = true
		for _, r := range s.returned[f.FullName()] {
			s.trace(r)
		}
	}
}

var startsWord = regexp.MustCompile(`exec\.(?:Command\(|LookPath\(|CommandContext\([a-zA-Z.()]+, )"([^"]+)"`)

// tests adds the programs that tests name where they start or look them up.
func (s *source) tests(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/agent/") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range startsWord.FindAllSubmatch(text, -1) {
			s.add(string(m[1]), path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

var execLine = regexp.MustCompile(`(?m)^(?:! |exits \d+ )?(?:exec )?exec (\S+)`)

// scripts adds the programs that the scripts of tests run.
func (s *source) scripts(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob("../../../cmd/tare/testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range execLine.FindAllSubmatch(text, -1) {
			if name := string(m[1]); name != "tare" {
				s.add(name, file)
			}
		}
	}
}

var aptLine = regexp.MustCompile(`apt(?:-get)? install (?:--reinstall )?([a-z0-9][a-z0-9.+-]+)`)

// hints are the packages that the words of the program advise to install, by where.
func (s *source) hints() map[string]string {
	hints := map[string]string{}
	s.each(func(p *gopackages.Package, n ast.Node) {
		e, ok := n.(ast.Expr)
		if !ok {
			return
		}
		if word := p.TypesInfo.Types[e].Value; word != nil && word.Kind() == constant.String {
			if m := aptLine.FindStringSubmatch(constant.StringVal(word)); m != nil {
				hints[s.at(p, n)] = m[1]
			}
		}
	})
	return hints
}

// pairs are the programs that the source names beside a package, by where: in a
// struct or a call whose fields or parameters are called so.
func (s *source) pairs() map[string][2]string {
	pairs := map[string][2]string{}
	s.each(func(p *gopackages.Package, n ast.Node) {
		var names []string
		var values []ast.Expr
		switch n := n.(type) {
		case *ast.CompositeLit:
			fields, ok := p.TypesInfo.TypeOf(n).Underlying().(*types.Struct)
			if !ok {
				return
			}
			for i, e := range n.Elts {
				if kv, named := e.(*ast.KeyValueExpr); named {
					names, values = append(names, kv.Key.(*ast.Ident).Name), append(values, kv.Value)
				} else {
					names, values = append(names, fields.Field(i).Name()), append(values, e)
				}
			}
		case *ast.CallExpr:
			f := called(p, n)
			if f == nil {
				return
			}
			for i := range min(f.Signature().Params().Len(), len(n.Args)) {
				names, values = append(names, f.Signature().Params().At(i).Name()), append(values, n.Args[i])
			}
		}
		var pair [2]string
		for i, name := range names {
			word := p.TypesInfo.Types[values[i]].Value
			if word == nil || word.Kind() != constant.String {
				continue
			}
			switch name {
			case "program", "what":
				pair[0] = constant.StringVal(word)
			case "pkg":
				pair[1] = constant.StringVal(word)
			}
		}
		if pair[0] != "" && pair[1] != "" {
			pairs[s.at(p, n)] = pair
		}
	})
	return pairs
}
