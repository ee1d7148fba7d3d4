package image

import (
	"errors"
	"slices"
	"testing"

	"tare/internal/bench"
)

// The base's recipe is what it was; a family adds to it, and nothing else changes.
func TestWith(t *testing.T) {
	base := Golden()
	if same, err := With(bench.ImageNeeds{}); err != nil || same.Hash() != base.Hash() {
		t.Errorf("with nothing: %s, %v; the base is %s", same.Hash(), err, base.Hash())
	}
	seen := map[string]bool{base.Hash(): true}
	for _, f := range Families {
		r, err := With(bench.ImageNeeds{Families: []string{f.Name}})
		if err != nil {
			t.Fatal(err)
		}
		if seen[r.Hash()] {
			t.Errorf("%s: the recipe's hash is another's", f.Name)
		}
		seen[r.Hash()] = true
		if !slices.Equal(r.Packages, append(slices.Clone(base.Packages), f.Packages...)) {
			t.Errorf("%s: packages %v", f.Name, r.Packages)
		}
		for _, p := range f.Programs {
			if p.Path == "" || p.Package == "" {
				t.Errorf("%s: program %+v", f.Name, p)
			}
		}
		for _, unit := range f.Masked {
			if r.Links["etc/systemd/system/"+unit] != "/dev/null" {
				t.Errorf("%s: %s starts at a boot", f.Name, unit)
			}
		}
	}
	if !slices.IsSortedFunc(Families, func(a, b Family) int { return map[bool]int{true: -1, false: 1}[a.Name < b.Name] }) {
		t.Error("families are not sorted")
	}
	added, err := With(bench.ImageNeeds{Families: []string{"web"}, Add: []string{"nodejs"}})
	if err != nil || !slices.Contains(added.Packages, "nodejs") || added.what() != "image with web, nodejs" {
		t.Errorf("%v of %v, called %q", err, added.Packages, added.what())
	}
	for _, bad := range []bench.ImageNeeds{
		{Families: []string{"wbe"}}, {Add: []string{"--force"}}, {Add: []string{"a b"}}, {Add: []string{"a,b"}}, {Add: []string{""}},
		{Add: slices.Repeat([]string{"nodejs"}, 65)},
	} {
		if _, err := With(bad); !errors.Is(err, bench.ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
