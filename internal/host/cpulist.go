package host

import (
	"slices"
	"strconv"
	"strings"
)

// formatCPUs formats CPUs as the kernel does, "0-3,8": the inverse of [cgroup.ParseCPUList].
func formatCPUs(cpus []int) string {
	sorted := slices.Compact(slices.Sorted(slices.Values(cpus)))
	var parts []string
	for i := 0; i < len(sorted); {
		j := i
		for j+1 < len(sorted) && sorted[j+1] == sorted[j]+1 {
			j++
		}
		part := strconv.Itoa(sorted[i])
		if j > i {
			part += "-" + strconv.Itoa(sorted[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// intersect returns the members of a that are in b too.
func intersect[T comparable](a, b []T) []T {
	var both []T
	for _, x := range a {
		if slices.Contains(b, x) {
			both = append(both, x)
		}
	}
	return both
}
