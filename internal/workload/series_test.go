package workload

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"time"

	"tare/internal/bench"
)

// seriesCases are outputs of programs that tell how they went on.
var seriesCases = []struct {
	w       bench.Progresser
	file    string
	given   bench.Params
	measure time.Duration
	metric  string
	step    float64
	n       int
	first   float64
	warm    time.Duration
}{
	{sysbenchCPU{}, "sysbench-series.txt", nil, 12 * time.Second, "throughput", 1, 12, 1835.30, 0},
	{sysbenchCPU{}, "sysbench-warm-series.txt", nil, 10 * time.Second, "throughput", 1, 10, 1458.73, 2 * time.Second},
	{workingSet{}, "workingset-series.txt", nil, 3 * time.Second, "requests", 0.1, 29, (4465.6 + 1666.2) / 0.1, 0},
	{fio{}, "fio-series.json", bench.Params{"rw": "randread"}, 2 * time.Second, "iops", 0.1, 20, 18930, 0},
	{fio{}, "fio-series-two-jobs.json", bench.Params{"rw": "randrw"}, 2 * time.Second, "iops", 0.1, 20, 0, 0},
	{netperf{}, "netperf-series-stream.txt", bench.Params{"message-size": "16KiB"}, 2 * time.Second, "throughput", 0.1, 20, 0, 0},
	{netperf{}, "netperf-series-stream.txt", bench.Params{"message-size": "16KiB"}, 1500 * time.Millisecond, "throughput", 0.1, 15, 0, 500 * time.Millisecond},
	{netperf{}, "netperf-series-rr.txt", bench.Params{"test": "TCP_RR"}, 2 * time.Second, "transactions", 0.1, 20, 0, 500 * time.Millisecond},
	{jvm{}, "jvm.txt", nil, 5 * time.Second, "transactions", 0.1, 50, 14378 / 0.100117873, 0},
}

// The mean of a series is what the program says of the whole.
func TestSeriesAddUpToTheFigure(t *testing.T) {
	for _, c := range seriesCases {
		t.Run(c.file, func(t *testing.T) {
			s := setting()
			s.Timing.Warmup, s.Timing.Measure = c.warm, c.measure
			w := c.w.(bench.Workload)
			p := fill(t, w, c.given)
			out := bench.Output{Stdout: captured(t, c.file)}
			values, err := w.Parse(p, s, out)
			if err != nil {
				t.Fatal(err)
			}
			all, err := c.w.Series(p, s, out)
			if err != nil || len(all) != 1 {
				t.Fatalf("%d series: %v", len(all), err)
			}
			got := all[0]
			if got.Metric != c.metric || got.Step != c.step || len(got.Values) != c.n {
				t.Errorf("%d values of %s each %v s, want %d of %s each %v s", len(got.Values), got.Metric, got.Step, c.n, c.metric, c.step)
			}
			mean, figure := 0.0, value(t, values, c.metric)
			for _, v := range got.Values {
				mean += v / float64(len(got.Values))
			}
			t.Logf("mean %.6g, figure %.6g, first %.6g", mean, figure, got.Values[0])
			if math.Abs(mean/figure-1) > 0.02 {
				t.Errorf("the mean is %v, the figure %v", mean, figure)
			}
			if c.first != 0 && math.Abs(got.Values[0]/c.first-1) > 1e-9 {
				t.Errorf("the first value is %v, want %v", got.Values[0], c.first)
			}
		})
	}
}

// Each series is of a metric that adds up over subjects.
func TestSeriesAreOfRates(t *testing.T) {
	for _, c := range seriesCases {
		w := c.w.(bench.Workload)
		metrics, err := w.Metrics(fill(t, w, c.given))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(metrics, func(m bench.Metric) bool {
			return m.Name == c.metric && m.Combine == bench.Sum && m.Better == bench.HigherIsBetter
		}) {
			t.Errorf("%s: %s is no rate among its metrics", c.file, c.metric)
		}
	}
}

// A stall leaves no lines in fio's log. A line that is late reaches back to the one before or to the
// window's start, the last one on to its end, and a time that is not later begins the next job.
func TestFioSeriesOfAStall(t *testing.T) {
	s := setting()
	s.Timing.Measure = time.Second
	log := "note: both iodepth\n250, 100, 0, 0, 0\n350, 200, 0, 0, 0\n850, 300, 0, 0, 0\n985, 400, 0, 0, 0\n100, 10, 0, 0, 0\n{}"
	all, err := fio{}.Series(fill(t, fio{}, nil), s, bench.Output{Stdout: []byte(log)})
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	want := []float64{110, 100, 150, 100, 0, 0, 0, 150, 350, 400}
	for i, v := range all[0].Values {
		if math.Abs(v-want[i]) > 1e-6 {
			t.Fatalf("%v, want %v", all[0].Values, want)
		}
	}
}

// A program that was asked for none, or gave none, has none. Its figures count all the same.
func TestNoSeries(t *testing.T) {
	for file, w := range map[string]bench.Progresser{"sysbench.txt": sysbenchCPU{}, "workingset.txt": workingSet{}, "fio-read.json": fio{}, "netperf-rr.txt": netperf{}} {
		all, err := w.Series(nil, setting(), bench.Output{Stdout: captured(t, file)})
		if err != nil || len(all) != 0 {
			t.Errorf("%s: %v, %v", file, all, err)
		}
	}
	s := setting()
	s.Timing.Measure = 3 * time.Second
	steps, err := sysbenchCPU{}.Steps(bench.SubjectPart, fill(t, sysbenchCPU{}, nil), s)
	if err != nil || slices.Contains(steps.Main.Argv, "--report-interval=1") {
		t.Errorf("three seconds are too few for sysbench's series: %v, %v", steps.Main.Argv, err)
	}
}

func TestSeriesRefuse(t *testing.T) {
	change := func(file, old, new string) []byte {
		good := captured(t, file)
		if !bytes.Contains(good, []byte(old)) {
			t.Fatalf("no %q in %s", old, file)
		}
		return bytes.Replace(good, []byte(old), []byte(new), 1)
	}
	for _, c := range []struct {
		says   string
		w      bench.Progresser
		given  bench.Params
		stdout []byte
	}{
		{"not of second 2", sysbenchCPU{}, nil, change("sysbench-series.txt", "[ 2s ]", "[ 3s ]")},
		{`no "eps"`, sysbenchCPU{}, nil, change("sysbench-series.txt", "eps", "tps")},
		{`"x1835.30": not a number`, sysbenchCPU{}, nil, change("sysbench-series.txt", "1835.30", "x1835.30")},
		{`"4465.6x": not a number`, workingSet{}, nil, change("workingset-series.txt", "4465.6", "4465.6x")},
		{"series of requests: -", workingSet{}, nil, change("workingset-series.txt", "4465.6", "-4465.6")},
		{`"18930x": not a number`, fio{}, nil, change("fio-series.json", "18930", "18930x")},
		{`"x100": not a number`, fio{}, nil, change("fio-series.json", "100,", "x100,")},
		{"series of iops: -18930", fio{}, nil, change("fio-series.json", "18930", "-18930")},
		{"it is number 3", netperf{}, nil, change("netperf-series-stream.txt", "RESULT[3]", "RESULT[4]")},
		{`the unit is not "Trans/s"`, netperf{}, bench.Params{"test": "TCP_RR"}, captured(t, "netperf-series-stream.txt")},
		{"it ends no later than the one before", netperf{}, nil, change("netperf-series-stream.txt", "ENDING[3]=1", "ENDING[3]=0")},
		{"not a number", netperf{}, nil, change("netperf-series-stream.txt", "INTERVAL[3]=", "INTERVAL[3]=x")},
	} {
		_, err := c.w.Series(c.given, setting(), bench.Output{Stdout: c.stdout})
		wantError(t, err, c.says)
	}
}

func FuzzSeries(f *testing.F) {
	for i, c := range seriesCases {
		f.Add(i, captured(f, c.file))
	}
	f.Fuzz(func(t *testing.T, i int, stdout []byte) {
		c := seriesCases[uint(i)%uint(len(seriesCases))]
		s := setting()
		s.Timing.Warmup, s.Timing.Measure = c.warm, c.measure
		all, err := c.w.Series(c.given, s, bench.Output{Stdout: stdout})
		for _, x := range all {
			if bad := x.Check(); bad != nil || err != nil || x.Metric != c.metric {
				t.Errorf("%v, %v of %s", bad, err, x.Metric)
			}
		}
	})
}
