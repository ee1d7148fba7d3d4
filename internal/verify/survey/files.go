package survey

import (
	"io/fs"
	"strings"
)

// Trees are directories, each with the depth to which it is looked at; 0 is the directory alone.
type Trees map[string]int

// Usual are trees in which programs that run instances keep things, beside those in namespaces of their own.
var Usual = Trees{
	"/etc/docker": 9, "/etc/containerd": 9, "/etc/containers": 9, "/etc/cni": 9, "/etc/libvirt": 9, "/etc/lxc": 9, "/etc/subuid": 0,
	"/etc/resolv.conf": 0, "/etc/hosts": 0, "/var/lib/docker": 9, "/var/lib/containerd": 9, "/var/lib/containers": 9, "/var/lib/cni": 9,
	"/var/lib/libvirt": 9, "/var/lib/lxc": 9, "/var/lib/machines": 2, "/var/cache/libvirt": 9, "/var/log/libvirt": 9, "/var/log/lxc": 9,
	"/opt/containerd": 9, "/opt/cni": 9, "/root/.docker": 9, "/root/.config/containers": 9, "/root/.local/share/containers": 9,
	"/root/.cache/libvirt": 9, "/root/.cache/lxc": 9,
}

// Files lists the files of trees, with their modes.
func (h Host) Files(trees Trees) []string {
	var f facts
	for tree, depth := range trees {
		h.walk(tree, depth, func(name string, info fs.FileInfo) { f.add("file", "%s %v", name, info.Mode()) })
	}
	return f
}

// Written lists the files of trees, with their modes, sizes, and when they were written.
func (h Host) Written(trees Trees) []string {
	var f facts
	for tree, depth := range trees {
		h.walk(tree, depth, func(name string, info fs.FileInfo) {
			f.add("file", "%s %v %d %v", name, info.Mode(), info.Size(), info.ModTime())
		})
	}
	return f
}

// Mounts lists what is mounted.
func (h Host) Mounts() []string {
	var f facts
	for line := range h.lines("proc/self/mountinfo") {
		if fields := strings.Fields(line); len(fields) > 4 {
			f.add("mount", "%s", strings.Join(fields[3:], " "))
		}
	}
	return f
}
