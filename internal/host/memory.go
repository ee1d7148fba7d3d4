package host

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tare/internal/bench"
)

// readMemory reads sizes and the two policies that change what memory costs:
// transparent huge pages and kernel samepage merging.
func readMemory(t tree, f *Facts) error {
	info := t.fields("/proc/meminfo", ":")
	var errs [4]error
	f.Memory, errs[0] = kib(info, "MemTotal")
	f.Swap, errs[1] = kib(info, "SwapTotal")

	f.THP = "not built in"
	if text, ok := t.text("/sys/kernel/mm/transparent_hugepage/enabled"); ok {
		if f.THP, errs[2] = chosen(text); errs[2] != nil {
			f.THP = unknown
			errs[2] = fmt.Errorf("transparent huge pages: %w", errs[2])
		}
	}
	f.KSM = "not built in"
	if text, ok := t.text("/sys/kernel/mm/ksm/run"); ok {
		// 2 unmerges everything and stops (Documentation/admin-guide/mm/ksm.rst).
		if f.KSM, ok = map[string]string{"0": "off", "1": "on", "2": "off"}[text]; !ok {
			f.KSM = unknown
			errs[3] = fmt.Errorf("samepage merging: /sys/kernel/mm/ksm/run is %q", text)
		}
	}
	return errors.Join(errs[:]...)
}

// kib reads an amount that meminfo writes as "24684092 kB", which are KiB.
func kib(info map[string]string, name string) (bench.Bytes, error) {
	number, ok := strings.CutSuffix(info[name], " kB")
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 53)
	if !ok || err != nil || n < 0 {
		return 0, fmt.Errorf("memory: /proc/meminfo: %s is %q", name, info[name])
	}
	return bench.Bytes(n) * bench.KiB, nil
}
