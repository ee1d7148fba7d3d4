package launch

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// outOf reads the kept text's note of what is left out.
var outOf = regexp.MustCompile(`\n\[(\d+) bytes are left out here\]\n`)

// Whatever is written in whatever pieces, the file has the beginning, the end and the number of bytes between.
func TestHeadTail(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		path := filepath.Join(dir, strconv.Itoa(n))
		k, err := Keep(path)
		if err != nil {
			t.Fatal(err)
		}
		var all []byte
		for _, size := range rapid.SliceOfN(rapid.IntRange(0, 700<<10), 0, 12).Draw(t, "pieces") {
			piece := bytes.Repeat([]byte{byte('a' + len(all)%23)}, size)
			for i := 0; i < size; i += 1000 { // so that no piece can stand for another
				copy(piece[i:], strconv.Itoa(len(all)+i))
			}
			if n, err := k.Write(piece); n != size || err != nil {
				t.Fatal(n, err)
			}
			all = append(all, piece...)
			if rapid.Bool().Draw(t, "flush") {
				k.Flush()
			}
		}
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) <= headKept+tailKept {
			if !bytes.Equal(got, all) {
				t.Fatalf("%d bytes are kept of %d", len(got), len(all))
			}
			return
		}
		note := outOf.FindSubmatchIndex(got)
		if note == nil {
			t.Fatal("it does not say what is left out")
		}
		out, _ := strconv.Atoi(string(got[note[2]:note[3]]))
		head, tail := got[:note[0]], got[note[1]:]
		if len(head) != headKept || len(tail) != tailKept || len(head)+out+len(tail) != len(all) ||
			!bytes.HasPrefix(all, head) || !bytes.HasSuffix(all, tail) {
			t.Fatalf("of %d bytes are kept %d, said to be left out %d, kept %d", len(all), len(head), out, len(tail))
		}
	})
}

// A program that prints on and on fills neither the disk nor the memory, its last words are there once it has ended,
// and no more is taken than a round each short breath, whatever it prints.
func TestWordsOfAFlood(t *testing.T) {
	words := filepath.Join(t.TempDir(), "words")
	began := time.Now()
	p, err := Start(exec.Command("sh", "-c", `yes "what a flood has to say" >&2 & sleep 2; kill $!; wait; echo "the last word" >&2`), words)
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if !p.HeldUp() {
		t.Error("the flood was not held up")
	}
	most := (int(time.Since(began)/shortBreath) + 2) * roundMax // the first round and that of Sync wait for nothing
	info, err := os.Stat(words)
	if err != nil || info.Size() > headKept+tailKept+100 {
		t.Errorf("%d bytes are kept, %v", info.Size(), err)
	}
	text, err := os.ReadFile(words)
	if err != nil {
		t.Fatal(err)
	}
	note := outOf.FindSubmatch(text)
	if note == nil || !bytes.HasPrefix(text, []byte("what a flood")) {
		t.Fatalf("it does not say what is left out of a flood of %d bytes", len(text))
	}
	switch out, _ := strconv.Atoi(string(note[1])); {
	case out < 1<<20:
		t.Errorf("a flood of two seconds had %d bytes more than are kept: was it held up?", out)
	case headKept+out+tailKept > most:
		t.Errorf("%d bytes were taken where the pace allows %d", headKept+out+tailKept, most)
	}
	if tail := Tail(words); len(tail) != keptLog || !strings.HasSuffix(tail, "\nthe last word\n") {
		t.Errorf("its last words are %q", tail[max(0, len(tail)-80):])
	}
}

// The last words of a program that ends at once are there when its end is heard of.
func TestLastWords(t *testing.T) {
	for n := range 20 {
		words := filepath.Join(t.TempDir(), "words")
		p, err := Start(exec.Command("sh", "-c", fmt.Sprintf("echo said %d >&2", n)), words)
		if err != nil {
			t.Fatal(err)
		}
		<-p.Done()
		if got, want := Tail(words), fmt.Sprintf("said %d\n", n); got != want || p.HeldUp() {
			t.Fatalf("%q, want %q; held up: %t", got, want, p.HeldUp())
		}
	}
}

// A program that opens a file writes into a pipe with a name, at times with nobody else at it.
func TestNamedLog(t *testing.T) {
	dir := t.TempDir()
	pipe, path := filepath.Join(dir, "console"), filepath.Join(dir, "console.log")
	w, err := OpenNamedLog(pipe, path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two"} { // as QEMU opens it
		f, err := os.OpenFile(pipe, os.O_WRONLY|os.O_TRUNC|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	if got := w.Tail(); got != "onetwo" {
		t.Errorf("%q was printed", got)
	}
	// What comes shortly after a flush is in the file a while later, with no one asking.
	f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := "onetwo" + strings.Repeat("x", headKept) + "end"
	if _, err := f.WriteString(all[len("onetwo"):]); err != nil {
		t.Fatal(err)
	}
	f.Close()
	for end := time.Now().Add(20 * time.Second); !strings.HasSuffix(Tail(path), "xend") && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != all {
		t.Errorf("%d bytes are kept, %v; want %d", len(got), err, len(all))
	}
	late, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	for range 2 {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Lstat(pipe); !os.IsNotExist(err) {
		t.Errorf("the pipe is left: %v", err)
	}
	deadline := time.Now().Add(5 * time.Second)
	for err = nil; err == nil && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		_, err = late.WriteString("late")
	}
	if !strings.Contains(fmt.Sprint(err), syscall.EPIPE.Error()) {
		t.Errorf("printing on: %v", err)
	}
	if got := Tail(path); !strings.HasSuffix(got, "xend") {
		t.Errorf("it ends with %q", got[max(0, len(got)-20):])
	}
	if _, err := OpenNamedLog("/no/such/dir/pipe", path); err == nil {
		t.Error("made a pipe nowhere")
	}
	if _, err := OpenLog("/no/such/dir/words"); err == nil {
		t.Error("keeps words nowhere")
	}
}
