package sched

import (
	"fmt"
	"sync"

	"github.com/cilium/ebpf/btf"
)

// offsets are where this kernel keeps what is read of a task that ends, in bytes.
type offsets struct {
	executions, waited     int32 // in task_struct
	cgroups                int32 // in task_struct: a css_set
	unified                int32 // in css_set: the cgroup of version 2
	accounting             int32 // in css_set: the state of version 1's cpuacct
	cgroup                 int32 // in cgroup_subsys_state
	level, ancestors, node int32 // in cgroup; ancestors are pointers by level
	id                     int32 // in kernfs_node: the inode of the group's directory
}

// kernelOffsets are the running kernel's, by its own description of its types
// (CONFIG_DEBUG_INFO_BTF). They are looked up once: that takes tens of milliseconds.
var kernelOffsets = sync.OnceValues(func() (offsets, error) {
	spec, err := btf.LoadKernelSpec()
	if err != nil {
		return offsets{}, err
	}
	var o offsets
	for _, f := range []struct {
		into *int32
		of   string
		path []string
	}{
		{&o.executions, "task_struct", []string{"sched_info", "pcount"}},
		{&o.waited, "task_struct", []string{"sched_info", "run_delay"}},
		{&o.cgroups, "task_struct", []string{"cgroups"}},
		{&o.unified, "css_set", []string{"dfl_cgrp"}},
		{&o.accounting, "css_set", []string{"subsys"}},
		{&o.cgroup, "cgroup_subsys_state", []string{"cgroup"}},
		{&o.level, "cgroup", []string{"level"}},
		{&o.ancestors, "cgroup", []string{"ancestors"}},
		{&o.node, "cgroup", []string{"kn"}},
		{&o.id, "kernfs_node", []string{"id"}},
	} {
		var s *btf.Struct
		if err := spec.TypeByName(f.of, &s); err != nil {
			return offsets{}, err
		}
		var ok bool
		if *f.into, ok = offsetOf(s, f.path); !ok {
			return offsets{}, fmt.Errorf("this kernel has no %v in %s", f.path, f.of)
		}
	}
	var ids *btf.Enum
	if err := spec.TypeByName("cgroup_subsys_id", &ids); err != nil {
		return offsets{}, err
	}
	for _, v := range ids.Values {
		if v.Name == "cpuacct_cgrp_id" {
			o.accounting += 8 * int32(v.Value)
			return o, nil
		}
	}
	o.accounting = -1 // a kernel without version 1's groups
	return o, nil
})

// offsetOf follows a path of members, through those without a name too.
func offsetOf(t btf.Type, path []string) (int32, bool) {
	var members []btf.Member
	switch t := btf.UnderlyingType(t).(type) {
	case *btf.Struct:
		members = t.Members
	case *btf.Union:
		members = t.Members
	}
	for _, m := range members {
		rest := path
		if m.Name == path[0] {
			if rest = path[1:]; len(rest) == 0 {
				return int32(m.Offset.Bytes()), true
			}
		} else if m.Name != "" {
			continue
		}
		if at, ok := offsetOf(m.Type, rest); ok {
			return int32(m.Offset.Bytes()) + at, true
		}
	}
	return 0, false
}
