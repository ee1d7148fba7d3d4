package host

import (
	"fmt"
	"slices"
	"strings"
)

// readCgroups tells the layout of the control group hierarchies from the
// mounts: v1 controllers, the one v2 hierarchy, or both.
func readCgroups(t tree, f *Facts) error {
	text, ok := t.text("/proc/self/mountinfo")
	if !ok {
		return fmt.Errorf("cgroups: no /proc/self/mountinfo")
	}
	mounts, err := parseMounts(text)
	if err != nil {
		return fmt.Errorf("cgroups: %w", err)
	}
	f.Cgroup = none
	v1, v2 := false, false
	add := func(names []string) {
		for _, name := range names {
			if !slices.Contains(f.Controllers, name) {
				f.Controllers = append(f.Controllers, name)
			}
		}
	}
	known := enabledControllers(t)
	for _, m := range mounts {
		switch m.fstype {
		case "cgroup2":
			v2 = true
			add(strings.Fields(t.word(m.at+"/cgroup.controllers", "")))
		case "cgroup":
			controllers := intersectWords(strings.Split(m.super, ","), known)
			v1 = v1 || len(controllers) > 0
			add(controllers)
		}
	}
	slices.Sort(f.Controllers)
	switch {
	case v1 && v2:
		f.Cgroup = "hybrid"
	case v1:
		f.Cgroup = "v1"
	case v2:
		f.Cgroup = "v2"
	}
	return nil
}

// enabledControllers are the kernel's, by /proc/cgroups.
func enabledControllers(t tree) []string {
	text, _ := t.text("/proc/cgroups")
	var names []string
	for line := range strings.Lines(text) {
		if name, _, ok := strings.Cut(line, "\t"); ok && !strings.HasPrefix(line, "#") {
			names = append(names, name)
		}
	}
	return names
}

func intersectWords(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
}
