package workload

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The base image has perl-base and no more, and a script that wants more fails in it alone.
func TestScriptsNeedPerlBaseAlone(t *testing.T) {
	scripts, err := filepath.Glob("*.pl")
	if err != nil || len(scripts) < 3 {
		t.Fatalf("scripts %q, %v", scripts, err)
	}
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for what, c := range map[string]struct {
			text string
			good bool
		}{"as it is": {string(text), true}, "with a module of perl's": {"use Time::HiRes;\n" + string(text), false}} {
			out, err := exec.Command("perl", "-c", "-e", `BEGIN { @INC = grep { m{/perl-base$} } @INC }`+"\n"+c.text).CombinedOutput()
			if (err == nil) != c.good {
				t.Errorf("%s %s: %v: %s", name, what, err, out)
			}
		}
	}
}
