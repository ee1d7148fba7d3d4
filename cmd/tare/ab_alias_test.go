package main

import (
	"slices"
	"testing"

	"tare/internal/app/site"
)

// A baseline with a second name of its own has no control, whatever the experiment says.
func TestABOfABaselineWithASecondName(t *testing.T) {
	a := &app{site: &site.Site{Dir: t.TempDir()}}
	for x, without := range map[string]bool{"native": false, "native[as=a]": true} {
		var r asking
		if err := r.two(a, []string{x, "native[as=b]"}); err != nil {
			t.Fatal(err)
		}
		if slices.Contains(r.Set, "controls=false") != without {
			t.Errorf("%s: %q", x, r.Set)
		}
	}
}
