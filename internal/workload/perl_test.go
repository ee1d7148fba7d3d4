package workload

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The base image has perl-base and no more, and a script that wants more fails in it alone.
func TestScriptsNeedPerlBaseAlone(t *testing.T) {
	has := func(module string) bool {
		found, err := filepath.Glob("/usr/lib/*/perl-base/" + strings.ReplaceAll(module, "::", "/") + ".pm")
		return err == nil && len(found) > 0
	}
	if !has("POSIX") || has("Time::HiRes") {
		t.Fatal("perl-base is not there, or not what it was")
	}
	scripts, err := filepath.Glob("*.pl")
	if err != nil || len(scripts) < 3 {
		t.Fatalf("scripts %q, %v", scripts, err)
	}
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		uses := regexp.MustCompile(`(?m)^use ([A-Za-z:]+)`).FindAllSubmatch(text, -1)
		if len(uses) == 0 {
			t.Errorf("%s uses nothing, not even strict", name)
		}
		for _, m := range uses {
			if !has(string(m[1])) {
				t.Errorf("%s uses %s, which perl-base has not", name, m[1])
			}
		}
	}
}
