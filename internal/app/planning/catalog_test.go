package planning

import (
	"os"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/platform/launch"
)

// Where a platform's own program is missing, the variants that choose another can be used, and the others cannot.
func TestChosenProgramStandsForAMissingOne(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("containers need root")
	}
	t.Setenv("PATH", "/usr/bin:/bin")
	if path, err := launch.Program("runsc"); err == nil {
		t.Skipf("%s is installed where every user's programs are", path)
	}
	c := Catalog{Dir: t.TempDir()}
	of := func(chosen bool) Checked {
		for _, f := range c.CheckChoosing(t.Context(), Patience, func(driver string) bool { return chosen && driver == "gvisor" }) {
			if f.Name() == "gvisor" {
				return f
			}
		}
		return Checked{}
	}
	if f := of(false); f.Err == nil || f.Reason() != "runsc is not installed" {
		t.Errorf("nothing chosen: %v", f.Err)
	}
	f := of(true)
	if f.Err != nil {
		t.Fatal(f.Err)
	}
	options := bench.Variant(f.Options(), nil)
	if err := f.Lacking(options); err == nil || bench.Reason(err) != "runsc is not installed" || !strings.Contains(bench.HintOf(err), "gvisor.dev") {
		t.Errorf("without a choice: %v", err)
	}
	options[bench.ProgramOption] = "/opt/runsc"
	if err := f.Lacking(options); err != nil {
		t.Errorf("with a choice: %v", err)
	}
}
