package bench

import "testing"

func TestThreadPart(t *testing.T) {
	for name, want := range map[string]string{
		"CPU 0/KVM":       "vcpu",
		"CPU 0/TCG":       "vcpu",
		"CPU 127/TCG":     "vcpu",
		"ALL CPUs/TCG":    "vcpu",
		"IO io0":          "iothread",
		"worker":          "iothread",
		"iou-wrk-4711":    "iothread",
		"vhost-4711":      "iothread",
		"qemu-system-x86": "vmm",
		"call_rcu":        "vmm",
		"migration":       "vmm",
		"CPU":             "vmm",
		"":                "vmm",
	} {
		if got := ThreadPart(name); got != want {
			t.Errorf("ThreadPart(%q) = %q, want %q", name, got, want)
		}
	}
}
