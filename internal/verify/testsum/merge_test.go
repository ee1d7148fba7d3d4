package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Two packages' events come by two pipes at once, with lines longer than a pipe
// takes in one piece; the summary is that of one after the other.
func TestMerge(t *testing.T) {
	var paths []string
	long := strings.Repeat("x", 100_000)
	for n := range 2 {
		path := filepath.Join(t.TempDir(), "events")
		if err := unix.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
		go func() {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			for test := range 50 {
				fmt.Fprintf(f, `{"Action":"output","Package":"p%d","Test":"T%d","Output":%q}`+"\n", n, test, long)
				fmt.Fprintf(f, `{"Action":"pass","Package":"p%d","Test":"T%d"}`+"\n", n, test)
			}
			fmt.Fprintf(f, `{"Action":"pass","Package":"p%d","Elapsed":1}`, n) // no line end
		}()
	}
	var out strings.Builder
	if status := summarize(merge(paths), &out, nil, false); status != 0 {
		t.Errorf("status %d", status)
	}
	for _, want := range []string{"ok   p0 (1.0 s)\n", "ok   p1 (1.0 s)\n", "100 passed, 0 failed, 0 skipped\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

func TestMergeOfWhatIsNotThere(t *testing.T) {
	var out strings.Builder
	whole := filepath.Join(t.TempDir(), "events")
	if err := os.WriteFile(whole, []byte(stream), 0o600); err != nil {
		t.Fatal(err)
	}
	if status := summarize(merge([]string{whole, whole + "-not"}), &out, nil, false); status != 1 || !strings.Contains(out.String(), "no such file") {
		t.Errorf("status %d:\n%s", status, out.String())
	}
}
