package workload

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
)

// compile builds a part of Linux in its tiny configuration: the kernel compile of sharma2016. The
// source, configured and with its generated headers, is in the image; what is timed is make.
type compile struct{}

//go:embed compile.sh
var compileShell []byte

// compileTargets are what may be compiled, with the CPU time it takes here and the fewest objects
// that are the whole of it.
var compileTargets = map[string]struct {
	work  time.Duration
	least float64
}{
	"sched":   {4 * time.Second, 3},
	"lib":     {20 * time.Second, 80},
	"vmlinux": {2*time.Minute + 20*time.Second, 300},
}

// compileEmulated is how many times as long a slow, emulated machine takes.
const compileEmulated = 40

// compileCopy lays the prepared build into the scratch space; compileRead has the source read.
const (
	compileCopy = "cp -a /usr/src/linux-build /scratch/build"
	compileRead = "find /usr/src/linux -type f -print0 | xargs -0 cat > /dev/null"
)

func (compile) Name() string { return "compile" }

func (compile) Summary() string { return "a part of Linux, compiled by make and gcc" }

func (compile) Resource() string { return "cpu" }

func (compile) Parts() []string { return nil }

// Family implements [bench.Familied].
func (compile) Family() string { return "compile" }

func (compile) Programs() []string { return []string{"bash", "gcc", "make", "perl"} }

func (compile) Params() []bench.Param {
	return []bench.Param{
		{Name: "target", Kind: bench.KindWord, Default: "lib", Words: []string{"sched", "lib", "vmlinux"},
			Doc: "what is compiled, of the kernel's tiny configuration: its scheduler (few large files), its library (many small ones), or all of it"},
		{Name: "jobs", Kind: bench.KindInt, Min: 1, Load: true, Doc: "compilers at once (make -j); as many as the instance has CPUs if not given"},
		{Name: "cache", Kind: bench.KindWord, Default: "warm", Words: []string{"warm", "cold"},
			Doc: "warm: the source is read once before; cold: it is not, for a scene with cache: cold, without which it is as the host happens to have it"},
	}
}

func (compile) Metrics(bench.Params) ([]bench.Metric, error) {
	return []bench.Metric{
		{Name: "time", Unit: "s", Better: bench.LowerIsBetter, Combine: bench.Mean, Headline: true, Doc: "until make has ended"},
		{Name: "objects", Unit: "files", Better: bench.HigherIsBetter, Combine: bench.Sum, Doc: "files that were compiled; all of them are there and not empty"},
	}, nil
}

func (w compile) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	if part != bench.SubjectPart {
		return bench.Part{}, unknownPart(w, part)
	}
	jobs, err := perCPU(w, p, s, "jobs")
	if err != nil {
		return bench.Part{}, err
	}
	limit, err := timeout(s.Timing, compileTargets[p["target"]].work)
	if err != nil {
		return bench.Part{}, err
	}
	if s.Timing.Deadline == 0 {
		limit = compileEmulated*compileTargets[p["target"]].work + slack
	}
	before := compileCopy
	if p["cache"] == "warm" {
		before += "; " + compileRead
	}
	return bench.Part{
		Files:   []bench.File{{Path: bench.ScratchDir + "/compile.sh", Mode: 0o755, Data: compileShell}},
		Prepare: []bench.Command{{Argv: []string{"bash", "-c", "set -e; " + before}, Timeout: limit}},
		Main: bench.Command{Argv: []string{"bash", bench.ScratchDir + "/compile.sh", p["target"], strconv.FormatInt(jobs, 10)},
			Timeout: limit},
	}, nil
}

func (w compile) Parse(p bench.Params, _ bench.Setting, out bench.Output) ([]bench.Value, error) {
	if err := finished(w.Name(), out); err != nil {
		return nil, err
	}
	var values []bench.Value
	for _, f := range []struct{ label, unit string }{{"time", " s"}, {"objects", ""}} {
		text, err := afterWord(out.Stdout, f.label)
		if err != nil {
			return nil, fmt.Errorf("compile: %w", err)
		}
		v, err := positive(strings.TrimSuffix(text, f.unit))
		if err != nil {
			return nil, fmt.Errorf("compile: %s: %w", f.label, err)
		}
		values = append(values, bench.Value{Metric: f.label, Value: v})
	}
	if got, least := values[1].Value, compileTargets[p["target"]].least; got < least {
		return nil, fmt.Errorf("compile: %v files compiled for %s, which has at least %v: something was compiled before", got, p["target"], least)
	}
	return values, nil
}
