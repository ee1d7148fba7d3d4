package launch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
)

// Child is a process with the name of its program, at most 15 bytes.
type Child struct {
	PID  int
	Name string
}

// Children returns the direct children of the process.
func Children(pid int) ([]Child, error) {
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	var list []Child
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it ended meanwhile
		}
		child, parent, err := parseStat(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if parent == pid {
			list = append(list, child)
		}
	}
	return list, nil
}

// Parent returns the process's parent.
func Parent(pid int) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, parent, err := parseStat(string(text))
	return parent, err
}

// parseStat reads the first four fields of proc_pid_stat(5). The program's
// name stands in parentheses and may contain any character, these too.
func parseStat(text string) (c Child, parent int, err error) {
	open, shut := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || shut < open {
		return Child{}, 0, fmt.Errorf("process state %q: no name in parentheses", text)
	}
	c.Name = text[open+1 : shut]
	c.PID, err = strconv.Atoi(strings.TrimSpace(text[:open]))
	fields := strings.Fields(text[shut+1:])
	if err != nil || len(fields) < 2 {
		return Child{}, 0, fmt.Errorf("process state %q: no process or parent id", text)
	}
	if parent, err = strconv.Atoi(fields[1]); err != nil {
		return Child{}, 0, fmt.Errorf("process state %q: bad parent id %q", text, fields[1])
	}
	return c, parent, nil
}

// HostEnd returns the name of the network device in the namespace at path test network
// that is the other end of the process's device dev.
func HostEnd(pid int, dev, lab string) (name string, err error) {
	done := make(chan struct{})
	go onOwnThread(func() { name, err = hostEnd(pid, dev, lab); close(done) })
	<-done
	if err != nil {
		return "", fmt.Errorf("host end of %s of process %d: %w", dev, pid, err)
	}
	return name, nil
}

func hostEnd(pid int, dev, lab string) (string, error) {
	inside, err := netns.GetFromPid(pid)
	if err != nil {
		return "", err
	}
	defer inside.Close()
	link, err := linkIn(inside, func(h *netlink.Handle) (netlink.Link, error) { return h.LinkByName(dev) })
	if err != nil {
		return "", err
	}
	outside, err := netns.GetFromPath(lab)
	if err != nil {
		return "", err
	}
	defer outside.Close()
	link, err = linkIn(outside, func(h *netlink.Handle) (netlink.Link, error) {
		return h.LinkByIndex(link.Attrs().ParentIndex)
	})
	if err != nil {
		return "", err
	}
	return link.Attrs().Name, nil
}

func linkIn(ns netns.NsHandle, find func(*netlink.Handle) (netlink.Link, error)) (netlink.Link, error) {
	h, err := netlink.NewHandleAt(ns)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	return find(h)
}

// keptLog is how much of a log [Tail] returns.
const keptLog = 4 << 10

// Tail returns the last 4 KiB of the file; a file that is not there is empty.
func Tail(path string) string {
	text, err := tail(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func tail(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-keptLog), keptLog))
}

// Program returns the path of an installed program. It also looks where
// administrators' programs live, which a user's PATH may leave out. A name may
// be an absolute path. The error
// is that of exec.LookPath.
func Program(name string) (string, error) {
	if filepath.IsAbs(name) {
		return lookPath(filepath.Base(name), filepath.Dir(name))
	}
	return lookPath(name, SearchPath(os.Getenv("PATH")))
}

// SearchPath completes the value of PATH with the directories of administrators' programs.
func SearchPath(path string) string {
	dirs := filepath.SplitList(path)
	have := map[string]bool{}
	for _, d := range dirs {
		have[d] = true
	}
	for _, d := range []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"} {
		if !have[d] {
			dirs = append(dirs, d)
		}
	}
	return strings.Join(dirs, string(filepath.ListSeparator))
}

func lookPath(name, path string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		full := filepath.Join(dir, name)
		if info, err := os.Stat(full); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && filepath.IsAbs(full) {
			return full, nil
		}
	}
	return "", fmt.Errorf("%s is not installed", name)
}

// BridgeAddr returns the address of the test network's bridge: that of an instance in
// the test network's own network.
func BridgeAddr(lab bench.Testnet) (addr netip.Addr, err error) {
	err = lab.Do(func() error {
		dev, err := net.InterfaceByName(lab.Bridge())
		if err != nil {
			return err
		}
		list, err := dev.Addrs()
		if err != nil {
			return err
		}
		for _, a := range list {
			if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() {
				addr = p.Addr()
				return nil
			}
		}
		return errors.New("it has none")
	})
	if err != nil {
		return netip.Addr{}, fmt.Errorf("address of bridge %s: %w", lab.Bridge(), err)
	}
	return addr, nil
}

// Parts finds the processes in the group, or below it, whose command line
// begins with one of the words, paths left out, as those that play the word's
// part: inside, if they are in that group too.
func Parts(g, inside *cgroup.Group, byWord map[string]string) ([]bench.Process, error) {
	if len(byWord) == 0 {
		return nil, nil
	}
	pids, err := g.Procs()
	if err != nil {
		return nil, err
	}
	within, err := inside.Procs()
	if err != nil {
		return nil, err
	}
	return PartsOf(pids, within, byWord), nil
}

// PartsOf is [Parts] among the processes: inside, if they are within, too.
func PartsOf(pids, within []int, byWord map[string]string) []bench.Process {
	var list []bench.Process
	for _, pid := range pids {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			continue // it ended meanwhile
		}
		word, _, _ := strings.Cut(string(line), "\x00")
		if part := byWord[filepath.Base(word)]; part != "" {
			list = append(list, bench.Process{PID: pid, Part: part, Inside: slices.Contains(within, pid)})
		}
	}
	return list
}

// Processes lists the host's processes.
func Processes() ([]int, error) {
	paths, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, path := range paths {
		if pid, err := strconv.Atoi(filepath.Base(path)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
