package docker

import (
	"os"
	"testing"

	"tare/internal/bench"
	"tare/internal/platform/platformtest"
)

// TestConformance gives the run that the suite kills a data root of its own,
// for two runs cannot share one.
func TestConformance(t *testing.T) {
	state := os.Getenv("TARE_PLATFORMTEST_ABANDON")
	if state == "" {
		state = stateDir(t)
	}
	platformtest.Run(t, New(state), platformtest.Options{})
}

// TestConformanceOfRuntimes is for the other runtimes below the shim, in one
// data root after the other, which imports the image once. What a killed run leaves
// does not depend on them.
func TestConformanceOfRuntimes(t *testing.T) {
	state := stateDir(t)
	for runtime, o := range map[string]platformtest.Options{
		"crun": {
			Options: map[string]string{"runtime": "crun", "storage": "volume"},
			Lacks:   map[string]string{},
		},
		"runsc": {
			Options: map[string]string{"runtime": "runsc"},
			Lacks:   map[string]string{"memory limit": "the sandbox is killed as a whole"},
		},
	} {
		t.Run(runtime, func(t *testing.T) {
			if err := available(t.Context(), runtime); err != nil {
				t.Skip(err)
			}
			o.Lacks["killed run"] = "as with runc"
			platformtest.Run(t, New(state), o)
		})
	}
}

// TestConformanceOfPublishedPorts is for containers that are called at a port of the bridge's. Several at
// once would need a port each.
func TestConformanceOfPublishedPorts(t *testing.T) {
	platformtest.Run(t, New(stateDir(t)), platformtest.Options{
		Options: map[string]string{bench.PublishOption: "yes"},
		Lacks:   map[string]string{"killed run": "as without a published port"},
		Only:    []string{"greeting", "scope", "network", "closed to others", "launch phases", "launched again", "crash"},
	})
}

func stateDir(t *testing.T) string {
	state, err := os.MkdirTemp("/var/tmp", "dockertest")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(state) })
	return state
}
