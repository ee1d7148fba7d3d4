package analysis

import (
	"path/filepath"
	"strconv"
	"strings"

	"tare/internal/result/store"
)

// again is what it takes to measure a run's experiment anew.
type again struct {
	given    []string // see [Options.Repeat]
	header   store.Header
	dir      string // of the run
	baseline string
	seed     uint64
}

// of is the command line that measures a platform against the baseline
// again, with the overrides and the seed of this run. An experiment that tare run
// cannot be given is measured as a whole.
func (r *again) of(platform string) string {
	if len(r.given) > 0 {
		return quoteAll(r.given)
	}
	h := r.header
	spec := h.Spec
	if spec == "" {
		spec = filepath.Join(r.dir, "spec.yaml")
	}
	platforms := r.baseline
	if platform != platforms {
		platforms += "," + platform
	}
	args := []string{"tare", "run", spec, "--platforms", platforms}
	for _, set := range h.Set {
		if strings.HasPrefix(strings.TrimSpace(set), "platforms=") {
			continue
		}
		args = append(args, "--set", set)
	}
	args = append(args, "--seed", strconv.FormatUint(r.seed, 10))
	return quoteAll(args)
}

// all is the command line that measures all of the run's experiment anew. A
// specification that is a file is taken, with its overrides, as the run has kept it.
func (r *again) all() string {
	if len(r.given) > 0 {
		return quoteAll(r.given)
	}
	h := r.header
	args := []string{"tare", "run", "--from", r.dir}
	if h.Spec != "" && !strings.ContainsAny(h.Spec, "/.") {
		args = []string{"tare", "run", h.Spec}
		for _, set := range h.Set {
			args = append(args, "--set", set)
		}
	}
	for _, meter := range h.Power {
		args = append(args, "--power", meter.Name)
	}
	return quoteAll(args)
}

// quoteAll writes arguments as a line for a POSIX shell.
func quoteAll(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = quote(a)
	}
	return strings.Join(words, " ")
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
