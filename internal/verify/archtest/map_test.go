// Package archtest holds the pages that describe the source to the source.
package archtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const mapPage = "docs/ARCHITECTURE.md"

// TestMap holds the rows of the page's map to the imports of the source.
func TestMap(t *testing.T) {
	page, err := os.ReadFile("../../../" + mapPage)
	if err != nil {
		t.Fatal(err)
	}
	rows, faults := readMap(string(page))
	for _, fault := range append(faults, checkMap(rows, sourceImports(t))...) {
		t.Error(fault)
	}
}

// TestDriversKeepApart reads from the map that what drivers share stands above
// them, and that below it no driver imports another.
func TestDriversKeepApart(t *testing.T) {
	page, err := os.ReadFile("../../../" + mapPage)
	if err != nil {
		t.Fatal(err)
	}
	rows, _ := readMap(string(page))
	drivers := slices.IndexFunc(rows, func(r row) bool { return r.name == "platform/*" })
	if drivers < 0 {
		t.Fatalf("%s has no row platform/*", mapPage)
	}
	for _, r := range rows[drivers:] {
		if !strings.HasPrefix(r.name, "platform/") || r.name == "platform/all" {
			continue
		}
		for _, to := range r.imports {
			if slices.ContainsFunc(rows[drivers:], func(d row) bool { return d.name == to && strings.HasPrefix(to, "platform/") }) {
				t.Errorf("%s: the driver %s imports the driver %s", r.at(), r.name, to)
			}
		}
	}
}

// row is a package, or all that a pattern matches, and what it may import.
type row struct {
	name      string
	imports   []string
	libraries []string
	line      int
}

func (r row) at() string { return fmt.Sprintf("%s:%d", mapPage, r.line) }

// any tells whether the row may import every row above it.
func (r row) any() bool { return slices.Equal(r.imports, []string{"*"}) }

// readMap reads the rows between the heading "## Map" and the next, and says what is wrong with them.
func readMap(page string) (rows []row, faults []string) {
	inMap := false
	for i, line := range strings.Split(page, "\n") {
		if strings.HasPrefix(line, "## ") {
			inMap = line == "## Map"
		}
		if !inMap || !strings.HasPrefix(line, "| `") {
			continue
		}
		r := row{line: i + 1}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 4 {
			faults = append(faults, fmt.Sprintf("%s: a row has 4 cells, this one has %d", r.at(), len(cells)))
			continue
		}
		r.name = strings.Trim(cells[0], " `")
		r.imports, r.libraries = names(cells[2]), names(cells[3])
		if slices.ContainsFunc(rows, func(other row) bool { return other.name == r.name }) {
			faults = append(faults, fmt.Sprintf("%s: %s has a second row", r.at(), r.name))
			continue
		}
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		faults = append(faults, mapPage+": no row below the heading ## Map")
	}
	return rows, faults
}

// names are those of a cell; "-" stands for none.
func names(cell string) []string {
	var list []string
	for name := range strings.SplitSeq(cell, ",") {
		if name = strings.TrimSpace(name); name != "-" && name != "" {
			list = append(list, name)
		}
	}
	return list
}

// cell writes names as the page has them.
func cell(list []string) string {
	if len(list) == 0 {
		return "-"
	}
	return strings.Join(list, ", ")
}

// checkMap says where the rows and the source's imports, by package, differ.
func checkMap(rows []row, source map[string][]string) (faults []string) {
	fault := func(r row, format string, args ...any) {
		faults = append(faults, r.at()+": "+fmt.Sprintf(format, args...))
	}
	of := func(pkg string) int { return rowOf(rows, pkg) }
	ours := make([][]string, len(rows)) // the rows that each row imports
	libraries := make([][]string, len(rows))
	covers := make([]bool, len(rows))
	for pkg, imports := range source {
		at := of(pkg)
		if at < 0 {
			faults = append(faults, missing(rows, pkg, imports))
			continue
		}
		covers[at] = true
		for _, i := range imports {
			if _, known := source[i]; !known {
				libraries[at] = append(libraries[at], i)
			} else if to := of(i); to >= 0 {
				ours[at] = append(ours[at], rows[to].name)
			}
		}
	}
	for i, r := range rows {
		if !covers[i] {
			fault(r, "no package is called %s: remove the row", r.name)
			continue
		}
		is := slices.Compact(slices.Sorted(slices.Values(ours[i])))
		for _, name := range is {
			if !r.any() && !slices.Contains(r.imports, name) {
				fault(r, "%s imports %s, which its row does not name: write %q", r.name, name, cell(is))
			}
			if to := slices.IndexFunc(rows, func(o row) bool { return o.name == name }); to >= i {
				fault(r, "%s imports %s, which does not stand above it but in line %d", r.name, name, rows[to].line)
			}
		}
		for _, name := range r.imports {
			if !r.any() && !slices.Contains(is, name) {
				fault(r, "%s does not import %s: write %q", r.name, name, cell(is))
			}
		}
		for _, l := range slices.Compact(slices.Sorted(slices.Values(libraries[i]))) {
			if !slices.ContainsFunc(r.libraries, func(m string) bool { return within(l, m) }) {
				fault(r, "%s imports %s, a library its row does not name", r.name, l)
			}
		}
		for _, m := range r.libraries {
			if !slices.ContainsFunc(libraries[i], func(l string) bool { return within(l, m) }) {
				fault(r, "%s does not import the library %s", r.name, m)
			}
		}
	}
	slices.Sort(faults)
	return faults
}

// rowOf is the index of a package's own row, or of the pattern that matches it, or -1.
func rowOf(rows []row, pkg string) int {
	if own := slices.IndexFunc(rows, func(r row) bool { return r.name == pkg }); own >= 0 {
		return own
	}
	return slices.IndexFunc(rows, func(r row) bool {
		matched, err := path.Match(r.name, pkg)
		return err == nil && matched
	})
}

// missing says where the row of a package goes, and how it reads.
func missing(rows []row, pkg string, imports []string) string {
	var ours, libraries []string
	below := row{}
	for _, i := range imports {
		if to := rowOf(rows, i); to >= 0 {
			ours = append(ours, rows[to].name)
			if rows[to].line > below.line {
				below = rows[to]
			}
		} else if strings.Contains(strings.SplitN(i, "/", 2)[0], ".") {
			libraries = append(libraries, i)
		}
	}
	slices.Sort(ours)
	return fmt.Sprintf("%s: package %s has no row: add one below this line: | `%s` | what it is | %s | %s |",
		below.at(), pkg, pkg, cell(slices.Compact(ours)), cell(libraries))
}

// within tells whether a package is in a library.
func within(pkg, library string) bool {
	return pkg == library || strings.HasPrefix(pkg, library+"/")
}

// sourceImports are the imports of each package outside its tests, named as the page does,
// without the standard library and golang.org/x/sys.
func sourceImports(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "tare/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	source := map[string][]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		imports := []string{}
		for _, i := range p.Imports {
			library := strings.Contains(strings.SplitN(i, "/", 2)[0], ".")
			if strings.HasPrefix(i, "tare/") || library && !within(i, "golang.org/x/sys") {
				imports = append(imports, pageName(i))
			}
		}
		source[pageName(p.ImportPath)] = imports
	}
	if len(source) < 15 {
		t.Fatalf("only %d packages found", len(source))
	}
	return source
}

// pageName is how the page names a package.
func pageName(pkg string) string {
	return strings.TrimPrefix(strings.TrimPrefix(pkg, "tare/"), "internal/")
}

// A page and a source that differ in one thing, and what is said of it.
func TestMapFaults(t *testing.T) {
	const page = "# A page\n| `no` | row | - | - |\n## Map\n" +
		"| `bench` | nouns | - | - |\n" +
		"| `stats` | numbers | - | gonum.org/v1 |\n" +
		"| `driver/*` | each | bench | - |\n" +
		"| `plan` | plans | bench, stats | - |\n" +
		"| `all` | the program | * | - |\n## Next\n| `no` | row | - | - |\n"
	source := func() map[string][]string {
		return map[string][]string{
			"bench": {}, "stats": {"gonum.org/v1/gonum/stat"}, "driver/a": {"bench"}, "driver/b": {},
			"plan": {"bench", "stats"}, "all": {"driver/a", "plan"},
		}
	}
	for _, c := range []struct {
		name     string
		old, new string // in the page
		change   func(map[string][]string)
		want     []string
	}{
		{name: "nothing"},
		{name: "an import without a name", change: func(s map[string][]string) { s["driver/b"] = []string{"stats"} },
			want: []string{`docs/ARCHITECTURE.md:6: driver/* imports stats, which its row does not name: write "bench, stats"`}},
		{name: "a name without an import", change: func(s map[string][]string) { s["plan"] = []string{"bench"} },
			want: []string{`docs/ARCHITECTURE.md:7: plan does not import stats: write "bench"`}},
		{name: "a package without a row", change: func(s map[string][]string) { s["stop"] = []string{"stats", "bench"} },
			want: []string{"docs/ARCHITECTURE.md:5: package stop has no row: add one below this line: | `stop` | what it is | bench, stats | - |"}},
		{name: "a row without a package", change: func(s map[string][]string) { delete(s, "driver/a"); delete(s, "driver/b"); s["all"] = nil },
			want: []string{`docs/ARCHITECTURE.md:6: no package is called driver/*: remove the row`}},
		{name: "a driver that imports a driver", change: func(s map[string][]string) { s["driver/b"] = []string{"driver/a"} },
			want: []string{
				`docs/ARCHITECTURE.md:6: driver/* imports driver/*, which does not stand above it but in line 6`,
				`docs/ARCHITECTURE.md:6: driver/* imports driver/*, which its row does not name: write "bench, driver/*"`,
			}},
		{name: "an arrow that runs down", old: "nouns | - |", new: "nouns | stats |",
			change: func(s map[string][]string) { s["bench"] = []string{"stats"} },
			want:   []string{`docs/ARCHITECTURE.md:4: bench imports stats, which does not stand above it but in line 5`}},
		{name: "a library without a name", change: func(s map[string][]string) { s["plan"] = []string{"bench", "stats", "example.com/x"} },
			want: []string{`docs/ARCHITECTURE.md:7: plan imports example.com/x, a library its row does not name`}},
		{name: "a library without an import", change: func(s map[string][]string) { s["stats"] = nil },
			want: []string{`docs/ARCHITECTURE.md:5: stats does not import the library gonum.org/v1`}},
		{name: "a cell too few", old: "nouns | - | - |", new: "nouns | - |", change: func(s map[string][]string) { clear(s); s["all"] = nil },
			want: []string{`docs/ARCHITECTURE.md:4: a row has 4 cells, this one has 3`}},
		{name: "a second row", old: "`plan`", new: "`stats`", change: func(s map[string][]string) { clear(s); s["all"] = nil },
			want: []string{`docs/ARCHITECTURE.md:7: stats has a second row`}},
		{name: "no map", old: "## Map", new: "## A map", change: func(s map[string][]string) { clear(s) },
			want: []string{`docs/ARCHITECTURE.md: no row below the heading ## Map`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			imports := source()
			if c.change != nil {
				c.change(imports)
			}
			rows, got := readMap(strings.Replace(page, c.old, c.new, 1))
			if len(got) == 0 {
				got = checkMap(rows, imports)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("faults:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}
