package microvm

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
)

// Version is that of a monitor.
type Version struct {
	Major, Minor int
	Text         string // as it says it itself
}

// AtLeast reports whether v is w or a later one.
func (v Version) AtLeast(w Version) bool {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor)) >= 0
}

// parseVersion finds the version behind the banner at the beginning of a line.
func parseVersion(banner, out string) (Version, error) {
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(banner) + `((\d+)\.(\d+)\S*)`).FindStringSubmatch(out)
	if m == nil {
		return Version{}, fmt.Errorf("--version prints no line that begins with %q and a number: %.200q", banner, out)
	}
	major, err := strconv.Atoi(m[2])
	if err != nil {
		return Version{}, fmt.Errorf("version %q: %w", m[1], err)
	}
	minor, err := strconv.Atoi(m[3])
	if err != nil {
		return Version{}, fmt.Errorf("version %q: %w", m[1], err)
	}
	return Version{major, minor, m[1]}, nil
}
