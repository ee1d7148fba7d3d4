package workload

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/bench"
)

// sysbenchCPU searches for primes with sysbench 1.0's cpu test, the CPU
// benchmark of tesfatsion2018 section 3.1.1; the number of threads is the load.
type sysbenchCPU struct{}

func (sysbenchCPU) Name() string { return "sysbench-cpu" }

func (sysbenchCPU) Summary() string { return "primes up to a limit, by sysbench cpu" }

func (sysbenchCPU) Resource() string { return "cpu" }

func (sysbenchCPU) Parts() []string { return nil }

func (sysbenchCPU) Programs() []string { return []string{"sysbench"} }

func (sysbenchCPU) Params() []bench.Param {
	return []bench.Param{
		{Name: "threads", Kind: bench.KindInt, Default: "1", Min: 1, Load: true,
			Doc: "threads searching at the same time"},
		{Name: "share", Kind: bench.KindInt, Min: 1, Max: 100,
			Doc: "percent of the threads that are started, all if not given; refused where no number of threads comes within 5 points of it"},
		{Name: "max-prime", Kind: bench.KindInt, Default: "10000", Min: 2000,
			Doc: "an event is the search for all primes up to this number; below 2000 it is over before sysbench, which prints hundredths of a millisecond, can time it"},
	}
}

func (sysbenchCPU) Metrics(bench.Params) ([]bench.Metric, error) {
	return []bench.Metric{
		{Name: "throughput", Unit: "events/s", Better: bench.HigherIsBetter, Combine: bench.Sum, Headline: true,
			Doc: "searches finished per second, by all threads"},
		{Name: "mean_latency", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Mean,
			Doc: "mean time of one search"},
		{Name: "p95_latency", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Merge, Histogram: "latency", Quantile: 0.95,
			Doc: "95th percentile of the time of one search"},
	}, nil
}

func (w sysbenchCPU) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	if part != bench.SubjectPart {
		return bench.Part{}, unknownPart(w, part)
	}
	measure, err := measured(s.Timing)
	if err != nil {
		return bench.Part{}, err
	}
	threads, err := w.started(p)
	if err != nil {
		return bench.Part{}, err
	}
	limit, err := timeout(s.Timing, s.Timing.Warmup+measure)
	if err != nil {
		return bench.Part{}, err
	}
	argv := []string{"sysbench", "cpu", "--threads=" + strconv.FormatInt(threads, 10), "--cpu-max-prime=" + p["max-prime"]}
	argv = slices.Concat(argv, sysbenchTime(s.Timing), sysbenchReport(measure), []string{"run"})
	steps := bench.Part{Main: bench.Command{Argv: argv, Timeout: limit}}
	if s.Timing.Warmup > 0 {
		steps.Begin = sysbenchCheckpoint
	}
	return steps, nil
}

// coarsest is by how many points of percent the threads that are started may miss their share.
const coarsest = 5

// started is how many threads come nearest to the share of all.
func (w sysbenchCPU) started(p bench.Params) (int64, error) {
	threads, err := intOf(w, p, "threads")
	if _, given := p["share"]; err != nil || !given {
		return threads, err
	}
	share, err := intOf(w, p, "share")
	if err != nil {
		return 0, err
	}
	n := max(1, int64(math.Round(float64(threads*share)/100)))
	if is := 100 * float64(n) / float64(threads); math.Abs(is-float64(share)) > coarsest {
		return 0, &ParamError{w.Name(), "share", fmt.Errorf("%d %% of the threads, of which there are %d: the nearest is %d, which is %.0f %%%w", share, threads, n, is,
			bench.Hint("take more threads, or a quota of CPU time: shape.cpu_quota"))}
	}
	return n, nil
}

// sysbenchCheckpoint is printed when the warm-up is over: sysbench tells what it did so far and counts
// anew, in the same threads.
const sysbenchCheckpoint = "Checkpoint report:"

// sysbenchTime are the options for a warm-up and what is measured after it, in whole seconds, and of what
// is told then.
func sysbenchTime(t bench.Timing) []string {
	warm, measure := whole(t.Warmup), whole(t.Measure)
	argv := []string{"--time=" + strconv.FormatInt(warm+measure, 10)}
	if warm > 0 {
		argv = append(argv, "--report-checkpoints="+strconv.FormatInt(warm, 10))
	}
	return append(argv, "--events=0", "--percentile=95", "--histogram=on")
}

func (sysbenchCPU) Parse(_ bench.Params, s bench.Setting, out bench.Output) ([]bench.Value, error) {
	if err := finished("sysbench", out); err != nil {
		return nil, err
	}
	if err := sysbenchWarmed(s.Timing, out.Stdout); err != nil {
		return nil, err
	}
	_, report := sysbenchReports(out.Stdout)
	text, err := afterLabel(report, "events per second")
	if err != nil {
		return nil, fmt.Errorf("sysbench: %w", err)
	}
	rate, err := positive(text)
	if err != nil {
		return nil, fmt.Errorf("sysbench: %q: %w", "events per second", err)
	}
	r, err := sysbenchRun(out.Stdout)
	if err != nil {
		return nil, fmt.Errorf("sysbench: %w", err)
	}
	// Its own rate counts to the moment it prints, which under load may be much
	// later than the end of the last event; it is never sooner.
	if rate*r.elapsed > 1.05*r.events || rate*r.elapsed < 0.5*r.events {
		return nil, fmt.Errorf("sysbench: %v events in %v s are not %v events per second", r.events, r.elapsed, rate)
	}
	times, err := r.times(out.Stdout)
	if err != nil {
		return nil, fmt.Errorf("sysbench: %w", err)
	}
	return []bench.Value{
		{Metric: "throughput", Value: r.events / r.elapsed},
		{Metric: "mean_latency", Value: r.mean},
		// What sysbench prints itself has two decimals: 10 us.
		{Metric: "p95_latency", Value: times.Quantile(0.95).Mid() / 1e6},
	}, nil
}

// sysbenchRate is what a workload of sysbench's has done: its events in a second, by that metric's
// name, and how long they took.
func sysbenchRate(metric string, out bench.Output) ([]bench.Value, error) {
	if err := finished("sysbench", out); err != nil {
		return nil, err
	}
	r, err := sysbenchRun(out.Stdout)
	if err != nil {
		return nil, fmt.Errorf("sysbench: %w", err)
	}
	times, err := r.times(out.Stdout)
	if err != nil {
		return nil, fmt.Errorf("sysbench: %w", err)
	}
	return []bench.Value{
		{Metric: metric, Value: r.events / r.elapsed},
		{Metric: "mean_latency", Value: r.mean},
		{Metric: "p95_latency", Value: times.Quantile(0.95).Mid() / 1e6},
		{Metric: "p99_latency", Value: times.Quantile(0.99).Mid() / 1e6},
	}, nil
}

// sysbenchEvents are what every test of sysbench's reports: events, the seconds
// they took, and the mean and 95th percentile of the time of one, in ms.
type sysbenchEvents struct {
	events, elapsed, mean, p95 float64
	warmed                     bool
}

// missed is how many events the histogram may have more or fewer than were counted, where there
// was a warm-up: sysbench begins to count anew, and then to fill the histogram anew.
func (r sysbenchEvents) missed() float64 {
	if !r.warmed {
		return 0
	}
	return max(10, 0.01*r.events)
}

// sysbenchReports are the report at the end of the warm-up, if there is one, and the last one.
func sysbenchReports(stdout []byte) (warm, last []byte) {
	before, last, ok := bytes.Cut(stdout, []byte(sysbenchTitle))
	if !ok {
		return nil, stdout
	}
	_, warm, _ = bytes.Cut(before, []byte(sysbenchCheckpoint))
	return warm, last
}

// sysbenchWarmed is an error if a warm-up was asked for and is not told of.
func sysbenchWarmed(t bench.Timing, stdout []byte) error {
	if warm, last := sysbenchReports(stdout); t.Warmup > 0 && warm == nil {
		return fmt.Errorf("sysbench: %q: %w in %s", sysbenchCheckpoint, errMissing, excerpt(last))
	}
	return nil
}

// sysbenchRun is what was done after the warm-up. Of all that sysbench reports last, its total time alone
// is since the start.
func sysbenchRun(stdout []byte) (r sysbenchEvents, err error) {
	warm, stdout := sysbenchReports(stdout)
	for _, f := range []struct {
		label string
		into  *float64
	}{{"total time", &r.elapsed}, {"total number of events", &r.events}, {"avg", &r.mean}, {"95th percentile", &r.p95}} {
		text, err := afterLabel(stdout, f.label)
		if err != nil {
			return r, err
		}
		if *f.into, err = positive(strings.TrimSuffix(text, "s")); err != nil {
			return r, fmt.Errorf("%q: %w", f.label, err)
		}
	}
	if r.warmed = warm != nil; !r.warmed {
		return r, nil
	}
	text, err := afterLabel(warm, "total time")
	if err != nil {
		return r, fmt.Errorf("at the end of its warm-up: %w", err)
	}
	began, err := positive(strings.TrimSuffix(text, "s"))
	if err != nil || began >= r.elapsed {
		return r, fmt.Errorf("warmed up until %q of %v s", text, r.elapsed)
	}
	r.elapsed -= began
	return r, nil
}

// times is the histogram beside the report, which must agree with it.
func (r sysbenchEvents) times(stdout []byte) (bench.Histogram, error) {
	h, err := sysbenchHistogram(stdout)
	if err != nil {
		return h, err
	}
	if n := h.Count(); math.Abs(float64(n)-r.events) > r.missed() {
		return h, fmt.Errorf("histogram: %d events in the bins, %v in all", n, r.events)
	}
	return h, agrees(h, 0.95, r.p95*1e6, sysbenchDigit/2)
}

// afterLabel returns what follows "label:" on the one line that begins with it.
func afterLabel(text []byte, label string) (string, error) {
	found, value := 0, ""
	for line := range bytes.Lines(text) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(string(line)), label+":"); ok {
			found, value = found+1, strings.TrimSpace(rest)
		}
	}
	switch found {
	case 0:
		return "", fmt.Errorf("%q: %w in %s", label, errMissing, excerpt(text))
	case 1:
		return value, nil
	}
	return "", fmt.Errorf("%q: found %d times in %s", label, found, excerpt(text))
}
