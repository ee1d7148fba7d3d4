package spec

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tare/internal/bench"
)

// allReal stands for every platform that is real on the host.
const allReal = "all-real"

// platforms reads a list of platforms: "native, docker[net=host]" or [native, docker: {net: host}].
// It leaves options at their default out of the references, so that one variant has one name. It
// reports whether all could be read.
func (d *decoder) platforms(n *node, into *Platforms) bool {
	if n == nil {
		return true
	}
	if n.kind == mapping {
		d.fail(n.place, "platforms are a list, found a mapping%w", bench.Hint("such as: platforms: native, docker[net=host]"))
		return false
	}
	var p Platforms
	before := len(d.errs)
	seen := map[string]bool{}
	add := func(at Place, ref bench.PlatformRef, ok bool) {
		switch name := ref.String(); {
		case !ok:
		case seen[name]:
			d.fail(at, "%s is named twice", name)
		case name == allReal:
			seen[name], p.AllReal = true, true
		default:
			seen[name] = true
			p.Named = append(p.Named, ref)
		}
	}
	named := 0
	for _, item := range d.list(n) {
		if item.kind != scalar {
			ref, ok := d.platformMap(item)
			add(item.place, ref, ok)
			continue
		}
		words := splitList(item.text)
		if named += len(words); named > maxWords {
			d.fail(n.place, "too many platforms: at most %d", maxWords)
			return false
		}
		for _, w := range words {
			if w.from == w.to && strings.TrimSpace(item.text) == "" {
				continue // reported below
			}
			at := item.place.within(item.text, w)
			ref, ok := d.platformWord(at, item.text[w.from:w.to], allReal)
			add(at, ref, ok)
		}
	}
	if len(p.Named) == 0 && !p.AllReal && len(d.errs) == before {
		d.fail(n.place, "no platform is named%w", bench.Hint("such as: platforms: native, docker[net=host]; leave the key out for all that are real here"))
	}
	*into = p
	return len(d.errs) == before
}

// CheckPlatform returns an error unless text names a platform in the form of a specification, such
// as docker[net=host]@kvm. The error wraps bench.ErrInvalid.
func CheckPlatform(text string, v Vocabulary) error {
	d := &decoder{words: v}
	d.platformWord(Place{}, text, allReal)
	if len(d.errs) > 0 {
		return d.errs[0]
	}
	return nil
}

// Ref parses a reference in the form of a specification: docker[net=host].
func (v Vocabulary) Ref(text string) (bench.PlatformRef, error) {
	d := decoder{words: v}
	ref, ok := d.platformWord(Place{}, text)
	if !ok {
		return ref, d.errs[0]
	}
	return ref, nil
}

// platform reads one reference.
func (d *decoder) platform(n *node) (bench.PlatformRef, bool) {
	if n.kind == scalar {
		return d.platformWord(n.place, n.text)
	}
	return d.platformMap(n)
}

// platformMap reads {docker: {net: host}}.
func (d *decoder) platformMap(n *node) (bench.PlatformRef, bool) {
	if n.kind != mapping || len(n.entries) != 1 {
		d.fail(n.place, "expected a platform, found %s%w", n.kindName(), bench.Hint("such as docker[net=host] or docker: {net: host}"))
		return bench.PlatformRef{}, false
	}
	e := n.entries[0]
	ref, ok := d.platformWord(e.place, e.key)
	if !ok {
		return bench.PlatformRef{}, false
	}
	word := d.words.platform(ref.Name)
	if e.value.kind != mapping {
		d.fail(e.value.place, "options of %s are a mapping, found %s", e.key, e.value.kindName())
		return bench.PlatformRef{}, false
	}
	for _, o := range e.value.entries {
		if o.key == onKey {
			ok = d.outerOf(o.value, &ref) && ok
			continue
		}
		if !d.scalar(o.value, "a word") || !d.option(o.place, word, &ref, o.key, o.value.text) {
			ok = false
		}
	}
	return ref, ok
}

// onePlatform reads docker[net=host,storage=volume]. Extra words are accepted unchanged.
func (d *decoder) onePlatform(at Place, text string, extra ...string) (bench.PlatformRef, bool) {
	name, rest, bracket := strings.Cut(text, "[")
	name = strings.TrimSpace(name)
	if !bracket && slices.Contains(extra, name) {
		return bench.PlatformRef{Name: name}, true
	}
	word, ok := d.platformName(at, name, extra...)
	if !ok {
		return bench.PlatformRef{}, false
	}
	ref := bench.PlatformRef{Name: word.Name}
	if !bracket {
		return ref, true
	}
	options, behind, closed := strings.Cut(rest, "]")
	if !closed {
		d.fail(at, "%q: the bracket is not closed", text)
		return ref, false
	}
	if behind = strings.TrimSpace(behind); behind != "" {
		d.fail(at, "%q: %q follows the options' bracket%w", text, behind,
			bench.Hint("platforms are separated by commas; an outer platform follows @, such as docker[net=host]@qemu-tcg"))
		return ref, false
	}
	for _, kv := range strings.Split(options, ",") {
		key, value, both := strings.Cut(kv, "=")
		if !both {
			d.fail(at, "%q: option %q is not of the form name=value", text, kv)
			ok = false
		} else if !d.option(at, word, &ref, strings.TrimSpace(key), strings.TrimSpace(value)) {
			ok = false
		}
	}
	return ref, ok
}

func (d *decoder) platformName(at Place, name string, extra ...string) (*PlatformWord, bool) {
	if word := d.words.platform(name); word != nil {
		return word, true
	}
	var names []string
	for _, w := range d.words.Platforms {
		names = append(names, w.Name)
	}
	if name == "" {
		d.fail(at, "a platform has no name%w", bench.OneOf(append(names, extra...)))
		return nil, false
	}
	if also := d.words.knownBy(name); also != "" {
		d.fail(at, "unknown platform %q; did you mean %q?%w", name, also, bench.OneOf(append(names, extra...)))
		return nil, false
	}
	d.fail(at, "%w", bench.UnknownWord("platform", name, append(names, extra...)))
	return nil, false
}

// knownBy returns the only platform with a program of the name, or "".
func (v Vocabulary) knownBy(program string) string {
	found := ""
	for _, w := range v.Platforms {
		if !slices.Contains(w.Also, program) {
			continue
		}
		if found != "" {
			return ""
		}
		found = w.Name
	}
	return found
}

func (d *decoder) option(at Place, word *PlatformWord, ref *bench.PlatformRef, key, value string) bool {
	if key == bench.AliasOption {
		return d.alias(at, word, ref, value)
	}
	i := slices.IndexFunc(word.Options, func(o bench.Option) bool { return o.Name == key })
	if i < 0 {
		if others := d.words.having(key); len(others) > 0 {
			d.fail(at, "%s has no option %q%w", word.Name, key, bench.Hint("these have: "+strings.Join(others, ", ")))
			return false
		}
		var names []string
		for _, o := range word.Options {
			names = append(names, o.Name)
		}
		d.fail(at, "%w", bench.UnknownWord("option of "+word.Name, key, names))
		return false
	}
	o := word.Options[i]
	if o.Path {
		var ok bool
		if value, ok = d.path(at, word, key, value); !ok {
			return false
		}
	}
	if len(o.Values) > 0 && !slices.Contains(o.Values, value) {
		d.fail(at, "%w", bench.UnknownWord(fmt.Sprintf("value of %s's option %s", word.Name, key), value, o.Values))
		return false
	}
	if _, twice := ref.Options[key]; twice {
		d.fail(at, "option %s of %s is given twice", key, word.Name)
		return false
	}
	if value == o.Default {
		return true
	}
	if ref.Options == nil {
		ref.Options = map[string]string{}
	}
	ref.Options[key] = value
	return true
}

// optionPath are the paths that are safe to stand within brackets, in names and in tables.
var optionPath = regexp.MustCompile(`^[A-Za-z0-9._/+~-]{1,200}$`)

// path reads the path of a file, which is relative to the directory tare is started in.
func (d *decoder) path(at Place, word *PlatformWord, key, value string) (string, bool) {
	path := value
	if optionPath.MatchString(value) {
		var err error
		if path, err = filepath.Abs(value); err != nil {
			d.fail(at, "%s[%s=%s]: %w", word.Name, key, value, err)
			return "", false
		}
	}
	if !optionPath.MatchString(path) {
		d.fail(at, "%s[%s=%.220q]: not a path that can stand here%w", word.Name, key, value,
			bench.Hint("letters, digits and . _ / + ~ - only, at most 200: make a link to the file"))
		return "", false
	}
	return path, true
}

// having returns the names of the platforms with an option.
func (v Vocabulary) having(option string) []string {
	var names []string
	for _, w := range v.Platforms {
		if slices.ContainsFunc(w.Options, func(o bench.Option) bool { return o.Name == option }) {
			names = append(names, w.Name)
		}
	}
	return names
}

// alias reads a platform's second name.
func (d *decoder) alias(at Place, word *PlatformWord, ref *bench.PlatformRef, value string) bool {
	if _, twice := ref.Options[bench.AliasOption]; twice {
		d.fail(at, "option %s of %s is given twice", bench.AliasOption, word.Name)
		return false
	}
	if !namePattern.MatchString(value) {
		d.fail(at, "%s[%s=%s]: %q is not a name%w", word.Name, bench.AliasOption, value, value,
			bench.Hint("lower-case letters, digits, - _ and ., at most 40"))
		return false
	}
	if ref.Options == nil {
		ref.Options = map[string]string{}
	}
	ref.Options[bench.AliasOption] = value
	return true
}

// span is a stretch of a text, in bytes.
type span struct{ from, to int }

// splitList splits at the commas outside brackets and trims blanks.
func splitList(text string) []span {
	var words []span
	add := func(from, to int) {
		word := text[from:to]
		from += len(word) - len(strings.TrimLeft(word, " "))
		words = append(words, span{from, max(from, from+len(strings.TrimSpace(word)))})
	}
	depth, from := 0, 0
	for i, r := range text {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case r == ',' && depth == 0:
			add(from, i)
			from = i + 1
		}
	}
	add(from, len(text))
	return words
}
