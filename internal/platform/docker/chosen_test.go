package docker

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"tare/internal/bench"
)

// A chosen program is known to the daemon by the name that launches say, in the place
// of the runtime that it is a build of.
func TestChosenRuntime(t *testing.T) {
	known := runtimes(t.Context(), []string{"/a/runc", "/b/runc"})
	seen := map[string]bool{}
	for _, name := range []string{"runc", "crun", "runsc"} {
		for _, path := range []string{"/a/runc", "/b/runc"} {
			options := bench.Variant((*Platform)(nil).Options(), map[string]string{"runtime": name, bench.ProgramOption: path})
			word := runtimeOf(options)
			r, ok := known[word]
			if !ok || r.Path != path || !slices.Equal(r.Args, runtimeArgs[name]) || seen[word] || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
				t.Errorf("%s, %s: %q is %+v", name, path, word, r)
			}
			seen[word] = true
			if args := runArgs("", "", "", "", "", "", netip.Addr{}, bench.Launch{Options: options}); !slices.Contains(args, word) {
				t.Errorf("%q", args)
			}
		}
	}
	if got := runtimeOf(bench.Variant((*Platform)(nil).Options(), nil)); got != "runc" {
		t.Error(got)
	}
	if err := checkKata(map[string]string{"runtime": kata, bench.ProgramOption: "/a/runc"}); err == nil {
		t.Error("kata with another program")
	}
}
