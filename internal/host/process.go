package host

import (
	"fmt"
	"strconv"
	"strings"
)

// capabilities by bit (linux/capability.h).
var capabilities = []string{
	"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL",
	"CAP_SETGID", "CAP_SETUID", "CAP_SETPCAP", "CAP_LINUX_IMMUTABLE", "CAP_NET_BIND_SERVICE",
	"CAP_NET_BROADCAST", "CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_IPC_LOCK", "CAP_IPC_OWNER", "CAP_SYS_MODULE",
	"CAP_SYS_RAWIO", "CAP_SYS_CHROOT", "CAP_SYS_PTRACE", "CAP_SYS_PACCT", "CAP_SYS_ADMIN", "CAP_SYS_BOOT",
	"CAP_SYS_NICE", "CAP_SYS_RESOURCE", "CAP_SYS_TIME", "CAP_SYS_TTY_CONFIG", "CAP_MKNOD", "CAP_LEASE",
	"CAP_AUDIT_WRITE", "CAP_AUDIT_CONTROL", "CAP_SETFCAP", "CAP_MAC_OVERRIDE", "CAP_MAC_ADMIN", "CAP_SYSLOG",
	"CAP_WAKE_ALARM", "CAP_BLOCK_SUSPEND", "CAP_AUDIT_READ", "CAP_PERFMON", "CAP_BPF", "CAP_CHECKPOINT_RESTORE",
}

// readProcess reads this process's user, capabilities and limits.
func readProcess(t tree, f *Facts) error {
	status := t.fields("/proc/self/status", ":")
	uids := strings.Fields(status["Uid"]) // real, effective, saved, file system
	if len(uids) != 4 {
		return fmt.Errorf("user: /proc/self/status: Uid is %q", status["Uid"])
	}
	f.Root = uids[1] == "0"
	var err error
	if f.NoFile, err = openFileLimit(t); err != nil {
		return err
	}
	has, err := strconv.ParseUint(status["CapEff"], 16, 64)
	if err != nil {
		return fmt.Errorf("capabilities: /proc/self/status: CapEff is %q", status["CapEff"])
	}
	last, err := t.number("/proc/sys/kernel/cap_last_cap")
	if err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	for bit := 0; bit <= last && bit < 64; bit++ {
		if has&(1<<bit) != 0 {
			continue
		}
		name := fmt.Sprintf("capability %d", bit) // newer than this table
		if bit < len(capabilities) {
			name = capabilities[bit]
		}
		f.MissingCaps = append(f.MissingCaps, name)
	}
	return nil
}

// openFileLimit is the hard limit on open files; unlimited is the largest number.
func openFileLimit(t tree) (uint64, error) {
	text, _ := t.text("/proc/self/limits")
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, "Max open files")
		if !ok {
			continue
		}
		columns := strings.Fields(rest) // soft, hard, unit
		if len(columns) == 3 && columns[1] == "unlimited" {
			return 1<<64 - 1, nil
		}
		if len(columns) == 3 {
			if n, err := strconv.ParseUint(columns[1], 10, 64); err == nil {
				return n, nil
			}
		}
		return 0, fmt.Errorf("open files: /proc/self/limits: line %q", strings.TrimSpace(line))
	}
	return 0, fmt.Errorf("open files: /proc/self/limits has no such line")
}
