package main

import (
	"fmt"
	"strconv"
	"strings"
)

// parseCloudHypervisor reads options that take one value, and those that take many.
func parseCloudHypervisor(args []string) (m machine, err error) {
	values := map[string][]string{}
	option := ""
	for _, a := range args {
		if name, ok := strings.CutPrefix(a, "--"); ok {
			option = name
			if values[option] != nil {
				return m, fmt.Errorf("--%s twice", option)
			}
			continue
		}
		values[option] = append(values[option], a)
	}
	one := func(name string) string {
		v := values[name]
		if len(v) != 1 {
			err = fmt.Errorf("--%s %q", name, v)
			return ""
		}
		delete(values, name)
		return v[0]
	}
	m.kernel, m.cmdline = one("kernel"), one("cmdline")
	if values["initramfs"] != nil {
		m.initrd = one("initramfs")
	}
	if c := one("console"); c != "off" && err == nil {
		return m, fmt.Errorf("--console %s", c)
	}
	m.socket, _ = strings.CutPrefix(one("serial"), "socket=")
	if m.socket == "tty" {
		m.socket = ""
	}
	cpus, memory := fields(one("cpus"), "boot", "max", "affinity"), fields(one("memory"), "size", "hugepages")
	for _, d := range values["disk"] {
		f := fields(d, "path", "readonly", "direct", "image_type")
		if f["image_type"] != "raw" {
			return m, fmt.Errorf("--disk %s: a disk of unknown format cannot be written to", d)
		}
		m.disks = append(m.disks, disk{f["path"], f["readonly"] == "on"})
	}
	delete(values, "disk")
	if values["net"] != nil {
		m.tap = fields(one("net"), "tap", "mac")["tap"]
	}
	if err != nil {
		return m, err
	}
	if len(values) > 0 {
		return m, fmt.Errorf("unexpected options %q", values)
	}
	if m.cpus, err = strconv.Atoi(cpus["boot"]); err != nil {
		return m, err
	}
	kib, err := strconv.ParseInt(strings.TrimSuffix(memory["size"], "K"), 10, 64)
	m.memory = kib << 10
	return m, err
}

// fields splits a value at the commas that are in no brackets; a name that is not
// known gets everything wrong.
func fields(value string, known ...string) map[string]string {
	list := map[string]string{}
	depth := 0
	split := func(r rune) bool {
		switch r {
		case '[':
			depth++
		case ']':
			depth--
		}
		return r == ',' && depth == 0
	}
	for _, part := range strings.FieldsFunc(value, split) {
		name, v, _ := strings.Cut(part, "=")
		if !strings.Contains(" "+strings.Join(known, " ")+" ", " "+name+" ") {
			return nil
		}
		list[name] = v
	}
	return list
}
