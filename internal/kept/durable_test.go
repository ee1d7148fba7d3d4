package kept_test

import (
	"testing"

	"tare/internal/kept"
	"tare/internal/powercut"
)

// TestBegunIsDurable loses the power at every moment: a run that has begun is
// known, and one that was being entered is known or not, and never as another.
func TestBegunIsDurable(t *testing.T) {
	const run, digest = "r1", "sha256:1"
	powercut.Run(t, powercut.Scenario{
		Act: func(dir string, promise func(string)) error {
			if err := kept.Begin(dir, run, digest); err != nil {
				return err
			}
			promise("begun")
			return nil
		},
		Check: func(dir string, promised []string) error {
			if len(promised) == 0 {
				return nil
			}
			return kept.CheckBegun(dir, run, digest)
		},
		Guards: `
sync begun/r1: before "begun"
sync begun: before "begun"
sync .: before "begun"
`,
	})
}
