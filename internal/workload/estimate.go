package workload

import (
	"strconv"
	"time"

	"tare/internal/bench"
)

// The workloads below take something else than warm-up plus measurement; this
// is what the planner tells people to wait for (plan.Estimator).

// Estimate is the time from the first preparing command to the end of the measured one.
func (w stream) Estimate(p bench.Params, s bench.Setting) time.Duration {
	array, err := arraySize(w, p, s)
	if err != nil {
		return 0
	}
	return expectedRun(order(array)) + time.Second
}

// Estimate is the same of hpcc's other tests.
func (w hpcc) Estimate(p bench.Params, s bench.Setting) time.Duration {
	r, err := w.run(p, s)
	if err != nil {
		return 0
	}
	return r.expected + time.Second
}

// Estimate adds the layout of the files, at a rate of an ordinary disk.
func (w fio) Estimate(p bench.Params, s bench.Setting) time.Duration {
	size, err := intOf(w, p, "size")
	if err != nil {
		return 0
	}
	jobs, err := intOf(w, p, "jobs")
	if err != nil {
		return 0
	}
	layout := time.Duration(float64(size*jobs) / 200e6 * float64(time.Second))
	return layout + s.Timing.Warmup + s.Timing.Measure
}

// Estimate is for a file of 40 MB that is read, perhaps copied, and written to
// a few times; under emulation it takes two to ten seconds.
func (copyUp) Estimate(bench.Params, bench.Setting) time.Duration { return 500 * time.Millisecond }

// Estimate is for a thousand files; an emulated machine takes two to four times as long.
func (rewrite) Estimate(bench.Params, bench.Setting) time.Duration { return 2 * time.Second }

// Estimate is for making the packages and for some hundred files twice, for each of which dpkg waits for the disk.
func (packages) Estimate(bench.Params, bench.Setting) time.Duration { return 8 * time.Second }

// Estimate is for an ordinary CPU, with the copy of the build and the reading of the source.
func (w compile) Estimate(p bench.Params, s bench.Setting) time.Duration {
	jobs, err := perCPU(w, p, s, "jobs")
	if err != nil {
		return 0
	}
	return compileTargets[p["target"]].work/time.Duration(max(1, min(jobs, int64(s.Shape.CPUs)))) + 3*time.Second
}

// Estimate adds making the database and filling it.
func (w pgbench) Estimate(p bench.Params, s bench.Setting) time.Duration {
	scale, err := intOf(w, p, "scale")
	if err != nil {
		return 0
	}
	return 3*time.Second + time.Duration(scale)*300*time.Millisecond + s.Timing.Warmup + s.Timing.Measure
}

// Estimate is that of a rate that is looked for, at half of the rates that may be tried.
func (web) Estimate(p bench.Params, s bench.Setting) time.Duration {
	if tries, err := strconv.Atoi(p["seek"]); err == nil && tries > 0 {
		return time.Duration(tries)*seekEach/2 + s.Timing.Measure
	}
	return s.Timing.Warmup + s.Timing.Measure
}

// Estimate adds making the database and filling it.
func (w pages) Estimate(p bench.Params, s bench.Setting) time.Duration {
	items, err := intOf(w, p, "items")
	if err != nil {
		return 0
	}
	return 3*time.Second + time.Duration(items)*100*time.Microsecond + s.Timing.Warmup + s.Timing.Measure
}

// Estimate adds compiling the binding, loading the records and starting Java three times.
func (w ycsb) Estimate(p bench.Params, s bench.Setting) time.Duration {
	records, err := intOf(w, p, "records")
	if err != nil {
		return 0
	}
	return 3*time.Second + time.Duration(records)*100*time.Microsecond + s.Timing.Warmup + s.Timing.Measure
}
