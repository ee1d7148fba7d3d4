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
// boot and after it, and count in their own PID namespace, so the start, the boot
// and the namespace belong to it.
type Owner struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks since the boot: proc_pid_stat(5), field 22
	Boot  string `json:"boot"`  // /proc/sys/kernel/random/boot_id
	Run   string `json:"run"`
	// PIDNS is the inode of the PID namespace that PID counts in, 0 if that is not known.
	PIDNS uint64 `json:"pidns,omitempty"`
	// Machine is /etc/machine-id, "" where there is none.
	Machine string `json:"machine,omitempty"`
	// Lock is the byte that the owner has locked as long as it lives, see
	// [holdLife]; 0 in entries of format 1.
	Lock int64 `json:"lock,omitempty"`
}

// self is this process as an owner that holds no lock yet.
func self(run string) (Owner, error) {
	boot, err := bootID()
	if err != nil {
		return Owner{}, err
	}
	start, _, err := startOf("self")
	if err != nil {
		return Owner{}, err
	}
	machine, err := os.ReadFile("/etc/machine-id")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Owner{}, fmt.Errorf("read machine id: %w", err)
	}
	return Owner{PID: os.Getpid(), Start: start, Boot: boot, Run: run, PIDNS: pidNamespace(),
		Machine: strings.TrimSpace(string(machine))}, nil
}

// pidNamespace is the inode of this process's PID namespace, or 0 if /proc shows
// another namespace: its numbers would be taken for ours.
func pidNamespace() uint64 {
	if shown, err := os.Readlink("/proc/self"); err != nil || shown != strconv.Itoa(os.Getpid()) {
		return 0
	}
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &st); err != nil {
		return 0
	}
	return st.Ino
}

// firstPIDNS is the inode of the first PID namespace (PROC_PID_INIT_INO, include/linux/proc_ns.h).
const firstPIDNS = 0xEFFFFFFC

// same reports whether both are one process.
func (o Owner) same(me Owner) bool {
	return o.PID == me.PID && o.Start == me.Start && o.Boot == me.Boot && (o.PIDNS == 0 || o.PIDNS == me.PIDNS)
}

// lives reports whether the owner is still running. Where its process number
// counts, the table of processes tells; elsewhere the lock it holds in the state
// directory does. Entries of format 1 tell of no lock: their number has to do.
func (o Owner) lives(stateDir string, me Owner) (bool, error) {
	here := o.Boot == me.Boot
	if here && (o.Lock == 0 || o.PIDNS != 0 && o.PIDNS == me.PIDNS) {
		start, state, err := startOf(strconv.Itoa(o.PID))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			return false, nil
		}
		return start == o.Start && state != "Z" && state != "X", err
	}
	if o.Lock == 0 {
		return false, nil
	}
	return lifeHeld(stateDir, o.Lock)
}

// beyond says why what a dead owner made cannot be seen from here, "" if it can.
func (o Owner) beyond(me Owner) string {
	switch {
	case o.Boot == me.Boot && o.PIDNS == firstPIDNS && me.PIDNS != firstPIDNS:
		return "made on the host, outside of this PID namespace: run tare clean there"
	case o.Boot != me.Boot && o.Machine != me.Machine && o.Machine != "" && me.Machine != "":
		return "made on another machine, machine-id " + o.Machine + ": run tare clean there"
	}
	return ""
}

// startOf returns when a process began and its state letter; pid is a number or "self".
func startOf(pid string) (start uint64, state string, err error) {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
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
