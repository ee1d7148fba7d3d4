package powercut

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/verify/systrace"
)

// changing are the system calls after which the directory may be another.
var changing = []uint64{unix.SYS_OPENAT, unix.SYS_OPENAT2, unix.SYS_MKDIRAT, unix.SYS_UNLINKAT, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2,
	unix.SYS_LINKAT, unix.SYS_SYMLINKAT, unix.SYS_WRITE, unix.SYS_WRITEV, unix.SYS_PWRITE64, unix.SYS_PWRITEV, unix.SYS_PWRITEV2,
	unix.SYS_FTRUNCATE, unix.SYS_TRUNCATE, unix.SYS_FALLOCATE, unix.SYS_COPY_FILE_RANGE, unix.SYS_SENDFILE, unix.SYS_SPLICE}

// syncing are those that force a file or directory to disk.
var syncing = []uint64{unix.SYS_FSYNC, unix.SYS_FDATASYNC}

// A recorder watches a process that works in a directory.
type recorder struct {
	recording
	root  string
	nodes map[uint64]node // by inode, of what is there
	last  node
	now   world
	paths map[node]string
}

// record runs the test of the name again, as the process that acts in the directory.
func record(root, test string) (*recording, error) {
	r := &recorder{root: root, nodes: map[uint64]node{}}
	r.isDir = map[node]bool{}
	if err := r.look(""); err != nil {
		return nil, err
	}
	r.first, r.events = r.now.clone(), nil
	words, err := os.CreateTemp("", "powercut")
	if err != nil {
		return nil, err
	}
	defer os.Remove(words.Name())
	defer words.Close()
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	cmd := exec.Command(os.Args[0], "-test.run="+strings.Join(parts, "/"), "-test.count=1")
	cmd.Env = append(os.Environ(), dirVar+"="+root)
	cmd.Stdout, cmd.Stderr = words, words
	status, err := systrace.Run(cmd, systrace.Eyes{Entered: r.entered, Left: r.left})
	if err != nil {
		return nil, fmt.Errorf("trace the scenario: %w", err)
	}
	if status.ExitStatus() != 0 {
		text, _ := os.ReadFile(words.Name())
		return nil, fmt.Errorf("the scenario failed: %s", text)
	}
	return &r.recording, nil
}

// entered takes what the scenario promises.
func (r *recorder) entered(tid int, c systrace.Call) error {
	if c.Number != unix.SYS_WRITE || int32(c.Args[0]) != -1 {
		return nil
	}
	text := make([]byte, c.Args[2])
	if _, err := unix.PtracePeekData(tid, uintptr(c.Args[1]), text); err != nil {
		return err
	}
	r.events = append(r.events, event{what: fmt.Sprintf("%q", text), promised: string(text)})
	return nil
}

// left notes what a call did.
func (r *recorder) left(tid int, c systrace.Call, result int64) error {
	if result < 0 {
		return nil
	}
	switch {
	case slices.Contains(syncing, c.Number):
		var st unix.Stat_t
		if err := unix.Stat(fmt.Sprintf("/proc/%d/fd/%d", tid, c.Args[0]), &st); err != nil {
			return err
		}
		if n := r.nodes[st.Ino]; n != 0 {
			r.events = append(r.events, event{what: "sync " + r.paths[n], synced: n})
		}
	case c.Number == unix.SYS_SYNC || c.Number == unix.SYS_SYNCFS:
		return errors.New("the scenario syncs whole file systems, which is not modelled")
	case slices.Contains(changing, c.Number):
		verb := "write"
		if c.Number == unix.SYS_FTRUNCATE || c.Number == unix.SYS_TRUNCATE {
			verb = "cut"
		}
		return r.look(verb)
	}
	return nil
}

// look compares the directory with what it was and notes the difference as an event.
func (r *recorder) look(verb string) error {
	next, paths, seen := newWorld(), map[node]string{top: "."}, map[uint64]node{}
	var fresh []node
	err := filepath.WalkDir(r.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		n, ok := r.nodes[st.Ino]
		if !ok {
			r.last++
			n = r.last
			fresh = append(fresh, n)
		}
		seen[st.Ino] = n
		rel, err := filepath.Rel(r.root, path)
		if err != nil {
			return err
		}
		paths[n] = rel
		if n != top {
			var parent unix.Stat_t
			if err := unix.Lstat(filepath.Dir(path), &parent); err != nil {
				return err
			}
			next.names[seen[parent.Ino]][d.Name()] = n
		}
		switch {
		case d.IsDir():
			r.isDir[n] = true
			next.names[n] = map[string]node{}
		case d.Type().IsRegular():
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			next.data[n] = string(text)
		default:
			return fmt.Errorf("%s is neither file nor directory, which is not modelled", rel)
		}
		return nil
	})
	if err != nil {
		return err
	}
	e := event{data: map[node]string{}, names: map[node]map[string]node{}}
	var did []string
	for n, text := range next.data {
		if text == r.now.data[n] {
			continue
		}
		e.data[n] = text
		did = append(did, verb+" "+paths[n])
	}
	for n, names := range next.names {
		changed := map[string]node{}
		for name, to := range names {
			if r.now.names[n][name] != to {
				changed[name] = to
				what := "rename to "
				if slices.Contains(fresh, to) {
					what = "make "
				}
				did = append(did, what+paths[to])
			}
		}
		for name, was := range r.now.names[n] {
			if names[name] == 0 {
				changed[name] = 0
				if paths[was] == "" {
					did = append(did, "remove "+r.paths[was])
				}
			}
		}
		if len(changed) > 0 {
			e.names[n] = changed
		}
	}
	r.nodes, r.now, r.paths = seen, next, paths
	if len(e.data)+len(e.names) > 0 {
		slices.Sort(did)
		e.what = strings.Join(did, ", ")
		r.events = append(r.events, e)
	}
	return nil
}
