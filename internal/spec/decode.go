package spec

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
)

// decoder turns the tree into an experiment and collects the errors. Its readers leave the target
// unchanged if the node is nil (the key is absent).
type decoder struct {
	words Vocabulary
	errs  Errors
	// unread: some of the experiment's platforms could not be read, so membership in the list is
	// unknown.
	unread bool
	// known are the names of the further hosts, also of those that could not be read.
	known []string
}

// fault converts err to an *Error. An error without a place refers to the whole file.
func fault(src *source, err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return Place{src: src}.Error(err)
}

func (d *decoder) fail(at Place, format string, args ...any) {
	d.errs = append(d.errs, at.Errorf(format, args...))
}

// keysBefore maps the key names before format tare-run/2 to the current ones. Specifications in old
// run folders still use them.
var keysBefore = map[string]string{"cage": "containment"}

// fields returns a mapping's values by key. It reports unknown keys and keys without a value.
func (d *decoder) fields(n *node, what string, keys []string) map[string]*node {
	found := map[string]*node{}
	if n == nil {
		return found
	}
	if n.kind != mapping {
		d.fail(n.place, "%s is written as a mapping, found %s%w", what, n.kindName(),
			bench.Hint("keys: "+strings.Join(keys, ", ")))
		return found
	}
	known := map[string]bool{}
	for _, k := range keys {
		known[k] = true
	}
	for _, e := range n.entries {
		if now := keysBefore[e.key]; known[now] {
			e.key = now
		}
		switch {
		case !known[e.key]:
			d.fail(e.place, "%w", bench.UnknownWord("key of "+what, e.key, keys))
		case found[e.key] != nil:
			d.fail(e.place, "%s is given twice, once by its earlier name%w", e.key, bench.Hint("remove one of the two"))
		case e.value.kind == null:
			d.fail(e.place, "%q has no value%w", e.key, bench.Hint("write one, or leave the key out"))
		default:
			found[e.key] = e.value
		}
	}
	return found
}

// list returns the items of a sequence. A single value counts as a list of one.
func (d *decoder) list(n *node) []*node {
	switch {
	case n == nil:
		return nil
	case n.kind == sequence:
		return n.items
	}
	return []*node{n}
}

// scalar reports whether n is present and a single value.
func (d *decoder) scalar(n *node, want string) bool {
	if n == nil {
		return false
	}
	if n.kind != scalar {
		d.fail(n.place, "expected %s, found %s", want, n.kindName())
		return false
	}
	return true
}

func (d *decoder) text(n *node, into *string) {
	if d.scalar(n, "text") {
		*into = n.text
	}
}

var namePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,39}$`)

func (d *decoder) name(n *node, into *string) {
	if !d.scalar(n, "a name") {
		return
	}
	if !namePattern.MatchString(n.text) {
		d.fail(n.place, "%q is not a name%w", n.text, bench.Hint("lower-case letters, digits, - _ and ., at most 40"))
		return
	}
	*into = n.text
}

// word reads one of several words.
func (d *decoder) word(n *node, what string, words []string, into *string) {
	if !d.scalar(n, "one of "+strings.Join(words, ", ")) {
		return
	}
	for _, w := range words {
		if n.text == w {
			*into = w
			return
		}
	}
	d.fail(n.place, "%w", bench.UnknownWord(what, n.text, words))
}

func (d *decoder) boolean(n *node, into *bool) {
	if n == nil {
		return
	}
	v, ok := n.value.(bool)
	if !ok {
		hint := bench.Hint("")
		if slices.Contains([]string{"yes", "no", "on", "off"}, strings.ToLower(n.text)) {
			hint = "write true or false: since YAML 1.2 this is a text"
		}
		d.fail(n.place, "expected true or false, found %s%w", n.kindName(), hint)
		return
	}
	*into = v
}

// integer reads a whole number within the bounds.
func (d *decoder) integer(n *node, lo, hi int, into *int) {
	if !d.scalar(n, "a whole number") {
		return
	}
	v, err := strconv.Atoi(n.text)
	switch {
	case err != nil:
		d.fail(n.place, "%q is not a whole number", n.text)
	case v < lo:
		d.fail(n.place, "%d is too few: at least %d", v, lo)
	case v > hi:
		d.fail(n.place, "%d is too many: at most %d", v, hi)
	default:
		*into = v
	}
}

func (d *decoder) seed(n *node, into **uint64) {
	if !d.scalar(n, "a whole number") {
		return
	}
	v, err := strconv.ParseUint(n.text, 10, 64)
	if err != nil {
		d.fail(n.place, "%q is not a seed%w", n.text, bench.Hint("a whole number from 0 to 18446744073709551615"))
		return
	}
	*into = &v
}

// number reads a number above zero.
func (d *decoder) number(n *node, into *float64) {
	if !d.scalar(n, "a number") {
		return
	}
	v, err := strconv.ParseFloat(n.text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		d.fail(n.place, "%q is not a number", n.text)
		return
	}
	if v <= 0 {
		d.fail(n.place, "%s must be above zero", n.text)
		return
	}
	*into = v
}

// percent reads "3%" or 0.03, from zero to below one.
func (d *decoder) percent(n *node, into *float64) {
	const form bench.Hint = "write it like 3% (or 0.03)"
	if !d.scalar(n, "a percentage") {
		return
	}
	digits, isPercent := strings.CutSuffix(n.text, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if isPercent {
		v /= 100
	}
	switch {
	case err != nil || math.IsNaN(v):
		d.fail(n.place, "%q is not a percentage%w", n.text, form)
	case v < 0:
		d.fail(n.place, "%s must not be negative%w", n.text, form)
	case v >= 1:
		d.fail(n.place, "%s is too much: it must lie below 100%%%w", n.text, form)
	default:
		*into = v
	}
}

// size reads an amount of memory or storage above zero.
func (d *decoder) size(n *node, into *bench.Bytes) {
	if !d.scalar(n, "a size such as 512MiB") {
		return
	}
	v, err := bench.ParseBytes(n.text)
	switch {
	case err != nil:
		d.errs = append(d.errs, n.place.Error(err))
	case v <= 0:
		d.fail(n.place, "%s must be above zero", n.text)
	case v < bench.MiB:
		hint := bench.Hint("write 512MiB or 1GiB")
		if _, err := strconv.ParseFloat(n.text, 64); err == nil {
			hint = "a unit may be missing: " + hint
		}
		d.fail(n.place, "%s is less than 1 MiB%w", n.text, hint)
	default:
		*into = v
	}
}

// duration reads a time of at least lo.
func (d *decoder) duration(n *node, lo time.Duration, into *time.Duration) {
	const form bench.Hint = "write a number and a unit, such as 500ms, 5s or 10m"
	if !d.scalar(n, "a time such as 5s") {
		return
	}
	v, err := time.ParseDuration(n.text)
	if err != nil {
		if _, bare := strconv.ParseFloat(n.text, 64); bare == nil {
			d.fail(n.place, "%s lacks a unit%w", n.text, bench.Hint(fmt.Sprintf("write %ss for seconds, %sms for milliseconds", n.text, n.text)))
			return
		}
		d.fail(n.place, "%q is not a time%w", n.text, form)
		return
	}
	switch {
	case v < 0:
		d.fail(n.place, "%s: a time must not be negative", n.text)
	case v == 0 && lo > 0:
		d.fail(n.place, "%s must be above zero", n.text)
	case v < lo:
		d.fail(n.place, "%s is too short: at least %s", n.text, lo)
	case v > 1000*time.Hour:
		d.fail(n.place, "%s is too long: at most 1000 hours", n.text)
	default:
		*into = v
	}
}
