package opened

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"tare/internal/bench"
)

// TestFiles has a script that executes a program which reads a file: all three are listed with the
// process that opened them, and nothing that was not opened.
func TestFiles(t *testing.T) {
	dir, err := os.MkdirTemp("/var/tmp", "tare-opened-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program, err := exec.LookPath("cat")
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, data := range map[string][]byte{
		"real": binary, "read": []byte("text"), "left": nil,
		"wrapper": []byte("#!/bin/sh\nexec " + at("real") + " " + at("read") + "\n"),
	} {
		if err := os.WriteFile(at(name), data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w, err := Begin()
	if errors.Is(err, bench.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	cmd := exec.Command(at("wrapper"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	files, err := w.Files()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"wrapper", "real", "read"} {
		if want := (File{cmd.Process.Pid, at(name)}); !slices.Contains(files, want) {
			t.Errorf("%v is not among %v", want, files)
		}
	}
	if slices.ContainsFunc(files, func(f File) bool { return f.Path == at("left") }) {
		t.Errorf("a file that nobody opened is listed")
	}
}

func TestOnDisks(t *testing.T) {
	const table = `22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 27 254:0 /var/a /mnt/part rw - ext4 /dev/vda rw
28 27 254:1 / /mnt/a\040b rw - xfs /dev/vdb rw
29 26 0:26 / /tmp rw,relatime - tmpfs tmpfs rw
`
	if got, want := onDisks(table), []string{"/", "/mnt/a b", "/mnt/part"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := onDisks("1 0 0:5 / / rw - overlay overlay rw\nshort\n"); !slices.Equal(got, []string{"/"}) {
		t.Errorf("the root is a file system of programs whatever it is on: %q", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte{24, 0, 0, 0, 3, 0, 24, 0, 32, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		events, err := parse(b)
		if err == nil && len(events) > len(b)/recordHead {
			t.Errorf("%d events in %d bytes", len(events), len(b))
		}
		for _, e := range events {
			if e.name == "" || filepath.Base(e.name) != e.name {
				t.Errorf("%q is no name of a file", e.name)
			}
		}
	})
}
