package workload

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tare/internal/bench"
)

// hpccCases are real outputs of each test, in two processes, and what they say.
var hpccCases = []struct {
	test, stdout, stderr, metric string
	want                         float64
}{
	{"hpl", "hpcc-hpl.txt", "hpcc-hpl.err", "flops", 7.268},
	{"randomaccess", "hpcc-updates.txt", "", "updates", 2 * 0.026965},
	{"stream", "hpcc-stream.txt", "", "triad", 2 * 11.354160},
}

func TestHPCCSteps(t *testing.T) {
	w := hpcc{}
	for _, c := range []struct {
		given    bench.Params
		argv     string
		order    string // the line of hpccinf.txt
		filtered bool
	}{
		{bench.Params{"processes": "1"}, "setpriv --no-new-privs --seccomp-filter mapping-limit.bpf hpcc", "1 4480", true},
		{nil, "mpirun -n 2 --oversubscribe --bind-to none setpriv --no-new-privs --seccomp-filter mapping-limit.bpf hpcc", "1 4480", true},
		{bench.Params{"test": "randomaccess"}, "mpirun -n 2 --oversubscribe --bind-to none hpcc", "1 4096", false},
		{bench.Params{"test": "stream"}, "mpirun -n 2 --oversubscribe --bind-to none setpriv --no-new-privs --seccomp-filter mapping-limit.bpf hpcc", "1 7095", true},
	} {
		steps, err := w.Steps(bench.SubjectPart, fill(t, w, c.given), setting())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(steps.Main.Argv, " "); got != c.argv {
			t.Errorf("%v: %q, want %q", c.given, got, c.argv)
		}
		lines := strings.Split(string(steps.Files[0].Data), "\n")
		if got := lines[4] + " " + lines[5]; got != c.order || len(lines) != 37 {
			t.Errorf("%v: sizes %q, want %q; %d lines", c.given, got, c.order, len(lines)-1)
		}
		if (len(steps.Files) == 2) != c.filtered || steps.Begin == "" || steps.End == "" {
			t.Errorf("%v: %d files; window from %q to %q", c.given, len(steps.Files), steps.Begin, steps.End)
		}
	}
	steps, err := w.Steps(bench.SubjectPart, fill(t, w, bench.Params{"core": "Haswell"}), setting())
	if err != nil || steps.Main.Env["OPENBLAS_CORETYPE"] != "Haswell" || steps.Main.Env["GLIBC_TUNABLES"] != "" {
		t.Errorf("%v, %v", steps.Main.Env, err)
	}
	steps, err = w.Steps(bench.SubjectPart, fill(t, w, bench.Params{"test": "stream", "huge-pages": "yes"}), setting())
	if err != nil || steps.Main.Env["GLIBC_TUNABLES"] != "glibc.malloc.hugetlb=1" {
		t.Errorf("%v, %v", steps.Main.Env, err)
	}
}

func TestHPCCRefuses(t *testing.T) {
	w := hpcc{}
	small, unknown, short := setting(), setting(), setting()
	small.Shape.Memory = 192 * bench.MiB
	unknown.LLC = 0
	short.Timing.Deadline = time.Second
	for _, c := range []struct {
		name  string
		given bench.Params
		s     bench.Setting
		says  []string
	}{
		{"small", nil, small, []string{"15 % of 192 MiB", "at least 1280"}},
		{"too many", bench.Params{"processes": "64"}, setting(), []string{"560 columns for each of 8", "at least 1280"}},
		{"tables", bench.Params{"test": "randomaccess"}, small, []string{"randomaccess in 2 processes needs", "192 MiB"}},
		{"no cache", bench.Params{"test": "stream"}, unknown, []string{"hpcc: the size of the last-level cache"}},
		{"core", bench.Params{"core": "a b"}, setting(), []string{`"a b": not the name of a CPU`}},
		{"deadline", nil, short, []string{"deadline of 1s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := w.Steps(bench.SubjectPart, fill(t, w, c.given), c.s)
			wantError(t, err, c.says...)
			if !errors.Is(err, bench.ErrInvalid) {
				t.Errorf("%v is not ErrInvalid", err)
			}
		})
	}
	for name, text := range map[string]string{"processes": "257", "share": "81", "factor": "3", "test": "fft"} {
		_, err := Fill(w, bench.Params{name: text})
		wantError(t, err, text)
	}
}

// Whatever the memory and the processes, HPL's matrix may be mapped, and so may its panels; neither
// RandomAccess's table, PTRANS's and STREAM's arrays nor DGEMM's matrices may.
func TestHPLFilter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := setting()
		s.Shape.Memory = bench.Bytes(rapid.Int64Range(1, 512).Draw(t, "memory")) * bench.GiB / 2
		p := bench.Params{"test": "hpl", "share": rapid.SampledFrom([]string{"5", "15", "80"}).Draw(t, "share"), "core": "auto"}
		n := rapid.IntRange(1, mostProcesses).Draw(t, "processes")
		r := hpccRun{}
		if r.rows, r.cols = grid(n); (hpcc{}).hpl(p, s, &r) != nil {
			return
		}
		if r.order%int64(hplBlock*r.rows) != 0 || r.order%int64(hplBlock*r.cols) != 0 {
			t.Fatalf("order %d is not of whole blocks on %d times %d", r.order, r.rows, r.cols)
		}
		order, share := r.order, r.order*r.order/int64(n)
		table := int64(1)
		for table*2 <= share {
			table *= 2
		}
		square := int64(math.Sqrt(float64(share / 3)))
		mapped := func(words int64) uint64 { return uint64(8*words+16+4095) / 4096 * 4096 }
		rows, columns := order/int64(r.rows), order/int64(r.cols)
		for what, c := range map[string]struct {
			words   int64
			refused bool
		}{
			"the matrix":         {8 + (rows+9)*columns, false}, // HPL_pdtest.c
			"the first's matrix": {8 + (rows+17)*(columns+1), false},
			"a panel":            {8 + hplBlock*(rows+columns+hplBlock+1), false},
			"RandomAccess":       {table, true},
			"STREAM":             {share / 3, true},
			"DGEMM":              {square * square, true},
			"PTRANS":             {share * 3 / 4, true},
		} {
			if got := refuses(r.filter, seccompNumbers[runtime.GOARCH].mmap, mapped(c.words)); got != c.refused {
				t.Errorf("order %d on %d times %d: %s of %d words is refused: %v", order, r.rows, r.cols, what, c.words, got)
			}
		}
	})
}

func TestHPCCParse(t *testing.T) {
	w := hpcc{}
	for _, c := range hpccCases {
		p := fill(t, w, bench.Params{"test": c.test})
		out := bench.Output{Stdout: captured(t, c.stdout), Exit: 137, Signal: "killed"}
		if c.stderr != "" {
			out.Stderr = captured(t, c.stderr)
		}
		values, err := w.Parse(p, setting(), out)
		if err != nil {
			t.Fatalf("%s: %v", c.test, err)
		}
		checkValues(t, w, p, values)
		if got := value(t, values, c.metric); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s is %v, want %v", c.metric, got, c.want)
		}
	}
}

func TestHPCCParseRefuses(t *testing.T) {
	w := hpcc{}
	core := captured(t, "hpcc-hpl.err")
	change := func(file, old, new string) []byte {
		good := captured(t, file)
		if !bytes.Contains(good, []byte(old)) {
			t.Fatalf("no %q in %s", old, file)
		}
		return bytes.Replace(good, []byte(old), []byte(new), 1)
	}
	for _, c := range []struct {
		name, test string
		given      bench.Params
		out        bench.Output
		says       string
	}{
		{"wrong", "hpl", nil, bench.Output{Stdout: change("hpcc-hpl.txt", "PASSED", "FAILED"), Stderr: core}, "found its result to be wrong: ||Ax-b||_oo/"},
		{"another size", "hpl", bench.Params{"share": "14"}, bench.Output{Stdout: captured(t, "hpcc-hpl.txt"), Stderr: core}, "HPL solved N, NB, P and Q of 4480 80 1 2, not 4320 80 1 2"},
		{"no result", "hpl", nil, bench.Output{Stdout: change("hpcc-hpl.txt", "WR11", "XR11"), Stderr: core}, "0 results of HPL and 1 checks"},
		{"no rate", "hpl", nil, bench.Output{Stdout: change("hpcc-hpl.txt", "e+00", "e+x0"), Stderr: core}, "not a number"},
		{"another BLAS", "hpl", nil, bench.Output{Stdout: captured(t, "hpcc-hpl.txt")}, "which routines OpenBLAS took is not found"},
		{"another core", "hpl", bench.Params{"core": "Haswell"}, bench.Output{Stdout: captured(t, "hpcc-hpl.txt"), Stderr: core}, "for Cooperlake, not Haswell"},
		{"two cores", "hpl", nil, bench.Output{Stdout: captured(t, "hpcc-hpl.txt"), Stderr: append(core, "Core: Zen\n"...)}, "of several CPUs, Cooperlake and Zen"},
		{"timed out", "hpl", nil, bench.Output{TimedOut: true}, "deadline"},
		{"ended before", "hpl", nil, bench.Output{Exit: 1, Stderr: []byte("prte_init() failed")}, "prte_init() failed"},
		{"wrong", "randomaccess", nil, bench.Output{Stdout: change("hpcc-updates.txt", "(passed)", "(failed)")}, "RandomAccess found its result to be wrong: Found 0 errors"},
		{"a process failed", "randomaccess", nil, bench.Output{Stdout: change("hpcc-updates.txt", "error 0", "error 1")}, `"1" processes failed`},
		{"small tables", "randomaccess", bench.Params{"factor": "8"}, bench.Output{Stdout: captured(t, "hpcc-updates.txt")}, "tables of 8388608 words, not 16777216"},
		{"no memory", "randomaccess", nil, bench.Output{Stdout: change("hpcc-updates.txt", "Found 0 errors", "Failed to allocate")}, "0 checks of RandomAccess"},
		{"no rate", "randomaccess", nil, bench.Output{Stdout: change("hpcc-updates.txt", "Average GUP/s 0.026965", "Average GUP/s 0.000000")}, `"0.000000": not above zero`},
		{"small arrays", "stream", bench.Params{"factor": "8"}, bench.Output{Stdout: captured(t, "hpcc-stream.txt")}, "the figures would be the cache's"},
		{"a process failed", "stream", nil, bench.Output{Stdout: change("hpcc-stream.txt", "error 0", "error 2")}, `"2" processes failed`},
		{"no mean", "stream", nil, bench.Output{Stdout: change("hpcc-stream.txt", "Average Triad", "Mean Triad")}, `"Average Triad GB/s": found 0 times`},
	} {
		t.Run(c.test+" "+c.name, func(t *testing.T) {
			given := bench.Params{"test": c.test}
			for k, v := range c.given {
				given[k] = v
			}
			_, err := w.Parse(fill(t, w, given), setting(), c.out)
			wantError(t, err, c.says)
		})
	}
}

func FuzzHPCCParse(f *testing.F) {
	for i, c := range hpccCases {
		f.Add(i, captured(f, c.stdout))
	}
	f.Fuzz(func(t *testing.T, i int, stdout []byte) {
		c := hpccCases[uint(i)%uint(len(hpccCases))]
		p := fill(t, hpcc{}, bench.Params{"test": c.test})
		if values, err := (hpcc{}).Parse(p, setting(), bench.Output{Stdout: stdout, Stderr: captured(t, "hpcc-hpl.err")}); err == nil {
			checkValues(t, hpcc{}, p, values)
		}
	})
}
