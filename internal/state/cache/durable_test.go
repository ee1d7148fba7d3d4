package cache_test

import (
	"testing"

	"tare/internal/state/cache"
	"tare/internal/verify/powercut"
)

// TestBegunIsDurable loses the power at every moment: a run that has begun is
// known, and one that was being entered is known or not, and never as another.
func TestBegunIsDurable(t *testing.T) {
	const run, digest = "r1", "sha256:1"
	powercut.Run(t, powercut.Scenario{
		Act: func(dir string, promise func(string)) error {
			if err := cache.Begin(dir, run, digest); err != nil {
				return err
			}
			promise("begun")
			return nil
		},
		Check: func(dir string, promised []string) error {
			if len(promised) == 0 {
				return nil
			}
			return cache.CheckBegun(dir, run, digest)
		},
		Guards: `
sync begun/r1: before "begun"
sync begun: before "begun"
sync .: before "begun"
`,
	})
}
