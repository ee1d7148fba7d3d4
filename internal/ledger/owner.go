package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Owner is the process that made a thing. Process numbers are reused, within a
// boot and after it, so the start and the boot belong to it.
type Owner struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks since the boot: proc_pid_stat(5), field 22
	Boot  string `json:"boot"`  // /proc/sys/kernel/random/boot_id
	Run   string `json:"run"`
}

// self is this process as an owner.
func self(run string) (Owner, error) {
	boot, err := bootID()
	if err != nil {
		return Owner{}, err
	}
	start, _, err := startOf(os.Getpid())
	if err != nil {
		return Owner{}, err
	}
	return Owner{PID: os.Getpid(), Start: start, Boot: boot, Run: run}, nil
}

// lives reports whether the owner is still running.
func (o Owner) lives(boot string) (bool, error) {
	if o.Boot != boot {
		return false, nil
	}
	start, state, err := startOf(o.PID)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return start == o.Start && state != "Z" && state != "X", nil
}

// startOf returns when the process began and its state letter.
func startOf(pid int) (start uint64, state string, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, "", err
	}
	return parseStat(string(text))
}

// parseStat reads fields 3 and 22 of a /proc/PID/stat line. The command's name
// may hold anything, also a parenthesis: fields count from the last one.
func parseStat(text string) (start uint64, state string, err error) {
	i := strings.LastIndexByte(text, ')')
	fields := strings.Fields(text[i+1:])
	if i < 0 || len(fields) < 20 {
		return 0, "", fmt.Errorf("process status %q: too few fields", text)
	}
	start, err = strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return 0, "", fmt.Errorf("process status %q: start %q: %w", text, fields[19], err)
	}
	return start, fields[0], nil
}

func bootID() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
