package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
)

// running lists the processes of the test's own that have the text in their command line.
func running(t *testing.T, text string) (pids []int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		line, err := os.ReadFile(f)
		if err != nil || !strings.Contains(string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})), text) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		pids = append(pids, pid)
	}
	return pids
}

func waitUntilGone(t *testing.T, c *Client, text string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		pids := running(t, text)
		if len(pids) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%q still runs as %v", text, pids)
		}
	}
}

// unique returns a number of seconds to sleep that no other process uses.
func unique() string { return "1000." + strconv.FormatInt(time.Now().UnixNano(), 10) }

// daemonize leaves a sleep that is in a session of its own and an orphan.
func daemonize(seconds string) string {
	return "setsid sh -c 'sleep " + seconds + " & sleep " + seconds + " &' >/dev/null 2>&1; "
}

func TestTimeoutKillsDaemonisedGrandchildren(t *testing.T) {
	for name, prefix := range map[string]string{"marked": "", "unmarked": "unset " + commandMark + "; "} {
		t.Run(name, func(t *testing.T) {
			c := dialed(t)
			seconds := unique()
			script := prefix + daemonize(seconds) + "echo ready; exec sleep " + seconds
			if name == "unmarked" { // without its mark a process is known by its session
				script = prefix + "sh -c 'sleep " + seconds + " &'; echo ready; exec sleep " + seconds
			}
			cmd := shell(script)
			cmd.Timeout = time.Second
			out, err := c.Exec(testContext(t), cmd)
			if err != nil {
				t.Fatal(err)
			}
			if !out.TimedOut || out.Exit != 128+9 || string(out.Stdout) != "ready\n" || out.Wall < time.Second {
				t.Errorf("ended %+v after %q", out, out.Stdout)
			}
			if pids := running(t, "sleep "+seconds); len(pids) > 0 {
				t.Errorf("sleep still runs as %v", pids)
			}
		})
	}
}

func TestDaemonOutlivesItsCommandUntilKilled(t *testing.T) {
	c := dialed(t)
	seconds := unique()
	// This one keeps the output pipes open, too.
	p, err := c.Start(testContext(t), shell("echo begun; setsid sh -c 'sleep "+seconds+" & exit 0'"), nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Wait(testContext(t))
	if err != nil || out.Exit != 0 || string(out.Stdout) != "begun\n" {
		t.Fatalf("ended %+v after %q, %v", out, out.Stdout, err)
	}
	if pids := running(t, "sleep "+seconds); len(pids) != 1 {
		t.Fatalf("the daemon runs as %v", pids)
	}
	if err := p.Kill(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if pids := running(t, "sleep "+seconds); len(pids) > 0 {
		t.Errorf("the daemon still runs as %v", pids)
	}
}

func TestKillLeavesOtherCommandsAlone(t *testing.T) {
	c := dialed(t)
	mine, other := unique(), unique()
	p, err := c.Start(testContext(t), shell(daemonize(mine)+"exec sleep "+mine), nil)
	if err != nil {
		t.Fatal(err)
	}
	q, err := c.Start(testContext(t), shell(daemonize(other)+"exec sleep "+other), nil)
	if err != nil {
		t.Fatal(err)
	}
	for len(running(t, "sleep "+other)) < 3 {
		time.Sleep(time.Millisecond)
	}
	if err := p.Kill(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if n := len(running(t, "sleep "+mine)); n != 0 {
		t.Errorf("%d of the killed command live", n)
	}
	if n := len(running(t, "sleep "+other)); n != 3 {
		t.Errorf("%d of the other command live: want 3", n)
	}
	if err := q.Kill(testContext(t)); err != nil {
		t.Fatal(err)
	}
}

func TestEndOfStreamKillsEverything(t *testing.T) {
	for name, leave := range map[string]func(c *Client){
		"bye": func(c *Client) { c.Close() },
		"eof": func(c *Client) { c.rw.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			cmd, stream := spawn(t)
			c, err := Dial(testContext(t), stream)
			if err != nil {
				t.Fatal(err)
			}
			seconds := unique()
			if _, err := c.Start(testContext(t), shell("unset "+commandMark+"; "+daemonize(seconds)+"exec sleep "+seconds), nil); err != nil {
				t.Fatal(err)
			}
			for len(running(t, "sleep "+seconds)) < 3 {
				time.Sleep(time.Millisecond)
			}
			leave(c)
			if err := cmd.Wait(); err != nil {
				t.Errorf("the agent ended with %v", err)
			}
			if pids := running(t, "sleep "+seconds); len(pids) > 0 {
				t.Errorf("sleep still runs as %v", pids)
			}
		})
	}
}

// A fork bomb within a limit on its tasks, for which an unprivileged user is needed.
func TestKillForkBomb(t *testing.T) {
	c := dialed(t)
	p, err := c.Start(testContext(t), bench.Command{Argv: []string{"sh", "-c",
		`exec setpriv --reuid 65533 --clear-groups sh -c 'ulimit -u 200; f() { f & f & wait; }; f' 2>/dev/null`}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	if err := p.Kill(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if family, _, err := descendants(c.Hello().PID); err != nil || len(family) > 0 {
		t.Errorf("%d processes live, %v", len(family), err)
	}
}
