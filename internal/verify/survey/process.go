package survey

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"tare/internal/bench"
)

// Processes lists all but this one, its parents and their children that only look.
func (h Host) Processes() []string {
	var f facts
	mine := h.lineage()
	for _, name := range h.glob("proc/[0-9]*/cmdline") {
		pid := filepath.Base(filepath.Dir(name))
		text, ok := h.text(name)
		if !ok || mine[pid] {
			continue
		}
		command := strings.TrimSpace(strings.ReplaceAll(text, "\x00", " "))
		if command == "" { // a thread of the kernel's, or a zombie
			for comm := range h.lines("proc/" + pid + "/comm") {
				command = "[" + comm + "]"
			}
		}
		f.add("process", "%s %s", pid, command)
	}
	return f
}

// lineage is this process and its parents.
func (h Host) lineage() map[string]bool {
	mine := map[string]bool{}
	for pid := os.Getpid(); pid > 0; {
		mine[strconv.Itoa(pid)] = true
		text, _ := h.text(fmt.Sprintf("proc/%d/stat", pid))
		fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
		if len(fields) < 2 {
			break
		}
		var err error
		if pid, err = strconv.Atoi(fields[1]); err != nil {
			break
		}
	}
	return mine
}

// ofPlatforms are the daemons of platforms and what they start beside themselves.
var ofPlatforms = regexp.MustCompile(`^(dockerd|docker-proxy|containerd|containerd-shim.*|podman|conmon|crio|incusd|lxd|lxcfs|lxc-monitord|lxc-start|libvirtd|virt\w+d|` +
	`dnsmasq|systemd-machine.*|systemd-nspawn|xenstored|xenconsoled|slirp4netns|passt.*|pasta.*|runsc.*)$`)

// Daemons lists those of platforms that are the first process's and run without a mark of Tare's: the user's, or started for a run by
// somebody else, such as through a socket or the message bus.
func (h Host) Daemons() []string {
	var f facts
	for _, dir := range h.glob("proc/[0-9]*") {
		name, ok := h.text(dir + "/comm")
		environ, readable := h.text(dir + "/environ")
		status, _ := h.text(dir + "/status")
		if ok && readable && environ != "" && strings.Contains(status, "\nPPid:\t1\n") && ofPlatforms.MatchString(name) && !strings.Contains(environ, bench.ProcessMark+"=") {
			f.add("daemon", "%s, process %s", name, filepath.Base(dir))
		}
	}
	return f
}

// IPC lists System V's shared memory, semaphores and queues.
func (h Host) IPC() []string {
	var f facts
	for _, kind := range []string{"shm", "sem", "msg"} {
		for line := range h.lines("proc/sysvipc/" + kind) {
			if fields := strings.Fields(line); len(fields) > 1 && fields[0] != "key" {
				f.add("ipc", "%s %s", kind, fields[0])
			}
		}
	}
	return f
}

// Units lists what a running systemd has: a service or socket that was started is new.
func (h Host) Units() []string {
	var f facts
	for line := range h.printed("systemctl list-units --all --plain --no-legend --no-pager") {
		if fields := strings.Fields(line); len(fields) > 3 {
			f.add("unit", "%s", strings.Join(fields[:4], " "))
		}
	}
	return f
}
