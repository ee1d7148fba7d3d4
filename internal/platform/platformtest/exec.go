package platformtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/guest/agent"
)

func testCheck(t *testing.T, p bench.Platform) {
	if p.Name() == "" || p.Summary() == "" {
		t.Errorf("name %q, summary %q", p.Name(), p.Summary())
	}
	for _, o := range p.Options() {
		if o.Name == "" || o.Doc == "" || len(o.Values) > 0 && o.Default != o.Values[0] {
			t.Errorf("option %+v: needs a name, a doc, and its default first", o)
		}
	}
	a, err := p.Check(t.Context())
	if err != nil {
		t.Error(err)
	}
	if a.Version == "" {
		t.Error("no version, no measurement")
	}
}

func testGreeting(t *testing.T, _ *suite, b *box) {
	if l := b.Launched(); l < b.called || l > b.agent.GreetedAt() {
		t.Errorf("launched at %d, not between the call of Start at %d and the greeting at %d", l, b.called, b.agent.GreetedAt())
	}
	if b.agent.Hello().Kernel == "" || len(b.agent.Hello().CPUs) == 0 {
		t.Errorf("hello %+v", b.agent.Hello())
	}
	if len(b.Command()) == 0 {
		t.Error("no start command")
	}
	t.Logf("launch to greeting %.1f ms; %q", float64(b.agent.GreetedAt()-b.Launched())/1e6, b.Command())
}

// testCommands runs commands of many kinds.
func testCommands(t *testing.T, s *suite, b *box) {
	for _, c := range []struct {
		name string
		f    func(*testing.T, *suite, *box)
	}{
		{"exec", testExec},
		{"exit status", testExitStatus},
		{"signal", testSignal},
		{"large output", testLargeOutput},
		{"standard input", testStandardInput},
		{"put", testPut},
		{"time-out", testTimeout},
	} {
		t.Run(c.name, func(t *testing.T) { c.f(t, s, b) })
	}
}

func testExec(t *testing.T, s *suite, b *box) {
	out := s.exec(t, b, "/bin/echo", "a b", "ü")
	if string(out.Stdout) != "a b ü\n" || len(out.Stderr) > 0 || out.Exit != 0 {
		t.Errorf("echo: %q, %q, exit %d", out.Stdout, out.Stderr, out.Exit)
	}
	out = s.command(t, b, bench.Command{Argv: []string{"sh", "-c", "pwd; echo $COLOUR; echo no >&2"}, Dir: "/usr", Env: map[string]string{"COLOUR": "red"}})
	if string(out.Stdout) != "/usr\nred\n" || string(out.Stderr) != "no\n" {
		t.Errorf("directory, environment, standard error: %q, %q", out.Stdout, out.Stderr)
	}
	if _, err := b.agent.Exec(t.Context(), bench.Command{Argv: []string{"/no/such/program"}, Timeout: time.Minute}); err == nil {
		t.Error("a program that is not there was run")
	}
	if got := s.succeed(t, b, "id", "-u"); got != "0\n" {
		t.Errorf("runs as user %q, want root", got)
	}
}

// testEnvironment asks a program for its environment: the same on every platform, entry by entry,
// since its size moves the program's stack. The shell is not asked, which adds entries of its own.
func testEnvironment(t *testing.T, s *suite, b *box) {
	out := s.command(t, b, bench.Command{Argv: []string{"cat", "/proc/self/environ"}, Env: map[string]string{"B": "2", "A": "1"}})
	got := strings.Split(strings.TrimSuffix(string(out.Stdout), "\x00"), "\x00")
	want := []string{"HOME=/root", "LANG=C.UTF-8", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"A=1", "B=2", bench.ProcessMark + "=" + b.id, "TARE_COMMAND="}
	last := len(want) - 1
	if len(got) != len(want) || !slices.Equal(got[:last], want[:last]) {
		t.Fatalf("a program has the environment %q, want %q", got, want)
	}
	const digits = 10
	if n := got[last]; !strings.HasPrefix(n, want[last]) || len(n) != len(want[last])+digits {
		t.Errorf("a program has the mark %q, want %s and %d digits", n, want[last], digits)
	}
}

func testExitStatus(t *testing.T, s *suite, b *box) {
	for _, status := range []int{0, 1, 7, 255} {
		if out := s.exec(t, b, "sh", "-c", "exit "+strconv.Itoa(status)); out.Exit != status || out.Signal != "" {
			t.Errorf("exit %d, signal %q; want %d", out.Exit, out.Signal, status)
		}
	}
}

func testSignal(t *testing.T, s *suite, b *box) {
	if out := s.exec(t, b, "sh", "-c", "kill -TERM $$"); out.Exit != 128+15 || out.Signal != "terminated" {
		t.Errorf("exit %d, signal %q; want 143, terminated", out.Exit, out.Signal)
	}
}

// testLargeOutput prints 20 MB: more than is kept, all of which must be seen.
func testLargeOutput(t *testing.T, s *suite, b *box) {
	const size = 20_000_000
	cmd := bench.Command{
		Argv:    []string{"sh", "-c", "yes 'the quick brown fox' | head -c " + strconv.Itoa(size)},
		Timeout: s.slow(time.Minute),
	}
	want := bytes.Repeat([]byte("the quick brown fox\n"), size/20)
	sum := sha256.New()
	p, err := b.agent.Start(t.Context(), cmd, func(piece []byte) { sum.Write(piece) })
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := hex.EncodeToString(sum.Sum(nil)), digest(want); got != want {
		t.Errorf("what was seen of the output has the digest %s, want %s", got, want)
	}
	if !out.Truncated || !bytes.Equal(out.Stdout, want[:agent.MaxOutput]) {
		t.Errorf("kept %d bytes, truncated %t; want the first %d", len(out.Stdout), out.Truncated, agent.MaxOutput)
	}
}

func testStandardInput(t *testing.T, s *suite, b *box) {
	in := noise(1 << 20)
	out := s.command(t, b, bench.Command{Argv: []string{"cat"}, Stdin: in})
	if !bytes.Equal(out.Stdout, in) {
		t.Errorf("cat returned %d bytes that are not the %d given", len(out.Stdout), len(in))
	}
	if out := s.exec(t, b, "cat"); len(out.Stdout) > 0 || out.Exit != 0 {
		t.Errorf("cat without input: %q, exit %d", out.Stdout, out.Exit)
	}
}

func testPut(t *testing.T, s *suite, b *box) {
	data := noise(3 << 20)
	file := "/tmp/tare/" + b.id + "/put" // in directories that are not there yet
	if err := b.agent.Put(t.Context(), file, 0o750, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(s.succeed(t, b, "sha256sum", file))
	if len(got) == 0 || got[0] != digest(data) {
		t.Errorf("digest %v, want %s", got, digest(data))
	}
	if mode := s.succeed(t, b, "stat", "-c", "%a", file); mode != "750\n" {
		t.Errorf("mode %q, want 750", mode)
	}
	if err := b.agent.Put(t.Context(), "/proc/no/file", 0o600, bytes.NewReader(data)); err == nil {
		t.Error("put a file where none can be")
	}
	s.succeed(t, b, "rm", "-r", "/tmp/tare/"+b.id) // and the agent lives on
}

// testTimeout lets a command and its child run into their deadline.
func testTimeout(t *testing.T, s *suite, b *box) {
	length := strconv.Itoa(100_000 + rand.IntN(1e6)) // tells these sleeps from all others
	out := s.command(t, b, bench.Command{
		Argv:    []string{"sh", "-c", "sleep " + length + " & sleep " + length},
		Timeout: s.slow(time.Second),
	})
	if !out.TimedOut || out.Exit == 0 {
		t.Errorf("timed out %t, exit %d", out.TimedOut, out.Exit)
	}
	if left := s.exec(t, b, "pgrep", "-f", "^sleep "+length); len(left.Stdout) > 0 {
		t.Errorf("processes are left: %q", left.Stdout)
	}
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// noise returns bytes that do not compress, the same every time.
func noise(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}
