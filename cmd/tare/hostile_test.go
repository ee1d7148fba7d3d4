package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// What one command may take, whatever it reads: resident memory, and processor time, of which the same command takes
// up to three times as much where others fill the caches and the other half of the core. So what is promised is asked
// in the long run, on a machine that does nothing else. The deadline is for what waits.
const (
	hostileMemory   = 300 << 20
	hostileDeadline = time.Minute
)

func hostileCPU() time.Duration {
	if os.Getenv("TARE_LONG") != "" {
		return 2 * time.Second
	}
	return 8 * time.Second
}

// taken is the most that any command of a corpus took, and which.
type taken struct {
	mu           sync.Mutex
	cpu          time.Duration
	memory       int64
	longest, big string
	commands     int
}

func (w *taken) note(what string, cpu time.Duration, memory int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.commands++
	if cpu > w.cpu {
		w.cpu, w.longest = cpu, what
	}
	if memory > w.memory {
		w.memory, w.big = memory, what
	}
}

func (w *taken) String() string {
	return fmt.Sprintf("%d commands; at most %v of CPU (%s) and %d MiB (%s)", w.commands, w.cpu.Round(time.Millisecond), w.longest, w.memory>>20, w.big)
}

// said is what a command printed.
type said struct{ stdout, stderr string }

// nowhere is a state directory that cannot be made, so that no hostile text is
// gone on with beyond what is read.
const nowhere = "/dev/null/state"

// bounded runs tare, and fails the test where it takes more than is allowed, is
// ended by a signal, panics, or commands the terminal.
func bounded(t *testing.T, worst *taken, args ...string) said {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hostileDeadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "tare"), append([]string{"--state", nowhere}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir = &stdout, &stderr, t.TempDir()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // what takes all the memory ends with the test
	err := cmd.Run()
	what := strings.Join(args, " ")
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", what, err)
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	cpu, memory := cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), usage.Maxrss<<10
	worst.note(t.Name()+": "+args[0], cpu, memory)
	out := said{stdout.String(), stderr.String()}
	status := cmd.ProcessState.ExitCode()
	switch {
	case status < 0 || status > exitHost:
		t.Errorf("%s: ended with status %d, %v: %.500s", what, status, ctx.Err(), out.stderr)
	case strings.Contains(out.stderr, "goroutine "):
		t.Errorf("%s: a panic: %.2000s", what, out.stderr)
	case status >= exitInvalid && out.stdout == "" && !strings.Contains(out.stderr, ": "):
		t.Errorf("%s: refused without a word: %.500s", what, out.stderr)
	}
	if cpu > hostileCPU() || memory > hostileMemory {
		t.Errorf("%s: took %v of CPU and %d MiB", what, cpu, memory>>20)
	}
	if len(out.stderr) > 64<<10 {
		t.Errorf("%s: %d bytes of complaint", what, len(out.stderr))
	}
	forPeople := out.stderr
	if !regexp.MustCompile("html|json|csv").MatchString(args[len(args)-1]) {
		forPeople += out.stdout
	}
	if strings.ContainsRune(forPeople, '\x1b') {
		i := strings.IndexRune(forPeople, '\x1b')
		t.Errorf("%s: an escape sequence came through: %q", what, forPeople[max(0, i-300):i+1])
	}
	return out
}

// markup would mark the page if anything of it were taken for more than text.
const markup = `"'></title></style><script>document.documentElement.dataset.hit=1</script><img src=x onerror="document.documentElement.dataset.hit=1"><svg onload="document.documentElement.dataset.hit=1">` + "\x1b[31m"

// policy is the line of a page that forbids scripts.
var policy = regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`)

// mostPage is how much of a page the browser is given, for its time.
const mostPage = 1 << 20

const sheetScript = `<script>
addEventListener("load", () => {
  for (const frame of document.querySelectorAll("iframe")) {
    const d = frame.contentDocument;
    const odd = d.querySelectorAll("script,img,iframe,object,embed,form,base,link,[onload],[onerror]").length;
    const p = document.createElement("p");
    p.textContent = "looked at " + frame.getAttribute("src") + ": hit " + (d.documentElement.dataset.hit || 0) + " odd " + odd + " text " + (d.body.textContent.length > 500) + ".";
    document.body.append(p);
  }
});
</script>`

var lookedAt = regexp.MustCompile(`looked at (\S+): hit (\d) odd (\d+) text (true|false)\.`)

// checkInBrowser has a browser load every page, as it is and without its policy, and
// fails the test if anything in one was executed or is an element that could be.
func checkInBrowser(t *testing.T, pages map[string]string) {
	t.Helper()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed: the pages cannot be looked at")
	}
	dir := t.TempDir()
	sheet := "<!DOCTYPE html><meta charset=utf-8>" + sheetScript
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		sheet += fmt.Sprintf(`<iframe src="%s"></iframe>`, name)
	}
	want := map[string]string{}
	for name, page := range pages {
		bare := policy.ReplaceAllString(page, "")
		if bare == page {
			t.Errorf("%s: the page has no policy", name)
		}
		if len(page) > mostPage {
			page, bare = page[:mostPage], bare[:mostPage]
		}
		put(name+".html", page)
		put(name+"-bare.html", bare)
		want[name+".html"], want[name+"-bare.html"] = "hit 0 odd 0 text true", "hit 0 odd 0 text true"
	}
	// Two pages that do have a script show that it would be seen, and that the policy holds.
	for _, page := range pages {
		page = strings.Replace(page, "</main>", `<script>document.documentElement.dataset.hit=1</script></main>`, 1)
		put("scripted.html", page)
		put("scripted-bare.html", policy.ReplaceAllString(page, ""))
		want["scripted.html"], want["scripted-bare.html"] = "hit 0 odd 1 text true", "hit 1 odd 1 text true"
		break
	}
	if err := os.WriteFile(filepath.Join(dir, "sheet.html"), []byte(sheet), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--user-data-dir="+t.TempDir(), "--allow-file-access-from-files", "--virtual-time-budget=10000",
		"--dump-dom", "file://"+filepath.Join(dir, "sheet.html"))
	dom, err := c.Output()
	if err != nil {
		t.Fatalf("chromium: %v", err)
	}
	for _, m := range lookedAt.FindAllStringSubmatch(string(dom), -1) {
		if got := fmt.Sprintf("hit %s odd %s text %s", m[2], m[3], m[4]); got != want[m[1]] {
			t.Errorf("%s: %s, want %s", m[1], got, want[m[1]])
		}
		delete(want, m[1])
	}
	if len(want) > 0 {
		t.Errorf("the browser did not look at %d pages: %v", len(want), want)
	}
}
