package workload

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"tare/internal/bench"
)

// fio reads and writes files past the page cache with Linux-native asynchronous
// I/O: the disk benchmark of tesfatsion2018 section 3.1.3, whose block size is
// 4 KiB. The paper does not say how many requests it kept in flight; the default
// is fio's own, one, which shows what each request costs.
type fio struct{}

func (fio) Name() string { return "fio" }

func (fio) Summary() string {
	return "disk reads and writes past the page cache (libaio and O_DIRECT) or through it, by fio"
}

func (fio) Resource() string { return "disk" }

func (fio) Parts() []string { return nil }

func (fio) Programs() []string { return []string{"fio", "ln"} }

func (fio) Params() []bench.Param {
	return []bench.Param{
		{Name: "rw", Kind: bench.KindWord, Default: "randread",
			Words: []string{"randread", "randwrite", "randrw", "read", "write"},
			Doc:   "access pattern; randrw mixes reads and writes"},
		{Name: "reads", Kind: bench.KindInt, Min: 1, Max: 99, Doc: "percent of randrw's requests that read; 50 if not given"},
		{Name: "bs", Kind: bench.KindSize, Default: "4KiB", Min: 512, Doc: "block size"},
		{Name: "iodepth", Kind: bench.KindInt, Default: "1", Min: 1, Doc: "requests in flight of each job"},
		{Name: "jobs", Kind: bench.KindInt, Default: "1", Min: 1, Load: true, Doc: "processes, each with a file of its own"},
		{Name: "size", Kind: bench.KindSize, Default: "256MiB", Min: float64(bench.MiB), Doc: "size of each job's file"},
		{Name: "direct", Kind: bench.KindWord, Default: "yes", Words: []string{"yes", "no"},
			Doc: "yes: past the page cache; no: through the instance's own page cache, one request at a time"},
	}
}

func (fio) Metrics(p bench.Params) ([]bench.Metric, error) {
	random := strings.HasPrefix(p["rw"], "rand")
	metrics := []bench.Metric{
		{Name: "iops", Unit: "IOPS", Better: bench.HigherIsBetter, Combine: bench.Sum, Headline: random,
			Doc: "requests finished per second"},
		{Name: "bandwidth", Unit: "MB/s", Better: bench.HigherIsBetter, Combine: bench.Sum, Headline: !random,
			Doc: "data moved per second, in millions of bytes"},
	}
	percentile := func(of string, q float64, doc string) bench.Metric {
		return bench.Metric{Name: strings.Replace(of, "latency", fmt.Sprintf("p%.0f_latency", 100*q), 1), Unit: "us", Better: bench.LowerIsBetter,
			Combine: bench.Merge, Histogram: of, Quantile: q, Doc: doc}
	}
	if p["rw"] != "randrw" {
		return append(metrics,
			percentile("latency", 0.95, "95th percentile from submission to completion"),
			percentile("latency", 0.99, "99th percentile from submission to completion")), nil
	}
	for _, direction := range []string{"read", "write"} {
		metrics = append(metrics,
			bench.Metric{Name: direction + "_iops", Unit: "IOPS", Better: bench.HigherIsBetter, Combine: bench.Sum,
				Doc: direction + "s finished per second"},
			bench.Metric{Name: direction + "_bandwidth", Unit: "MB/s", Better: bench.HigherIsBetter, Combine: bench.Sum,
				Doc: "data moved per second by " + direction + "s, in millions of bytes"},
			percentile(direction+"_latency", 0.95, "95th percentile of "+direction+"s from submission to completion"),
			percentile(direction+"_latency", 0.99, "99th percentile of "+direction+"s from submission to completion"))
	}
	return metrics, nil
}

func (w fio) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	if part != bench.SubjectPart {
		return bench.Part{}, unknownPart(w, part)
	}
	measure, err := measured(s.Timing)
	if err != nil {
		return bench.Part{}, err
	}
	size, err := intOf(w, p, "size")
	if err != nil {
		return bench.Part{}, err
	}
	jobs, err := intOf(w, p, "jobs")
	if err != nil {
		return bench.Part{}, err
	}
	bs, err := intOf(w, p, "bs")
	if err != nil {
		return bench.Part{}, err
	}
	if bs > size {
		return bench.Part{}, &ParamError{w.Name(), "bs", fmt.Errorf("blocks of %v do not fit files of %v", bench.Bytes(bs), bench.Bytes(size))}
	}
	if p["direct"] == "no" && p["iodepth"] != "1" {
		return bench.Part{}, &ParamError{w.Name(), "iodepth", fmt.Errorf("%s requests in flight need direct: yes: through the page cache each is waited for", p["iodepth"])}
	}
	if p["rw"] != "randrw" && p["reads"] != "" {
		return bench.Part{}, &ParamError{w.Name(), "reads", fmt.Errorf("%s has no mix of reads and writes%w", p["rw"], bench.Hint("rw: randrw has"))}
	}
	// A twentieth is left to the file system's own structures.
	if room := s.Shape.Disk - s.Shape.Disk/20; jobs > 0 && bench.Bytes(size) > room/bench.Bytes(jobs) {
		return bench.Part{}, &ParamError{w.Name(), "size", fmt.Errorf("%d files of %v do not fit a disk of %v%w",
			jobs, bench.Bytes(size), s.Shape.Disk, bench.Hint("give the instance a larger disk or fio smaller files"))}
	}
	limit, err := timeout(s.Timing, s.Timing.Warmup+measure)
	if err != nil {
		return bench.Part{}, err
	}
	// Every job reads and writes what was written before, never a hole or an unwritten extent.
	layout := w.command("layout", p, "--rw=write", "--bs=1m", "--iodepth=4", "--end_fsync=1", "--output-format=terse")
	layout.Timeout = slack + time.Duration(jobs*size/(4<<20))*time.Second // 4 MiB/s is a very slow disk
	main := w.command("tare", p, "--rw="+p["rw"], "--bs="+p["bs"], "--iodepth="+p["iodepth"],
		"--time_based", "--ramp_time="+milliseconds(s.Timing.Warmup), "--runtime="+milliseconds(measure),
		"--group_reporting", "--percentile_list=50:95:99", "--output-format=json+")
	main.Argv = append(main.Argv, fioLogOptions(measure)...)
	if p["direct"] == "no" {
		main.Argv = append(main.Argv, "--invalidate=0") // fio would drop from the cache what laying out has left there
	}
	if p["rw"] == "randrw" {
		main.Argv = append(main.Argv, "--rwmixread="+cmp.Or(p["reads"], "50"))
	}
	main.Timeout = limit
	return bench.Part{Prepare: []bench.Command{layout, fioLink()}, Main: main, Ramp: s.Timing.Warmup}, nil
}

// command is fio with one job description of the name on the files of p.
func (fio) command(job string, p bench.Params, options ...string) bench.Command {
	direct, engine := way(p)
	options = append([]string{"--direct=" + direct, "--ioengine=" + engine}, options...)
	return bench.Command{Argv: append([]string{"fio",
		"--name=" + job, "--directory=" + bench.ScratchDir, "--filename_format=fio.$jobnum",
		"--size=" + p["size"], "--numjobs=" + p["jobs"]}, options...)}
}

// way is how fio's options direct and ioengine are called for the way past the
// page cache or through it.
func way(p bench.Params) (direct, engine string) {
	if p["direct"] == "no" {
		return "0", "psync"
	}
	return "1", "libaio"
}

// milliseconds writes a duration for fio.
func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%dms", d.Milliseconds())
}
