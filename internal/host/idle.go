package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tare/internal/bench"
)

const (
	idleDriver = "sys/devices/system/cpu/cpuidle/current_driver"
	idleFirst  = "sys/devices/system/cpu/cpu0/cpuidle/state0/name"
	// wakeFile takes the longest that a CPU may take to wake up, as long as it is held open
	// (Documentation/power/pm_qos_interface.rst).
	wakeFile = "dev/cpu_dma_latency"
)

// idling returns whether the host's CPUs can be told to poll while they are idle. They can where
// the first idle state of the kernel's driver polls.
func idling(root string) bench.Control {
	driver, err := setting(filepath.Join(root, idleDriver))
	if err != nil || driver == "none" {
		return bench.Control{Why: "this kernel has no driver of idle states (cpuidle)"}
	}
	if first, err := setting(filepath.Join(root, idleFirst)); err != nil || !strings.EqualFold(first, "poll") {
		return bench.Control{Why: fmt.Sprintf("the first idle state of the kernel's driver %s does not poll", driver)}
	}
	if _, err := os.Stat(filepath.Join(root, wakeFile)); err != nil {
		return bench.Control{Why: err.Error()}
	}
	return bench.Control{Values: []string{"poll"}}
}

// poll keeps every idle CPU polling until the settings are restored. It needs no entry in the
// ledger: the kernel takes the request back when the file is closed, also by this process's end.
func (s *settings) poll(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := f.Write(make([]byte, 4)); err != nil { // 0 us, as a 32-bit number
		return errors.Join(err, f.Close())
	}
	s.undo = append(s.undo, f.Close)
	return nil
}
