package launch

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
)

// What kernels, hypervisors and runtimes really printed, and what of it is the reason.
func TestFatal(t *testing.T) {
	for file, want := range map[string]string{
		"uml-amx": "the guest's kernel panicked: Kernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b" +
			" (userspace - ptrace set fp regs failed, errno = 14)",
		"uml-no-root":             "the guest's kernel panicked: Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(98,0)",
		"qemu-no-init":            "the guest's kernel panicked: Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)",
		"qemu-kvm-internal-error": "KVM cannot run the guest: KVM internal error. Suberror: 1",
		"xen-no-dom0":             "the hypervisor panicked: (XEN) Panic on CPU 0: (dom0 kernel not specified. Check bootloader configuration)",
		"runsc-no-program":        "the runtime gave up: running container: starting container: starting root container: starting sandbox: creating process: failed to load /nope: no such file or directory",
		"runsc-kvm":               "the runtime gave up: running container: creating container: cannot create sandbox: cannot read client sync file: waiting for sandbox to start: EOF",
		"runsc-no-memory":         "a program of the platform crashed: fatal error: failed to reserve page summary memory",
	} {
		text, err := os.ReadFile(filepath.Join("testdata", "fatal", file+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{1, 7, 1 << 20} {
			if got := recognise(text, size); got == nil || got.Error() != want {
				t.Errorf("%s by %d bytes: %v", file, size, got)
			}
		}
	}
}

// What is no last word: the kernel's command line, a trace's trailer, a quotation.
func TestNotFatal(t *testing.T) {
	for _, text := range []string{
		"", "\n\n", "[    0.000000] Command line: console=ttyS0 quiet panic=-1 init=/sbin/init",
		"---[ end Kernel panic - not syncing: it was said above ]---", "he said: Kernel panic - not syncing",
		"(XEN) Bootloader: qemu", "Panic on CPU 0:", "error running container: it is of another program", "SIGNAL: x", "panicking: no",
		"userspace - ptrace set fp regs failed, errno = 14", // it may yet recover
	} {
		if got := recognise([]byte(text), 1<<20); got != nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func recognise(text []byte, size int) *Fatal {
	var r Recogniser
	for len(text) > 0 {
		n := min(size, len(text))
		_, _ = r.Write(text[:n])
		text = text[n:]
	}
	return r.end()
}

// A guest may print what it likes: in whatever pieces it comes, the same is found, in one short line.
func FuzzFatal(f *testing.F) {
	paths, err := filepath.Glob("testdata/fatal/*.txt")
	if err != nil || len(paths) == 0 {
		f.Fatal(paths, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, 3)
	}
	f.Add([]byte("panic: \x1b[2J\xff\u202e\n"), 2)
	f.Add([]byte("(XEN) Panic on CPU 0:\n"+strings.Repeat("x", 3000)), 1000)
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		whole, pieces := recognise(text, len(text)+1), recognise(text, max(1, size))
		if (whole == nil) != (pieces == nil) || whole != nil && *whole != *pieces {
			t.Errorf("at once %v, by %d bytes %v", whole, size, pieces)
		}
		if whole != nil && (len(whole.Error()) > 8*maxLine || strings.ContainsFunc(whole.Error(), unicode.IsControl)) {
			t.Errorf("a long story, or one that drives a terminal: %q", whole.Error())
		}
	})
}

// silent is a stream that says nothing until it is closed.
type silent struct {
	*io.PipeReader
	io.Writer
}

func newSilent() silent {
	r, _ := io.Pipe()
	return silent{r, io.Discard}
}

// A panic ends a stream that says nothing by itself, wherever the file stands, and
// nothing of the watch is left.
func TestWatchEndsAtAPanic(t *testing.T) {
	console := filepath.Join(t.TempDir(), "console.log")
	file, err := os.Create(console)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	other := Watch(newSilent(), console+"-of-another", filepath.Join(t.TempDir(), "none"))
	w := Watch(newSilent(), filepath.Join(t.TempDir(), "none"), console)
	go func() {
		for range 3 { // more than is read at a look
			_, _ = file.Write(bytes.Repeat([]byte("all is well\n"), 10_000))
		}
		_, _ = file.WriteString("[    1.770304] Kernel panic - not syncing: Att")
		_, _ = file.WriteString("empted to kill init!\r\nCPU: 0")
	}()
	_, err = io.ReadAll(w)
	if err == nil || !strings.Contains(err.Error(), "not syncing: Attempted to kill init!") {
		t.Errorf("it ended with %v", err)
	}
	for range 2 {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		modified.mu.Lock()
		given := modified.queue == nil
		modified.mu.Unlock()
		if given {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the kernel's queue is not given back")
		}
	}
}

// A stream that ends by itself ends with the reason, if one was given.
func TestWatchedStreamEnds(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "",
		"all is well\n":                     "",
		"running container: no such":        "the runtime gave up: running container: no such",
		"goodbye\nfatal error: all of it\n": "a program of the platform crashed: fatal error: all of it",
	} {
		words := filepath.Join(t.TempDir(), "words")
		r, end := io.Pipe()
		w := Watch(silent{r, io.Discard}, words) // it is not there yet
		if err := os.WriteFile(words, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		end.Close()
		_, err := io.ReadAll(w)
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%q: %v", text, err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}
