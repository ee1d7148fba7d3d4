package host

import (
	"errors"
	"fmt"

	"tare/internal/bench"
	"tare/internal/proc"
)

// readMemory reads sizes and the two policies that change what memory costs:
// transparent huge pages and kernel samepage merging.
func readMemory(t tree, f *Facts) error {
	var errs [3]error
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
	return errors.Join(errs[:]...)
}

// FreeMemory is what new programs can have of the memory without swapping, on the
// host whose files lie under root; 0 if it is not known.
func FreeMemory(root string) bench.Bytes {
	text, _ := tree(root).text("/proc/meminfo")
	memory, err := proc.ParseMeminfo([]byte(text))
	if err != nil {
		return 0
	}
	return bench.Bytes(memory.Available)
}
