package overhead

import (
	"path/filepath"
	"strconv"
	"strings"
)

// reproduce is the command line that measures a platform against the baseline
// again, with the overrides and the seed of this run.
func (s *study) reproduce(platform string) string {
	h := s.run.Header()
	spec := h.Spec
	if spec == "" {
		spec = filepath.Join(s.run.Dir(), "spec.yaml")
	}
	platforms := s.plan.Baseline
	if platform != platforms {
		platforms += "," + platform
	}
	args := []string{"tare", "run", spec, "--platforms", platforms}
	for _, set := range h.Set {
		args = append(args, "--set", set)
	}
	args = append(args, "--seed", strconv.FormatUint(s.plan.Seed, 10))
	for i, a := range args {
		args[i] = quote(a)
	}
	return strings.Join(args, " ")
}

// quote makes an argument one word of a POSIX shell.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./,=:@%+", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
