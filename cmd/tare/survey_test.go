package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/verify/survey"
)

// A surveyor looks at a machine on which others are at work, too, such as other runs and tests of Tare's.
type surveyor struct {
	host  survey.Host
	state string // the state directory of the run; what lies in others is others'
}

func thisMachine(state string) surveyor { return surveyor{survey.Host{}, state} }

// namespaced lists what a user has in the namespaces that the machine is looked
// at from, and in files of the user's.
func (m surveyor) namespaced() []string {
	trees := maps.Clone(survey.Usual)
	trees["/var/lib/machines"] = 9
	h := m.host
	return m.lasting(h.Network(), h.Sysctls("net"), h.Files(survey.Trees{"/run": 9}), h.Written(trees), h.Mounts())
}

// shared lists what no namespace holds apart, and the network and sysctls of the
// first one when it is called there.
func (m surveyor) shared() []string {
	h := m.host
	return m.lasting(h.Network(), h.Sysctls(""), h.Modules(), h.TopGroups(), h.Swaps(), h.Loops(), h.Settings(), h.Units(), h.Daemons())
}

// lasting strikes what others do on the machine, and what a run leaves on purpose.
func (m surveyor) lasting(kinds ...[]string) []string {
	facts := slices.DeleteFunc(slices.Concat(kinds...), func(fact string) bool {
		switch kind, what, _ := strings.Cut(fact, " "); kind {
		case "module":
			return loadedByUse.MatchString(what)
		case "swap", "loop":
			return m.others(what)
		case "mount":
			return m.others(what) || strings.Contains(what, m.state) // what a run mounts is looked for by its name
		case "file": // a run's own in /run are looked for by its name
			return strings.HasPrefix(what, bench.RuntimeDir+" ") || strings.HasPrefix(what, bench.RuntimeDir+"/")
		}
		return false
	})
	slices.Sort(facts)
	return facts
}

// others reports whether a name is of another run or test of Tare's on the machine.
func (m surveyor) others(name string) bool {
	return (strings.Contains(name, "tare") || strings.Contains(name, "/tmp/Test")) && !strings.Contains(name, m.state)
}

// loadedByUse are modules that the kernel loads by itself when bridges, rules or
// file systems are first used, and that change nothing for others.
var loadedByUse = regexp.MustCompile(`^(bridge|stp|llc|veth|tun|tap|vhost\w*|overlay|loop|btrfs|xor|raid6_pq|ext4|jbd2|mbcache|crc\w*|libcrc\w*|` +
	`x_tables|xt_\w+|ip6?_tables|ip6?table_\w+|ipt_\w+|ip6t_\w+|nft_\w+|nf_\w+|nfnetlink\w*|xfrm_\w+|kvm\w*|irqbypass|sch_\w+|cls_\w+|inet_diag|\w+_diag|fuse)$`)

// TestSurveyLeavesOut strikes what others do on a machine, and nothing else.
func TestSurveyLeavesOut(t *testing.T) {
	kept := []string{
		"file /etc/tare.conf -rw-r--r-- 1 now",
		"file /run/tared drwxr-xr-x",
		"loop loop0 /state/docker-btrfs.img",
		"module br_netfilter",
		"mount / /mnt rw - tmpfs none rw",
		"swap /state/runs/r/swap file",
	}
	struck := []string{
		"file /run/tare drwx------",
		"file /run/tare/measure.lock -rw-------",
		"loop loop1 /tmp/TestX1/001/image",
		"module xt_MASQUERADE",
		"mount / /state/runs/r/root rw - overlay none rw",
		"mount / /var/tmp/tare-state-1/runs/x rw - tmpfs none rw",
		"swap /var/lib/tare/runs/r/swap file",
	}
	m := surveyor{state: "/state"}
	if got := m.lasting(struck, kept); !slices.Equal(got, kept) {
		t.Errorf("%q, want %q", got, kept)
	}
}
