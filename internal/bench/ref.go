package bench

import (
	"sort"
	"strings"
)

// PlatformRef names a platform, the options that choose a variant of it, and
// for a nesting the platform whose instance it runs in, written
// docker[net=host]@qemu-tcg[cache=writeback]. All of it is part of a platform's
// identity in every result.
type PlatformRef struct {
	Name    string            `json:"name"`
	Options map[string]string `json:"options,omitempty"`
	// On is the outer platform: an instance of it is the host of this one.
	On *PlatformRef `json:"on,omitempty"`
}

// String writes the reference with its options in alphabetical order, the
// innermost platform first.
func (r PlatformRef) String() string {
	s := r.Name
	if len(r.Options) > 0 {
		kv := make([]string, 0, len(r.Options))
		for k, v := range r.Options {
			kv = append(kv, k+"="+v)
		}
		sort.Strings(kv)
		s += "[" + strings.Join(kv, ",") + "]"
	}
	if r.On != nil {
		s += nestMark + r.On.String()
	}
	return s
}

// nestMark stands between an inner platform and its outer one.
const nestMark = "@"

// Driver names what runs the platform, whatever its options: "docker", or
// "docker@qemu-tcg" for a nesting. Drivers and what a check found of them are
// kept by this name.
func (r PlatformRef) Driver() string {
	if r.On == nil {
		return r.Name
	}
	return Nested(r.Name, r.On.Driver())
}

// Nested is the name of the nesting of two platforms.
func Nested(inner, outer string) string { return inner + nestMark + outer }

// OuterOption reports whether an option of a nesting is one of its outer platform's,
// and gives the name it has there.
func OuterOption(option string) (name string, outer bool) { return strings.CutPrefix(option, nestMark) }

// OuterName is the name an outer platform's option has among a nesting's.
func OuterName(option string) string { return nestMark + option }

// DriverOptions are the options a driver sees: all but the alias, those of an
// outer platform with an @ before their names.
func (r PlatformRef) DriverOptions() map[string]string {
	all := map[string]string{}
	if r.On != nil {
		for k, v := range r.On.DriverOptions() {
			all[OuterName(k)] = v
		}
	}
	for k, v := range r.Options {
		if k != AliasOption {
			all[k] = v
		}
	}
	return all
}

// AliasOption gives a platform a second name: native[as=b] is native once more,
// a platform of its own in every result, so that it can be compared with
// itself. Every platform takes it, with any word, and no driver sees it.
const AliasOption = "as"
