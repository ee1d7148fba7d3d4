package workload

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/bench"
)

// onDisk are the workloads of small files and of bonnie++, and memtester, with a real output of each and
// what it says.
var onDisk = []struct {
	w     bench.Workload
	given bench.Params
	argv  string // ends the command line
	file  string
	want  map[string]float64
}{
	{files{}, nil, "perl /scratch/files.pl 2 5 fs_mark -d /scratch/files -n 500 -s 4096 -t 1 -S 1 -v",
		"fsmark.txt", map[string]float64{"files": 2 / (1/570.3 + 1/321.0), "create_latency": 175, "unlink_latency": 1209.5, "sync_latency": 2225.5}},
	{files{}, bench.Params{"sync": "none", "clients": "2", "where": "root"}, "fs_mark -d /var/tmp/files -n 500 -s 4096 -t 2 -S 0 -v",
		"fsmark-none.txt", map[string]float64{"files": 2725, "create_latency": 928, "unlink_latency": 71}},
	{files{}, bench.Params{"sync": "sync"}, "-S 2 -v", "fsmark-sync.txt", nil},
	{files{}, bench.Params{"sync": "later", "size": "100000", "files": "50"}, "-n 50 -s 100000 -t 1 -S 5 -v", "", nil},
	{files{}, bench.Params{"program": "dbench", "clients": "2"}, "perl /scratch/files.pl 1 5 dbench -D /scratch/files -t 6 --skip-cleanup 2",
		"dbench.txt", map[string]float64{"throughput": 122.746, "max_latency": 108981}},
	{files{}, bench.Params{"program": "postmark"}, "perl /scratch/files.pl 2 5 postmark /scratch/postmark.conf",
		"postmark.txt", map[string]float64{"transactions": 2778 / 3.28999999910593}},
	{bonnie{}, bench.Params{"files": "32", "size": "1GiB"}, "bonnie++ -d /scratch -u root -q -f -n 32 -s 1024:8k:1:1 -r 512",
		"bonnie.txt", map[string]float64{"write": 106.694656, "rewrite": 813.402112, "read": 920.90368, "creates": 6970, "deletes": 37147}},
	{bonnie{}, bench.Params{"files": "0", "size": "1GiB"}, "-n 0 -s 1024:8k:1:1 -r 512", "", nil},
	{memtester{}, bench.Params{"size": "4MiB", "loops": "2"}, "setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock memtester \"$@\" sh 4M 2",
		"memtester.txt", map[string]float64{"rate": 8 / 4.11}},
}

// memtesterWall is what the captured run of memtester took, in ms.
const memtesterWall = 4110e6

func TestOnDiskSteps(t *testing.T) {
	for _, c := range onDisk {
		p := fill(t, c.w, c.given)
		steps, err := c.w.Steps(bench.SubjectPart, p, setting())
		if err != nil {
			t.Fatalf("%s %v: %v", c.w.Name(), c.given, err)
		}
		if got := strings.Join(steps.Main.Argv, " "); !strings.HasSuffix(got, c.argv) || steps.Service {
			t.Errorf("%v: %q, want %q", c.given, got, c.argv)
		}
	}
}

func TestOnDiskParse(t *testing.T) {
	for _, c := range onDisk {
		if c.file == "" {
			continue
		}
		p := fill(t, c.w, c.given)
		values, err := c.w.Parse(p, setting(), bench.Output{Stdout: captured(t, c.file), Wall: memtesterWall})
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		checkValues(t, c.w, p, values)
		for metric, want := range c.want {
			if got := value(t, values, metric); got < want*0.999999 || got > want*1.000001 {
				t.Errorf("%s: %s is %v, want %v", c.file, metric, got, want)
			}
		}
	}
}

// What a workload cannot do is an error at the parameter that asks for it.
func TestOnDiskRefuses(t *testing.T) {
	for _, c := range []struct {
		w     bench.Workload
		given bench.Params
		shape bench.Shape
		param string // "" if no single one is at fault
		says  string
	}{
		{files{}, bench.Params{"program": "dbench", "size": "1MiB"}, bench.Shape{}, "size", "dbench has no such choice"},
		{files{}, bench.Params{"program": "dbench", "files": "9"}, bench.Shape{}, "files", "dbench has no such choice"},
		{files{}, bench.Params{"program": "postmark", "sync": "none"}, bench.Shape{}, "sync", "postmark has no such choice"},
		{files{}, bench.Params{"program": "postmark", "clients": "2"}, bench.Shape{}, "clients", "postmark has at most 1"},
		{files{}, bench.Params{"clients": "65"}, bench.Shape{}, "clients", "fs_mark has at most 64"},
		{files{}, bench.Params{"files": "1000001"}, bench.Shape{}, "files", "at most 1e+06"},
		{files{}, nil, bench.Shape{Disk: bench.MiB}, "", "do not fit a disk of 1 MiB"},
		{files{}, bench.Params{"program": "dbench", "clients": "40"}, bench.Shape{Disk: 512 * bench.MiB}, "", "25 MiB for each of 40 clients"},
		{bonnie{}, nil, bench.Shape{Memory: bench.GiB, Disk: bench.GiB}, "size", "a file of 2048 MiB does not fit a disk of 1 GiB"},
		{bonnie{}, bench.Params{"stat": "yes", "files": "0"}, bench.Shape{}, "stat", "no files to look up"},
		{bonnie{}, nil, bench.Shape{Memory: 256 * bench.MiB, Disk: bench.GiB}, "size", "a file of 2048 MiB does not fit"},
		{memtester{}, bench.Params{"size": "1GiB"}, bench.Shape{Memory: bench.GiB}, "size", "three quarters"},
		{memtester{}, bench.Params{"size": "1100KiB"}, bench.Shape{Memory: bench.GiB}, "size", "not whole MiB"},
	} {
		s := setting()
		s.Shape = c.shape
		p, err := Fill(c.w, c.given)
		if err == nil {
			_, err = c.w.Steps(bench.SubjectPart, p, s)
		}
		var pe *ParamError
		if !errors.Is(err, bench.ErrInvalid) || c.param != "" && (!errors.As(err, &pe) || pe.Param != c.param) {
			t.Errorf("%s %v: %v is not an error of %q", c.w.Name(), c.given, err, c.param)
		}
		wantError(t, err, c.says)
	}
}

func TestOnDiskParseRefuses(t *testing.T) {
	mark, clients, mail, bon, mem := captured(t, "fsmark.txt"), captured(t, "dbench.txt"), captured(t, "postmark.txt"), captured(t, "bonnie.txt"), captured(t, "memtester.txt")
	byDbench, byPostmark := bench.Params{"program": "dbench"}, bench.Params{"program": "postmark"}
	small := bench.Params{"size": "4MiB", "loops": "2"}
	replace := func(text []byte, from, to string) []byte {
		if !bytes.Contains(text, []byte(from)) {
			t.Fatalf("%q is not in the captured text", from)
		}
		return bytes.ReplaceAll(text, []byte(from), []byte(to))
	}
	for _, c := range []struct {
		name  string
		w     bench.Workload
		given bench.Params
		out   bench.Output
		says  []string
	}{
		{"fs_mark did not begin", files{}, nil, bench.Output{}, []string{`fs_mark: "files begin": not found in nothing`}},
		{"fs_mark has no room", files{}, nil, bench.Output{Exit: 1, Stdout: captured(t, "fsmark-nospace.txt")}, []string{"exit status 1", "Insufficient free space"}},
		{"fs_mark made no run", files{}, nil, bench.Output{Stdout: []byte("files begin\n")}, []string{"a row of its table: not found in nothing"}},
		{"a row is cut", files{}, nil, bench.Output{Stdout: mark[:len(mark)-20]}, []string{"line", "not a row of its table"}},
		{"no rate", files{}, nil, bench.Output{Stdout: replace(mark, "570.3", "  inf")}, []string{`"inf": not a number`}},
		{"other files", files{}, bench.Params{"size": "1024"}, bench.Output{Stdout: mark}, []string{"files of 4096 bytes, not 1024"}},
		{"no time", files{}, nil, bench.Output{Stdout: replace(mark, "1643", "-643")}, []string{`unlink_latency: "-643": not a time`}},
		{"dbench has no room", files{}, byDbench, bench.Output{Exit: 1, Stdout: captured(t, "dbench-nospace.txt")}, []string{"exit status 1", "Child failed"}},
		{"dbench is cut", files{}, byDbench, bench.Output{Stdout: clients[:len(clients)-30]}, []string{"dbench: throughput: not found"}},
		{"dbench did nothing", files{}, byDbench, bench.Output{Stdout: replace(clients, "Throughput 122.746", "Throughput 0")}, []string{`throughput: "0": not above zero`}},
		{"dbench counts no number", files{}, byDbench, bench.Output{Stdout: replace(clients, "  24504 ", "   nan ")}, []string{`"nan": not a count`}},
		{"dbench has no times", files{}, byDbench, bench.Output{Stdout: replace(clients, "     0.048", "      -nan")}, []string{`"-nan": not a time`}},
		{"postmark cannot write", files{}, byPostmark, bench.Output{Exit: 255, Stderr: captured(t, "postmark-nospace.err")}, []string{"exit status 255", "Error: cannot open"}},
		{"postmark is cut", files{}, byPostmark, bench.Output{Stdout: mail[:len(mail)-20]}, []string{"its report: not found"}},
		{"two clocks", files{}, byPostmark, bench.Output{Stdout: replace(mail, "transactions 2778 3.28", "transactions 2778 1.28")}, []string{"its report says 4 s for what took 1.28"}},
		{"too fast", bonnie{}, bench.Params{"files": "32", "size": "1GiB", "stat": "yes"}, bench.Output{Stdout: bon}, []string{`stats: "+++++": it gives no rate`}},
		{"other files", bonnie{}, bench.Params{"files": "16"}, bench.Output{Stdout: bon}, []string{`"32" thousand files, not 16`}},
		{"bonnie is cut", bonnie{}, nil, bench.Output{Stdout: bon[:len(bon)-20]}, []string{"not one row of 50 columns"}},
		{"another format", bonnie{}, nil, bench.Output{Stdout: replace(bon, "1.98,", "1.99,")}, []string{"in format 1.98"}},
		{"no memory", memtester{}, small, bench.Output{Exit: 1}, []string{"memory was not to be had"}},
		{"a fault", memtester{}, small, bench.Output{Exit: 6}, []string{"an address is stuck, a pattern was not read as it was written"}},
		{"less memory", memtester{}, bench.Params{"size": "8MiB"}, bench.Output{Stdout: mem, Wall: memtesterWall}, []string{"it tested 4194304 bytes, not 8388608"}},
		{"fewer loops", memtester{}, bench.Params{"size": "4MiB", "loops": "3"}, bench.Output{Stdout: mem, Wall: memtesterWall}, []string{"2 loops of 3"}},
		{"cut", memtester{}, small, bench.Output{Stdout: mem[:len(mem)-9], Wall: memtesterWall}, []string{"2 loops of 2"}},
	} {
		t.Run(c.w.Name()+" "+c.name, func(t *testing.T) {
			_, err := c.w.Parse(fill(t, c.w, c.given), setting(), c.out)
			wantError(t, err, c.says...)
		})
	}
}

// The script goes on with fs_mark until the time is over, and ends with its program's failure.
func TestFilesScript(t *testing.T) {
	script, err := filepath.Abs("files.pl")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	call := func(program, text string, argv ...string) (string, int) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, program), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "perl", slices.Concat([]string{script, "0", "1", program}, argv)...)
		cmd.Env, cmd.Dir = []string{"PATH=" + dir + ":/usr/bin:/bin"}, dir
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, exit := call("fs_mark", "echo '# fs_mark'; echo ' 1 2'; sleep 0.05"); exit != 0 || !strings.HasPrefix(out, "files begin\n 1 2\n 1 2\n") {
		t.Errorf("fs_mark: %d, %q", exit, out)
	}
	if out, exit := call("fs_mark", "echo full; exit 3"); exit != 3 || out != "files begin\nfull\n" {
		t.Errorf("fs_mark that fails: %d, %q", exit, out)
	}
	if out, exit := call("dbench", "echo 'releasing clients'; kill -9 $$"); exit != 137 || out != "releasing clients\nfiles begin\n" {
		t.Errorf("dbench that is killed: %d, %q", exit, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "conf"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, exit := call("postmark", "echo 'Error: no room' >&2", "conf"); exit != 255 || out != "postmark: Error: no room\n" {
		t.Errorf("postmark that cannot write: %d, %q", exit, out)
	}
	if out, exit := call("postmark", "true", "conf"); exit == 0 || !strings.Contains(out, "did not perform") {
		t.Errorf("postmark that does nothing: %d, %q", exit, out)
	}
	if out, exit := call("rm", "true"); exit == 0 || !strings.Contains(out, "not a program of this script") {
		t.Errorf("another program: %d, %q", exit, out)
	}
}

func FuzzOnDiskParse(f *testing.F) {
	for i, c := range onDisk {
		if c.file != "" {
			f.Add(i, captured(f, c.file))
		}
	}
	f.Fuzz(func(t *testing.T, i int, stdout []byte) {
		n := len(onDisk)
		c := onDisk[(i%n+n)%n]
		p := fill(t, c.w, c.given)
		if values, err := c.w.Parse(p, setting(), bench.Output{Stdout: stdout, Wall: memtesterWall}); err == nil {
			checkValues(t, c.w, p, values)
		}
	})
}
