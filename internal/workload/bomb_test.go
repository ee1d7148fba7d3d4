package workload

import (
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/bench"
)

func TestBombSteps(t *testing.T) {
	w := bomb{}
	for kind, want := range map[string]string{
		"fork":   "perl -e fork while 1",
		"malloc": "sh -c " + again + " again stress-ng --timeout 0 --temp-path /scratch --bigheap 2 --bigheap-growth 1048576",
		"disk":   "bonnie++ -d /scratch -u root -q -f -b -n 1 -s 512 -r 256 -x 1000000",
	} {
		steps, err := w.Steps(bench.SubjectPart, fill(t, w, bench.Params{"kind": kind}), setting())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(steps.Main.Argv, " "); got != want || !steps.Service {
			t.Errorf("%s, a service: %v: %s", kind, steps.Service, got)
		}
	}
	small := setting()
	small.Shape.Disk = 63 * bench.MiB
	if _, err := w.Steps(bench.SubjectPart, bench.Params{"kind": "disk"}, small); !errors.Is(err, bench.ErrInvalid) {
		t.Errorf("no room for bonnie++'s file: %v", err)
	}
	for _, bad := range []bench.Params{nil, {"kind": "frok"}} {
		if _, err := Fill(w, bad); !errors.Is(err, bench.ErrInvalid) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// The malloc bomb goes on when its program is killed, and ends when that fails.
func TestMallocBombGoesOn(t *testing.T) {
	steps, err := bomb{}.Steps(bench.SubjectPart, bench.Params{"kind": "malloc"}, setting())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program := "#!/bin/sh\necho run >>" + dir + "/runs\n[ $(wc -l <" + dir + "/runs) -lt 3 ] && kill -KILL $$\nexit 3\n"
	if err := os.WriteFile(filepath.Join(dir, "stress-ng"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), steps.Main.Argv[0], steps.Main.Argv[1:]...)
	cmd.Env = []string{"PATH=" + dir + ":/usr/bin:/bin"}
	_ = cmd.Run()
	runs, err := os.ReadFile(filepath.Join(dir, "runs"))
	if got := cmd.ProcessState.ExitCode(); err != nil || got != 3 || strings.Count(string(runs), "run") != 3 {
		t.Errorf("exit status %d after %q, %v", got, runs, err)
	}
}

// Packets go to addresses of a test network and to no others.
func TestFloodStaysInside(t *testing.T) {
	w := flood{}
	for kind, want := range map[string]string{
		"syn": "hping3 --quiet --numeric --flood --destport 9009 --syn 10.231.0.2",
		"udp": "hping3 --quiet --numeric --flood --destport 9009 --udp --data 1 10.231.0.2",
	} {
		s := setting()
		s.Addr = map[string]netip.Addr{bench.SubjectPart: netip.MustParseAddr("10.231.0.2")}
		steps, err := w.Steps(floodAttacker, fill(t, w, bench.Params{"kind": kind}), s)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(steps.Main.Argv, " "); got != want {
			t.Errorf("%s: %s", kind, got)
		}
		main, err := w.Steps(bench.SubjectPart, fill(t, w, bench.Params{"kind": kind}), s)
		if err != nil || !main.Service || !slices.Contains(main.Main.Argv, "9009") || (main.Listen == 9009) != (kind == "syn") {
			t.Errorf("%s: %+v, %v", kind, main, err)
		}
	}
	for _, out := range []string{"", "8.8.8.8", "203.0.113.5", "127.0.0.1", "2001:db8::1", "169.254.0.1", "224.0.0.1", "255.255.255.255"} {
		s := setting()
		s.Addr = nil
		if out != "" {
			s.Addr = map[string]netip.Addr{bench.SubjectPart: netip.MustParseAddr(out)}
		}
		if steps, err := w.Steps(floodAttacker, fill(t, w, nil), s); !errors.Is(err, bench.ErrInvalid) {
			t.Errorf("%q is flooded: %v, %v", out, steps.Main.Argv, err)
		}
	}
}

// An adversary says so, and nothing else does.
func TestAdversaries(t *testing.T) {
	var names []string
	for _, w := range All() {
		if bench.IsAdversary(w) {
			names = append(names, w.Name())
		}
	}
	if !slices.Equal(names, []string{"bomb", "flood"}) {
		t.Errorf("adversaries are %v", names)
	}
}
