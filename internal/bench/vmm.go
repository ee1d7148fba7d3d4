package bench

import "strings"

// ThreadPart says which part a thread of a virtual machine monitor plays, from
// its name under "-name debug-threads=on": "vcpu" runs the guest's code
// ("CPU 0/KVM", "CPU 0/TCG"), "iothread" its devices ("IO iothread0",
// "IO mon_iothread"), "vmm" is everything else.
func ThreadPart(name string) string {
	switch {
	case strings.HasPrefix(name, "CPU ") && strings.Contains(name, "/"):
		return "vcpu"
	case strings.HasPrefix(name, "IO "), strings.HasPrefix(name, "iothread"):
		return "iothread"
	}
	return "vmm"
}
