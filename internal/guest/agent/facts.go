package agent

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// FactsRequest says which facts to read.
type FactsRequest struct {
	// Scratch is the directory whose file system is described and tried; empty for none.
	Scratch string `json:"scratch,omitempty"`
	// Programs are fingerprinted, by name as in a command.
	Programs []string `json:"programs,omitempty"`
}

// maxPrograms bounds the programs fingerprinted in one answer.
const maxPrograms = 32

// Bounds of a guest's facts: their number, and the bytes of each.
const (
	maxFacts = 1000
	maxFact  = 32 << 10
)

// Facts asks the agent for the instance's facts. A fact that the agent could not read is absent.
// PROTOCOL.md lists the names.
func (c *Client) Facts(ctx context.Context, q FactsRequest) (map[string]string, error) {
	payload, err := json.Marshal(q)
	if err != nil {
		return nil, fmt.Errorf("agent: facts: %w", err)
	}
	r, err := c.ask(ctx, newCall("facts"), typeFacts, payload)
	if err != nil {
		return nil, err
	}
	facts := map[string]string{}
	if err := json.Unmarshal(r.payload, &facts); err != nil {
		return nil, fmt.Errorf("agent: facts %.80q: %w", r.payload, err)
	}
	if len(facts) > maxFacts {
		return nil, fmt.Errorf("agent: %d facts: at most %d", len(facts), maxFacts)
	}
	for name, text := range facts {
		if len(name) > maxWords || len(text) > maxFact {
			return nil, fmt.Errorf("agent: fact %.80q has %d bytes: at most %d", name, len(text), maxFact)
		}
	}
	return facts, nil
}

// facts answers with the facts. It runs on its own goroutine, because it writes to a disk.
func (s *server) facts(id uint32, q FactsRequest) {
	is := readFacts("/", q)
	is["greeting_sent"] = strconv.FormatInt(s.greeted, 10)
	b, err := json.Marshal(is)
	if err != nil || len(b) > maxFrame {
		s.sendError(id, fmt.Errorf("facts of %d bytes: %w", len(b), err))
		return
	}
	s.send(appendFrame(nil, typeReply, id, b))
}

// readFacts reads the facts of the instance whose file system is at root.
func readFacts(root string, q FactsRequest) map[string]string {
	f := facts{root: root, is: map[string]string{}}
	f.kernel()
	f.processors()
	f.memory()
	f.limits()
	f.network()
	f.image(q.Programs)
	if q.Scratch != "" {
		f.scratch(q.Scratch)
	}
	return f.is
}

// facts are gathered by name; what cannot be read is left out.
type facts struct {
	root string
	is   map[string]string
}

func (f *facts) text(path string) (string, bool) {
	b, err := os.ReadFile(filepath.Join(f.root, path))
	return strings.TrimSpace(string(b)), err == nil
}

func (f *facts) copy(name, path string) {
	if t, ok := f.text(path); ok {
		f.is[name] = t
	}
}

func (f *facts) kernel() {
	f.copy("kernel", "/proc/sys/kernel/osrelease")
	f.copy("clock_source", "/sys/devices/system/clocksource/clocksource0/current_clocksource")
	if t, ok := f.text("/sys/kernel/mm/transparent_hugepage/enabled"); ok {
		f.is["thp"] = chosen(t)
	}
	dir := "/sys/devices/system/cpu/vulnerabilities"
	entries, err := os.ReadDir(filepath.Join(f.root, dir))
	if err != nil || len(entries) == 0 {
		return
	}
	var all []string
	for _, e := range entries {
		if t, ok := f.text(dir + "/" + e.Name()); ok {
			all = append(all, e.Name()+": "+t)
		}
	}
	f.is["mitigations"] = strings.Join(all, "; ")
}

// chosen is the word in brackets of a kernel's list of choices.
func chosen(list string) string {
	_, rest, found := strings.Cut(list, "[")
	word, _, ended := strings.Cut(rest, "]")
	if !found || !ended {
		return list
	}
	return word
}

func (f *facts) processors() {
	cpus := usableCPUs()
	list := make([]string, len(cpus))
	for i, cpu := range cpus {
		list[i] = strconv.Itoa(cpu)
	}
	if len(list) > 0 {
		f.is["cpus_usable"] = strings.Join(list, ",")
	}
	f.copy("cpus_online", "/sys/devices/system/cpu/online")
	var governors []string
	paths, _ := filepath.Glob(filepath.Join(f.root, "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor")) // the pattern is well-formed
	for _, p := range paths {
		if b, err := os.ReadFile(p); err == nil {
			governors = append(governors, strings.TrimSpace(string(b)))
		}
	}
	slices.Sort(governors)
	if governors = slices.Compact(governors); len(governors) > 0 {
		f.is["governor"] = strings.Join(governors, ",")
	}
}

// memory reads /proc/meminfo, which in a container is the host's, and the
// limit of the control group where the instance sees its own.
func (f *facts) memory() {
	if t, ok := f.text("/proc/meminfo"); ok {
		for line := range strings.Lines(t) {
			name, value, _ := strings.Cut(line, ":")
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			if err != nil {
				continue
			}
			switch name {
			case "MemTotal":
				f.is["memory_total"] = strconv.FormatInt(n<<10, 10)
			case "SwapTotal":
				f.is["swap_total"] = strconv.FormatInt(n<<10, 10)
			}
		}
	}
	f.copy("memory_limit_seen", "/sys/fs/cgroup/memory.max")
	f.copy("memory_limit_seen", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
}

func (f *facts) limits() {
	for name, which := range map[string]int{
		"limit_nofile": unix.RLIMIT_NOFILE, "limit_nproc": unix.RLIMIT_NPROC,
		"limit_memlock": unix.RLIMIT_MEMLOCK, "limit_stack": unix.RLIMIT_STACK,
	} {
		var l unix.Rlimit
		if unix.Getrlimit(which, &l) == nil {
			f.is[name] = limit(l.Cur) + "/" + limit(l.Max)
		}
	}
	f.is["uid"] = strconv.Itoa(os.Getuid())
	if t, ok := f.text("/proc/self/status"); ok {
		for line := range strings.Lines(t) {
			switch name, value, _ := strings.Cut(line, ":"); name {
			case "CapEff":
				f.is["capabilities"] = strings.TrimSpace(value)
			case "Seccomp":
				f.is["seccomp"] = strings.TrimSpace(value)
			}
		}
	}
}

func limit(v uint64) string {
	if v == unix.RLIM_INFINITY {
		return "unlimited"
	}
	return strconv.FormatUint(v, 10)
}

// network names the devices with their MTU, and their driver where it shows.
func (f *facts) network() {
	entries, err := os.ReadDir(filepath.Join(f.root, "/sys/class/net"))
	if err != nil {
		return
	}
	var devices []string
	for _, e := range entries {
		if e.Name() == "lo" {
			continue
		}
		dir := "/sys/class/net/" + e.Name()
		mtu, ok := f.text(dir + "/mtu")
		if !ok {
			continue // a file such as bonding_masters
		}
		device := e.Name() + " mtu " + mtu
		if driver, err := os.Readlink(filepath.Join(f.root, dir, "device/driver")); err == nil {
			device += " " + filepath.Base(driver)
		}
		devices = append(devices, device)
	}
	f.is["network"] = strings.Join(devices, ", ")
}

// image fingerprints what the instance runs: its list of packages and the
// programs that are measured.
func (f *facts) image(programs []string) {
	for _, path := range []string{"/var/lib/dpkg/status", "/etc/os-release"} {
		if sum, err := fingerprint(filepath.Join(f.root, path)); err == nil {
			f.is["image"] = path + " " + sum
			break
		}
	}
	if len(programs) > maxPrograms {
		programs = programs[:maxPrograms]
	}
	var found []string
	for _, name := range programs {
		path, err := lookPath(name, "/", []string{"PATH=" + bench.CommandPath})
		if err != nil {
			continue
		}
		if sum, err := fingerprint(path); err == nil {
			found = append(found, name+" "+sum)
		}
	}
	if len(found) > 0 {
		f.is["programs"] = strings.Join(found, ", ")
	}
}

// fingerprint is the beginning of a file's SHA-256.
func fingerprint(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8]), nil
}
