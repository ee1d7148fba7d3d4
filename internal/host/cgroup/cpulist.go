package cgroup

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxCPU bounds the CPU numbers ParseCPUList takes; the kernel's NR_CPUS is at
// most 8192.
const maxCPU = 8192

// ParseCPUList parses a list of CPUs in the kernel's form, such as "0-2,5". The empty text means no
// CPUs. See cpuset(7), "List format".
func ParseCPUList(s string) ([]int, error) {
	var cpus []int
	if s == "" {
		return nil, nil
	}
	for _, word := range strings.Split(s, ",") {
		from, to, ranged := strings.Cut(word, "-")
		first, err := strconv.Atoi(from)
		last := first
		if err == nil && ranged {
			last, err = strconv.Atoi(to)
		}
		if err != nil || first < 0 || last < first || last >= maxCPU {
			return nil, fmt.Errorf("cpu list %q: bad range %q", s, word)
		}
		for c := first; c <= last; c++ {
			cpus = append(cpus, c)
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus), nil
}

func sameCPUs(a, b []int) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}
