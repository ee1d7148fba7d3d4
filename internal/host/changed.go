package host

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// machineIDBytes of the hash are kept: enough that no two machines share them.
const machineIDBytes = 16

// readMachineID reads what tells one installed system from all others. The
// kept id is derived from it as machine-id(5) asks for, since that itself must not be told.
func readMachineID(t tree, f *Facts) error {
	id := t.word("/etc/machine-id", "")
	if id == "" || id == "uninitialized" {
		return nil
	}
	mac := hmac.New(sha256.New, []byte(id))
	mac.Write([]byte("tare"))
	f.MachineID = fmt.Sprintf("%x", mac.Sum(nil)[:machineIDBytes])
	return nil
}

// Changed says in words what of a host is otherwise than it was, as far as
// measurements before and after must not be taken for those of one host. What
// one of both did not tell is no change.
func (f *Facts) Changed(now *Facts) []string {
	var changed []string
	look := func(name, was, is string) {
		if told(was) && told(is) && was != is {
			changed = append(changed, fmt.Sprintf("%s: %s when the run began, %s now", name, was, is))
		}
	}
	if f.MachineID != "" && now.MachineID != "" && f.MachineID != now.MachineID {
		changed = append(changed, fmt.Sprintf("machine: another one by /etc/machine-id (%s when the run began, %s now)", f.Hostname, now.Hostname))
	}
	look("processor", f.CPUModel, now.CPUModel)
	look("CPUs", positive(f.CPUs), positive(now.CPUs))
	look("cores", positive(f.Cores), positive(now.Cores))
	look("usable CPUs", formatCPUs(f.Usable), formatCPUs(now.Usable))
	look("SMT", f.SMT, now.SMT)
	look("hypervisor", f.Hypervisor, now.Hypervisor)
	look("kernel", f.Kernel, now.Kernel)
	look("governor", f.Governor, now.Governor)
	look("turbo", f.Turbo, now.Turbo)
	look("clock source", f.ClockSource, now.ClockSource)
	for _, name := range slices.Sorted(maps.Keys(f.Mitigations)) {
		look("mitigation of "+name, f.Mitigations[name], now.Mitigations[name])
	}
	return changed
}

func told(s string) bool { return s != "" && s != unknown && s != notExposed }

// positive is a number, or nothing where it is not known.
func positive(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
