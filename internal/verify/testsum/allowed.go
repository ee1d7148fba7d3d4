package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// allowance is what may be skipped: the condition of each test on the host, by the test's name.
type allowance map[string]condition

// condition is the fact of the host for which a test may be skipped.
type condition string

// facts tell of each condition whether it holds on the host whose files lie at root.
var facts = map[condition]func(root string) bool{
	"always":   func(string) bool { return true }, // the driver says so itself on every host
	"not long": func(string) bool { return os.Getenv("TARE_LONG") == "" },
	"amx":      func(root string) bool { return cpuHas(root, "amx_tile") },
	"no kvm": func(root string) bool {
		return !exists(root, "dev/kvm") || exists(root, "sys/module/kvm_pvm") || !cpuHas(root, "svm") && !cpuHas(root, "vmx")
	},
	"no cluster": func(string) bool { return os.Getenv("KUBECONFIG") == "" },
	"no xen":     func(root string) bool { return read(root, "sys/hypervisor/type") != "xen" },
	"cgroup v1":  func(root string) bool { return !exists(root, "sys/fs/cgroup/cgroup.controllers") },
}

// without begins the condition that a program is missing, one that no package of the
// distributions has: set-up installs all others.
const without = "without "

// known says whether the condition can be looked up.
func (c condition) known() bool {
	program, is := strings.CutPrefix(string(c), without)
	return is && program != "" || facts[c] != nil
}

// holds looks it up on the host whose files lie at root.
func (c condition) holds(root string) bool {
	if program, is := strings.CutPrefix(string(c), without); is {
		_, err := exec.LookPath(program)
		return err != nil
	}
	return facts[c](root)
}

// readAllowed reads the tests that may be skipped, one a line: the name, the condition in
// brackets, and in words why.
func readAllowed(path string) (allowance, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	allowed, n := allowance{}, 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, rest, _ := strings.Cut(line, " ")
		inside, why, closed := strings.Cut(strings.TrimPrefix(rest, "["), "]")
		c := condition(inside)
		switch {
		case !strings.HasPrefix(rest, "[") || !closed || !c.known():
			return nil, fmt.Errorf("%s:%d: %s has no condition: after the name goes one of [always], [not long], [amx], [no kvm], [no xen], [no cluster], [cgroup v1], [without PROGRAM]", path, n, name)
		case strings.TrimSpace(why) == "":
			return nil, fmt.Errorf("%s:%d: %s: why may it be skipped?", path, n, name)
		}
		allowed[name] = c
	}
	return allowed, nil
}

// judge says what is wrong with a test's skip on this host, "" for nothing; always is whether that
// counts outside of CI, too.
func (a allowance) judge(root, name, reason string) (wrong string, always bool) {
	c, listed := a[name]
	if listed && c.holds(root) {
		return "", false
	}
	if strings.Contains(reason, "is not installed") {
		return "./test installs what tests need", true
	}
	if listed {
		return "[" + string(c) + "] does not hold on this host", false
	}
	return "not in internal/verify/testsum/allowed-skips", false
}

func exists(root, name string) bool {
	_, err := os.Stat(filepath.Join(root, name))
	return err == nil
}

// read returns the file's text, "" if there is none.
func read(root, name string) string {
	text, _ := os.ReadFile(filepath.Join(root, name))
	return strings.TrimSpace(string(text))
}

// cpuHas looks for a flag of the first CPU.
func cpuHas(root, flag string) bool {
	for line := range strings.Lines(read(root, "proc/cpuinfo")) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == "flags" {
			return strings.Contains(" "+strings.TrimSpace(value)+" ", " "+flag+" ")
		}
	}
	return false
}
