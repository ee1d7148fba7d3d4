package workload

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The rate that is looked for is the last one that a server of 500 requests/s keeps up with, though one
// asking before it went wrong; and httperf is then called with it.
func TestSeek(t *testing.T) {
	perl, err := exec.LookPath("perl")
	if err != nil {
		t.Fatal("perl is not installed: ./test installs it")
	}
	dir := t.TempDir()
	script, httperf, found, bad := filepath.Join(dir, "seek.pl"), filepath.Join(dir, "httperf"), filepath.Join(dir, "rate"), filepath.Join(dir, "bad")
	fake := `#!/usr/bin/perl
my %o = @ARGV[1 .. $#ARGV];
my $got = $o{'--rate'} > 500 ? 250 : $o{'--rate'};
if ($o{'--rate'} > 300 && !-e '` + bad + `') { $got = 10; open(my $f, '>', '` + bad + `'); }
print "httperf --server=x --rate=$o{'--rate'} --num-conns=$o{'--num-conns'} --num-calls=$o{'--num-calls'}\n";
printf "Total: connections %d requests %d replies %d test-duration 0.5 s\n\n", $o{'--num-conns'}, $o{'--num-conns'}, $got / 2;
printf "Reply status: 1xx=0 2xx=%d 3xx=0 4xx=0 5xx=0\n", $got / 2;
`
	for path, text := range map[string]string{script: string(seekScript), httperf: fake} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) (string, error) {
		out, err := exec.Command(perl, append([]string{script}, args...)...).CombinedOutput()
		return string(out), err
	}
	if out, err := run(found, "0.5", "look", "16", "3200", httperf, "-v"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(found)
	if err != nil {
		t.Fatal(err)
	}
	// 3200 / 1.25^9 = 429.5 is the last of the rates below 500.
	if rate, err := strconv.ParseFloat(string(text), 64); err != nil || rate < 429 || rate > 430 {
		t.Errorf("found %q, want 429.50", text)
	}
	out, err := run(found, "2", "ask", httperf, "-v")
	if err != nil || !strings.Contains(out, "--rate=429.50 --num-conns=859 --num-calls=1") {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := os.Stat(bad); err != nil {
		t.Errorf("no asking went wrong: %v", err)
	}
	if out, err := run(found, "0.5", "look", "16", "3200", "/bin/true"); err == nil || !strings.Contains(out, "no request was answered at any rate") {
		t.Errorf("of a server that answers nothing: %v, %s", err, out)
	}
}
