package host

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// machineIDBytes is how much of the hash is kept: enough to tell machines apart.
const machineIDBytes = 16

// readMachineID reads an id of the installed system. It keeps a hash of the machine id, because
// machine-id(5) forbids publishing the id itself.
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

// Changed describes the differences between two readings of a host that make measurements before
// and after incomparable. A fact missing from either reading does not count as a change.
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
	look("address space layout", f.ASLR, now.ASLR)
	look("clock source", f.ClockSource, now.ClockSource)
	for _, name := range slices.Sorted(maps.Keys(f.Mitigations)) {
		look("mitigation of "+name, f.Mitigations[name], now.Mitigations[name])
	}
	return changed
}

func told(s string) bool { return s != "" && s != unknown && s != notExposed }

// positive formats a number, "" if it is not known.
func positive(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
