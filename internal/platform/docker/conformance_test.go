package docker

import (
	"os"
	"testing"

	"tare/internal/platform/platformtest"
)

// TestConformance gives the run that the suite kills a data root of its own,
// for two runs cannot share one.
func TestConformance(t *testing.T) {
	state := os.Getenv("TARE_PLATFORMTEST_ABANDON")
	if state == "" {
		var err error
		if state, err = os.MkdirTemp("/var/tmp", "dockertest"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(state) })
	}
	platformtest.Run(t, New(state), platformtest.Options{})
}
