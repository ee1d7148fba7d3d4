package host

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
)

// readCgroups reads the layout of the control group hierarchies and their controllers.
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
	if layout, err := cgroup.DetectAt(string(t)); err == nil {
		f.Cgroup = layout.Mode()
	} else if !errors.Is(err, bench.ErrUnavailable) {
		return err
	}
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
			add(strings.Fields(t.word(m.at+"/cgroup.controllers", "")))
		case "cgroup":
			add(intersect(strings.Split(m.super, ","), known))
		}
	}
	slices.Sort(f.Controllers)
	return nil
}

// enabledControllers returns the kernel's enabled controllers from /proc/cgroups.
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
