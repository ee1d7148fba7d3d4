package vm

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"strings"
)

// guestModules are what the agent needs before it can mount the root, bring up
// the network and be spoken to. What the kernel has built in is left out.
var guestModules = [...]string{"virtio_pci", "virtio_blk", "virtio_net", "virtio_console", "ext4"}

// checksum is what ext4 asks the kernel's crypto layer for by another name than
// a module's (modules.softdep), where the kernel has it as a module.
const checksum = "crc32c_generic"

// moreModules are what a disk needs on a bus other than PCI's virtio, a network card that is none of
// virtio's, and what a layer over the root does, by the name of the list.
var moreModules = map[string][]string{
	BusMMIO: {"virtio_mmio"},
	"layer": {"overlay"},

	"balloon": {"virtio_balloon"},
	BusSCSI:   {"virtio_scsi", "sd_mod"},
	BusIDE:    {"ahci", "ata_piix", "sd_mod"},
	BusNVMe:   {"nvme"},
	BusXen:    {"xen_blkfront", "xen_netfront", "xen_evtchn", "xen_gntalloc"},

	BusXenDisks: {"xen_blkfront", "xen_evtchn", "xen_gntalloc"},
	NICEmulated: {NICEmulated},
}

// moduleSet is what a kernel's modules directory says about its modules.
// Names are in the kernel's own spelling, with "_" for "-".
type moduleSet struct {
	file    map[string]string   // module -> path below the directory
	needs   map[string][]string // module -> modules it needs, direct and indirect
	builtin map[string]bool
}

// readModules reads modules.dep and modules.builtin as depmod and the kernel's
// build write them (modules.dep(5)).
func readModules(dep, builtin io.Reader) (*moduleSet, error) {
	s := &moduleSet{file: map[string]string{}, needs: map[string][]string{}, builtin: map[string]bool{}}
	err := eachLine(dep, func(line string) error {
		file, rest, ok := strings.Cut(line, ":")
		name, isModule := moduleName(file)
		if !ok || !isModule {
			return fmt.Errorf("modules.dep: not a dependency: %q", line)
		}
		s.file[name] = file
		for _, need := range strings.Fields(rest) {
			n, isModule := moduleName(need)
			if !isModule {
				return fmt.Errorf("modules.dep: %q is not a module in %q", need, line)
			}
			s.needs[name] = append(s.needs[name], n)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = eachLine(builtin, func(line string) error {
		name, ok := moduleName(line)
		if !ok {
			return fmt.Errorf("modules.builtin: not a module: %q", line)
		}
		s.builtin[name] = true
		return nil
	})
	return s, err
}

// lists are the modules' files to load, in order, by the name of the list in the
// initial RAM file system: modules.list is loaded at every boot, modules-NAME.list
// for a disk on that bus. What the kernel has no drivers for has no list.
func (s *moduleSet) lists() (map[string][]string, error) {
	want := guestModules[:]
	if s.file[checksum] != "" {
		want = append([]string{checksum}, want...)
	}
	always, err := s.Order(want...)
	if err != nil {
		return nil, err
	}
	lists := map[string][]string{"modules.list": always}
	for name, modules := range moreModules {
		if files, err := s.Order(modules...); err == nil {
			lists[moreList(name)] = files
		}
	}
	return lists, nil
}

// moreList is the file of a list of moreModules.
func moreList(name string) string { return "modules-" + name + ".list" }

// Order returns the files to load, in order, so that the wanted modules work:
// each after all it needs, none twice, none that is built in.
func (s *moduleSet) Order(want ...string) ([]string, error) {
	var files []string
	state := map[string]int{} // 1: its needs are being placed, 2: placed
	var place func(name, wantedBy string) error
	place = func(name, wantedBy string) error {
		switch {
		case s.builtin[name] || state[name] == 2:
			return nil
		case state[name] == 1:
			return fmt.Errorf("modules %s and %s need each other", name, wantedBy)
		case s.file[name] == "":
			return fmt.Errorf("kernel has no module %s, needed by %s", name, wantedBy)
		}
		state[name] = 1
		for _, need := range s.needs[name] {
			if err := place(need, name); err != nil {
				return err
			}
		}
		state[name] = 2
		files = append(files, s.file[name])
		return nil
	}
	for _, name := range want {
		if err := place(name, "the agent"); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// moduleName returns the kernel's name for a module's file, such as
// "net_failover" for "kernel/drivers/net/net_failover.ko.xz".
func moduleName(file string) (name string, ok bool) {
	name, _, ok = strings.Cut(path.Base(file), ".ko")
	return strings.ReplaceAll(name, "-", "_"), ok && name != ""
}

func eachLine(r io.Reader, f func(string) error) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		if line := strings.TrimSpace(sc.Text()); line != "" {
			if err := f(line); err != nil {
				return err
			}
		}
	}
	return sc.Err()
}
