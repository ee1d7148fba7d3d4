package main

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/internal/bench"
	"tare/internal/verify/survey"
)

// settling is how long the kernel may take to let go of what is closed.
const settling = 10 * time.Second

// looks compares the host with what it was.
func (k *killing) looks(at string) {
	var left, gone []string
	for deadline := time.Now().Add(settling); ; time.Sleep(50 * time.Millisecond) {
		left, gone = survey.Changes(k.before, k.survey())
		if !k.Alone { // a mount of others, of which there is a copy here, vanishes when they remove its place
			gone = slices.DeleteFunc(gone, func(fact string) bool { return strings.HasPrefix(fact, "mount ") })
		}
		if len(left)+len(gone) == 0 {
			return
		}
		if time.Now().After(deadline) {
			break
		}
	}
	for _, l := range left {
		k.Left = append(k.Left, at+": "+l)
	}
	for _, l := range gone {
		k.Left = append(k.Left, at+": no longer there: "+l)
	}
	k.before = k.survey() // each is told once
}

// survey lists what is there: all of what belongs to namespaces, and of the machine's what is known to be ours, or all if nobody else is at work.
func (k *killing) survey() []string {
	trees := maps.Clone(survey.Usual)
	trees["/run"], trees["/tmp"], trees["/dev/shm"] = 9, 9, 9
	trees[k.state()], trees[k.dir] = 2, 1
	var host survey.Host
	machine := slices.Concat(host.Swaps(), host.Loops(), host.Groups())
	if k.Alone {
		machine = slices.Concat(machine, host.Modules(), host.Sysctls("vm", "fs/inotify", "kernel/core_pattern", "kernel/apparmor_restrict_unprivileged_userns"),
			host.Settings(), host.Controllers(), host.Units())
	} else {
		machine = slices.DeleteFunc(machine, func(fact string) bool { return !k.ours(fact) })
	}
	facts := slices.Concat(host.Processes(), host.Network(), host.Sockets(), host.Mounts(), host.Files(trees), host.IPC(), host.Sysctls("net", "user"), machine)
	slices.Sort(facts)
	return slices.DeleteFunc(facts, k.expected)
}

// ours says whether a thing of the machine has a name by which a run's are known.
func (k *killing) ours(fact string) bool {
	if strings.Contains(fact, k.state()) {
		return true
	}
	for run := range k.runs {
		if strings.Contains(fact, run) {
			return true
		}
	}
	return false
}

// expected says whether a fact is of what a run keeps on purpose, or nobody can know to be ours.
func (k *killing) expected(fact string) bool {
	// crun has an empty file of no permissions in /tmp for a moment, under a name that only it knows: killed just then it leaves it.
	if strings.HasPrefix(fact, "file /tmp/crun.") && strings.HasSuffix(fact, " ----------") {
		return true
	}
	// What all runs lock lies there, and is kept.
	if strings.HasPrefix(fact, "file "+bench.RuntimeDir+" ") {
		return true
	}
	// The build of the image works in the first network namespace, where others do.
	if k.task.Platform == build && !k.Alone && strings.HasPrefix(fact, "socket ") {
		return true
	}
	for _, p := range []string{stopFile(k.dir), filepath.Join(k.dir, "results-"), filepath.Join(k.state(), "ledger."), filepath.Join(k.state(), "begun"), filepath.Join(k.state(), "images", "")} {
		if strings.HasPrefix(fact, "file "+p) && !strings.Contains(fact, "/images/.build-") {
			return true
		}
	}
	return false
}
