package bench

import (
	"sort"
	"strings"
)

// PlatformRef names a platform, the options that select a variant of it, and for a nesting the
// platform whose instance it runs in. It is written docker[net=host]@qemu-tcg[cache=writeback]. All
// parts identify a platform in every result.
type PlatformRef struct {
	Name    string            `json:"name"`
	Options map[string]string `json:"options,omitempty"`
	// On is the outer platform: this one runs in an instance of it.
	On *PlatformRef `json:"on,omitempty"`
}

// Native is the platform that isolates nothing: what others are compared with unless
// an experiment names another baseline, and where peers run.
const Native = "native"

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

// Driver names what runs the platform with any options: "docker", or "docker@qemu-tcg" for a
// nesting. Drivers and their check results are kept by this name.
func (r PlatformRef) Driver() string {
	if r.On == nil {
		return r.Name
	}
	return Nested(r.Name, r.On.Driver())
}

// Nested is the name of the nesting of two platforms.
func Nested(inner, outer string) string { return inner + nestMark + outer }

// OuterOption reports whether an option of a nesting belongs to its outer platform, and returns its
// name there.
func OuterOption(option string) (name string, outer bool) { return strings.CutPrefix(option, nestMark) }

// OuterName returns the name of an outer platform's option among the options of the nesting.
func OuterName(option string) string { return nestMark + option }

// DriverOptions returns the options that a driver sees: all but the alias. Those of an outer
// platform have an @ before their names.
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

// ProgramOption names the program that runs a platform's instances in the place of the one that
// the host has for it: crun[program=/opt/crun-new]. Platforms that have the option declare it.
const ProgramOption = "program"

// KernelOption names the kernel that a platform's guests boot in the place of the image's:
// kvm[kernel=./bzImage]. Platforms that have the option declare it.
const KernelOption = "kernel"

// AliasOption gives a platform a second name: native[as=b] is native again, but a separate platform
// in every result, so native can be compared with itself. Every platform accepts it with any word.
// No driver sees it.
const AliasOption = "as"

// ControlAlias is the second name of the baseline where a run measures it twice: native[as=control].
const ControlAlias = "control"
