package spec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/bench"
)

// The path of a program is absolute in every result, and one that cannot stand in a
// platform's name is refused.
func TestPlatformProgram(t *testing.T) {
	v := Vocabulary{Platforms: []PlatformWord{{Name: "crun", Options: []bench.Option{{Name: bench.ProgramOption, Path: true}}}, {Name: "lxc"}}}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"crun":                        "crun",
		"crun[program=/opt/c++/crun]": "crun[program=/opt/c++/crun]",
		"crun[program=../crun]":       "crun[program=" + filepath.Join(filepath.Dir(dir), "crun") + "]",
		"crun[program=/a/../b//crun]": "crun[program=/b/crun]",
		"crun[program=x,as=b]":        "crun[as=b,program=" + filepath.Join(dir, "x") + "]",
	} {
		ref, err := v.Ref(text)
		if err != nil || ref.String() != want {
			t.Errorf("%s: %s, not %s, %v", text, ref, want, err)
			continue
		}
		if again, err := v.Ref(ref.String()); err != nil || again.String() != want {
			t.Errorf("%s read again: %s, %v", want, again, err)
		}
	}
	for _, text := range []string{
		"crun[program=]", "crun[program=a b]", "crun[program=a;b]", "crun[program=$(x)]", "crun[program=a\nb]", "crun[program=a\x00b]", "crun[program=é]",
		"crun[program=a@b]", "crun[program=" + strings.Repeat("a", 201) + "]", "crun[program=a,program=b]", "lxc[program=a]",
	} {
		if ref, err := v.Ref(text); err == nil {
			t.Errorf("%.40q is %s", text, ref)
		}
	}
}
