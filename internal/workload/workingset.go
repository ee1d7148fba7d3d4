package workload

import (
	_ "embed"
	"fmt"
	"strconv"
	"time"

	"tare/internal/bench"
)

// workingSet serves requests from a working set in anonymous memory, which only
// swap space can hold where memory has no room for it. Each is a sysbench event
// of a script of ours, so that rate and times are sysbench's.
type workingSet struct{}

//go:embed workingset.lua
var workingSetScript []byte

const (
	workingSetFile = bench.ScratchDir + "/workingset.lua"
	// workingSetFill is how many bytes of a working set are laid out in a second
	// by a slow machine.
	workingSetFill = 500e6
)

func (workingSet) Name() string { return "working-set" }

func (workingSet) Summary() string {
	return "requests that read and write pages of a working set in memory, by sysbench"
}

func (workingSet) Resource() string { return "memory" }

func (workingSet) Parts() []string { return nil }

func (workingSet) Programs() []string { return []string{"sysbench"} }

func (workingSet) Params() []bench.Param {
	return []bench.Param{
		{Name: "threads", Kind: bench.KindInt, Default: "1", Min: 1, Load: true, Doc: "threads serving requests, each with its share of the set"},
		{Name: "set", Kind: bench.KindSize, Min: float64(bench.MiB), Doc: "size of the working set; half of the instance's memory if not given"},
		{Name: "pages", Kind: bench.KindInt, Default: "64", Min: 8, Doc: "pages of 4 KiB that a request reads, of which it writes one in four"},
		{Name: "spread", Kind: bench.KindWord, Default: "pareto", Words: []string{"pareto", "uniform"},
			Doc: "which pages: few of them often (a fifth of them four times in five, by a law of Pareto's), or all alike"},
	}
}

func (workingSet) Metrics(bench.Params) ([]bench.Metric, error) {
	return []bench.Metric{
		{Name: "requests", Unit: "requests/s", Better: bench.HigherIsBetter, Combine: bench.Sum, Headline: true, Doc: "served by all threads"},
		{Name: "mean_latency", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Mean, Doc: "mean time of a request"},
		{Name: "p95_latency", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Merge, Histogram: "latency", Quantile: 0.95, Doc: "95th percentile of the time of a request"},
		{Name: "p99_latency", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Merge, Histogram: "latency", Quantile: 0.99, Doc: "99th percentile of the time of a request"},
	}, nil
}

// size is that of the set in bytes.
func (w workingSet) size(p bench.Params, s bench.Shape) (int64, error) {
	if _, given := p["set"]; !given {
		return int64(s.Memory / 2), nil
	}
	size, err := intOf(w, p, "set")
	if err == nil && bench.Bytes(size) > s.Memory+s.Swap {
		err = &ParamError{w.Name(), "set", fmt.Errorf("%s are more than the instance's memory of %s and what it may swap out", bench.Bytes(size), s.Memory)}
	}
	return size, err
}

func (w workingSet) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	if part != bench.SubjectPart {
		return bench.Part{}, unknownPart(w, part)
	}
	length, err := measured(s.Timing)
	if err != nil {
		return bench.Part{}, err
	}
	size, err := w.size(p, s.Shape)
	if err != nil {
		return bench.Part{}, err
	}
	limit, err := timeout(s.Timing, s.Timing.Warmup+length)
	if err != nil {
		return bench.Part{}, err
	}
	return bench.Part{
		Files: []bench.File{{Path: workingSetFile, Mode: 0o644, Data: workingSetScript}},
		Main: bench.Command{
			Argv: []string{"sysbench", workingSetFile,
				"--set=" + strconv.FormatInt(size, 10), "--pages=" + p["pages"], "--spread=" + p["spread"], "--warm=" + warmSeconds(s.Timing.Warmup),
				"--step=" + strconv.FormatFloat(seriesStep(s.Timing.Measure).Seconds(), 'f', -1, 64),
				"--threads=" + p["threads"], "--time=" + wholeSeconds(length), "--events=0", "--percentile=95", "--histogram=on", "run"},
			Timeout: limit,
		},
		Begin: "Threads started!",
	}, nil
}

// warmSeconds is a second more than asked for, since the script looks at a clock
// of whole ones. Laying out the set is part of the warm-up, so that what began
// together is measured together; only what takes longer begins later.
func warmSeconds(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	return wholeSeconds(d + time.Second)
}

// Estimate is the time until the set is laid out and the requests are served.
func (w workingSet) Estimate(p bench.Params, s bench.Setting) time.Duration {
	size, err := w.size(p, s.Shape)
	if err != nil {
		return 0
	}
	layout := time.Duration(float64(size) / workingSetFill * float64(time.Second))
	return max(layout, s.Timing.Warmup+time.Second) + s.Timing.Measure
}

// Histograms reads the times of single requests, of all threads.
func (workingSet) Histograms(_ bench.Params, _ bench.Setting, out bench.Output) ([]bench.Histogram, error) {
	return sysbenchCPU{}.Histograms(nil, bench.Setting{}, out)
}

func (workingSet) Parse(_ bench.Params, _ bench.Setting, out bench.Output) ([]bench.Value, error) {
	return sysbenchRate("requests", out)
}
