package platformtest

import (
	"os"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// cpusEnv, if it is "backwards", lets tests begin with the last of the host's CPUs: two
// sets of tests at once, each with an instance or two, are then in each other's way less.
const cpusEnv = "TARE_TEST_CPUS"

// CPUs are those this process may run on, in the order in which instances are given them.
func CPUs(t testing.TB) []int {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	var cpus []int
	for c := range max(runtime.NumCPU(), len(set)*64) {
		if set.IsSet(c) {
			cpus = append(cpus, c)
		}
	}
	switch order := os.Getenv(cpusEnv); order {
	case "":
	case "backwards":
		slices.Reverse(cpus)
	default:
		t.Fatalf("%s=%s: want nothing or backwards", cpusEnv, order)
	}
	return cpus
}
