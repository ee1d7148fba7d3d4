package host

import (
	"errors"
	"fmt"

	"tare/internal/bench"
	"tare/internal/host/proc"
)

// readMemory reads sizes, the two policies that change the cost of memory (transparent huge pages
// and kernel samepage merging), and whether programs lie elsewhere in it at each start.
func readMemory(t tree, f *Facts) error {
	var errs [4]error
	text, _ := t.text("/proc/meminfo")
	memory, err := proc.ParseMeminfo([]byte(text))
	if err != nil {
		errs[0] = fmt.Errorf("memory: %w", err)
	}
	f.Memory, f.Swap = bench.Bytes(memory.Total), bench.Bytes(memory.SwapTotal)

	f.THP = "not built in"
	if text, ok := t.text("/sys/kernel/mm/transparent_hugepage/enabled"); ok {
		if f.THP, errs[1] = chosen(text); errs[1] != nil {
			f.THP = unknown
			errs[1] = fmt.Errorf("transparent huge pages: %w", errs[1])
		}
	}
	f.KSM = "not built in"
	if text, ok := t.text("/sys/kernel/mm/ksm/run"); ok {
		// 2 unmerges everything and stops (Documentation/admin-guide/mm/ksm.rst).
		if f.KSM, ok = map[string]string{"0": "off", "1": "on", "2": "off"}[text]; !ok {
			f.KSM = unknown
			errs[2] = fmt.Errorf("samepage merging: /sys/kernel/mm/ksm/run is %q", text)
		}
	}
	if text, ok := t.text("/proc/sys/kernel/randomize_va_space"); ok {
		if f.ASLR, ok = map[string]string{"0": fixedLayout, "1": "random but for the heap", "2": "random"}[text]; !ok {
			f.ASLR = unknown
			errs[3] = fmt.Errorf("address space layout: /proc/sys/kernel/randomize_va_space is %q", text)
		}
	}
	return errors.Join(errs[:]...)
}

// fixedLayout is that of a host where a program lies at the same addresses at each start.
const fixedLayout = "fixed"

// FreeMemory returns the memory available to new programs without swapping, on the host whose files
// are under root; 0 if unknown.
func FreeMemory(root string) bench.Bytes {
	text, _ := tree(root).text("/proc/meminfo")
	memory, err := proc.ParseMeminfo([]byte(text))
	if err != nil {
		return 0
	}
	return bench.Bytes(memory.Available)
}
