package host

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxCPU bounds CPU numbers, far above the kernel's NR_CPUS of 8192.
const maxCPU = 1 << 16

// ParseCPUList reads the kernel's notation for a set of CPUs, such as
// "0-3,8", in rising order; the empty text is no CPU.
func ParseCPUList(text string) ([]int, error) {
	var list []int
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		from, to, ranged := strings.Cut(part, "-")
		a, err := cpuNumber(from)
		if err != nil {
			return nil, fmt.Errorf("CPU list %q: %w", text, err)
		}
		b := a
		if ranged {
			if b, err = cpuNumber(to); err != nil {
				return nil, fmt.Errorf("CPU list %q: %w", text, err)
			}
		}
		if b < a {
			return nil, fmt.Errorf("CPU list %q: range %q runs backwards", text, part)
		}
		if len(list)+b-a >= maxCPU {
			return nil, fmt.Errorf("CPU list %q: more than %d CPUs", text, maxCPU)
		}
		for c := a; c <= b; c++ {
			list = append(list, c)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

func cpuNumber(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("%q is not the number of a CPU", s)
	}
	return int(n), nil
}

// FormatCPUList writes CPUs in the kernel's notation; it is the inverse of [ParseCPUList].
func FormatCPUList(cpus []int) string {
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
func intersect(a, b []int) []int {
	var both []int
	for _, n := range a {
		if slices.Contains(b, n) {
			both = append(both, n)
		}
	}
	return both
}
