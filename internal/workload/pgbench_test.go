package workload

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The script counts what ended after the warm-up, by the logs of all threads, and nothing that failed.
func TestPgbenchScriptCountsWhatEndedAfterTheWarmUp(t *testing.T) {
	const logs = `echo "pgbench (17.12)"
printf '0 0 1000 0 100 1000\n0 1 500 0 101 400000\n0 2 failed 0 101 800000\n' >"$log.7"
printf '1 0 2000 0 100 2000\n1 1 700 0 102 0\n' >"$log.7.1"
echo all`
	for name, c := range map[string]struct {
		warm, does, stdout, stderr string
		status                     int
	}{
		"warmed": {"1", logs, "pgbench (17.12)\npgbench begins\nall\nbefore 2\ncounted 2\nelapsed 1.000000 s\nmean 600.000 us\n" +
			"shortest 500 us\nlongest 700 us\nbin 500 504 us 1\nbin 696 704 us 1\n", "", 0},
		"from the start": {"0", logs, "pgbench (17.12)\npgbench begins\nall\nbefore 0\ncounted 4\nelapsed 2.000000 s\nmean 1050.000 us\n" +
			"shortest 500 us\nlongest 2000 us\nbin 500 504 us 1\nbin 696 704 us 1\nbin 1000 1008 us 1\nbin 2000 2016 us 1\n", "", 0},
		"none after it":   {"3", logs, "pgbench (17.12)\npgbench begins\nall\n", "no transaction after 3 s", 255},
		"all failed":      {"0", `: >"$log.7"`, "", "no transaction", 255},
		"refused":         {"0", "echo refused >&2; exit 1", "", "refused", 1},
		"lost its server": {"0", `echo "pgbench (17.12)"; echo lost >&2; exit 2`, "pgbench (17.12)\npgbench begins\n", "lost", 2},
	} {
		dir := t.TempDir()
		fake := filepath.Join(dir, "pgbench")
		script := "#!/bin/sh\nfor a; do case $a in --log-prefix=*) log=${a#--log-prefix=} ;; esac; done\n" + c.does + "\n"
		if err := os.WriteFile(fake, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("perl", "pgbench.pl", c.warm, filepath.Join(dir, "log"), fake)
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		_ = cmd.Run() // its status is looked at
		if got := cmd.ProcessState.ExitCode(); got != c.status || stdout.String() != c.stdout || !strings.Contains(stderr.String(), c.stderr) {
			t.Errorf("%s: status %d, %q, %q", name, got, stdout.String(), stderr.String())
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "log*")); name == "warmed" && len(left) > 0 {
			t.Errorf("left %q", left)
		}
	}
}
