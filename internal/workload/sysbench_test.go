package workload

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
)

func TestSysbenchSteps(t *testing.T) {
	w := sysbenchCPU{}
	p := fill(t, w, bench.Params{"threads": "4"})
	steps, err := w.Steps(bench.SubjectPart, p, setting())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"sysbench", "cpu", "--threads=4", "--cpu-max-prime=10000", "--time=7", "--report-checkpoints=2", "--events=0", "--percentile=95", "--histogram=on", "run"}
	if !slices.Equal(steps.Main.Argv, want) || len(steps.Warm) != 0 || steps.Begin != sysbenchCheckpoint {
		t.Errorf("%+v", steps)
	}
	want = slices.Delete(want, 5, 6)
	want[4] = "--time=5"
	if steps, err = w.Steps(bench.SubjectPart, p, unwarmed()); err != nil || !slices.Equal(steps.Main.Argv, want) || steps.Begin != "" {
		t.Errorf("no warm-up asked for: %+v, %v", steps, err)
	}
}

// unwarmed is a setting without a warm-up.
func unwarmed() bench.Setting {
	s := setting()
	s.Timing.Warmup = 0
	return s
}

// As many threads are started as come nearest to the share of all; a share that none comes near is refused.
func TestSysbenchShare(t *testing.T) {
	s := bench.Setting{Timing: bench.Timing{Measure: time.Second}}
	for _, c := range []struct{ threads, share, want string }{
		{"32", "1", "--threads=1"}, {"32", "30", "--threads=10"}, {"32", "60", "--threads=19"}, {"32", "99", "--threads=32"},
		{"2", "99", "--threads=2"},
		{"2", "30", "30 % of the threads, of which there are 2: the nearest is 1, which is 50 %"},
		{"8", "1", "1 % of the threads, of which there are 8: the nearest is 1, which is 12 %"},
	} {
		part, err := sysbenchCPU{}.Steps(bench.SubjectPart, fill(t, sysbenchCPU{}, bench.Params{"threads": c.threads, "share": c.share}), s)
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		if !slices.Contains(part.Main.Argv, c.want) {
			t.Errorf("%+v: %v", c, part.Main.Argv)
		}
	}
}

func TestSysbenchParse(t *testing.T) {
	w := sysbenchCPU{}
	p := fill(t, w, nil)
	for _, c := range []struct {
		file string
		set  bench.Setting
		want map[string]float64
	}{
		{"sysbench.txt", unwarmed(), map[string]float64{"throughput": 10431.262805456998, "mean_latency": 0.19, "p95_latency": 0.2027485}},
		{"sysbench-warm.txt", setting(), map[string]float64{"throughput": 3464 / (3.0118 - 1.0056), "mean_latency": 1.15, "p95_latency": 4.65}},
	} {
		values, err := w.Parse(p, c.set, bench.Output{Stdout: captured(t, c.file)})
		if err != nil {
			t.Fatal(err)
		}
		checkValues(t, w, p, values)
		for metric, want := range c.want {
			if got := value(t, values, metric); math.Abs(got/want-1) > 0.002 {
				t.Errorf("%s: %s is %v, want %v", c.file, metric, got, want)
			}
		}
	}
}

// At the end of its warm-up sysbench empties its count and its histogram one after the other.
func TestSysbenchMayMissAFewEventsAtTheEndOfItsWarmUp(t *testing.T) {
	for file, misses := range map[string]map[int]bool{"sysbench.txt": {0: true, 1: false}, "sysbench-warm.txt": {0: true, 10: true, 200: false}} {
		for more, fine := range misses {
			r, err := sysbenchRun(captured(t, file))
			if err != nil {
				t.Fatal(err)
			}
			r.events += float64(more)
			if _, err := r.times(captured(t, file)); (err == nil) != fine {
				t.Errorf("%s, %d more: %v", file, more, err)
			}
		}
	}
}

func TestSysbenchParseRefuses(t *testing.T) {
	cut := bytes.Index(captured(t, "sysbench.txt"), []byte("total number"))
	for _, c := range []struct {
		name string
		out  bench.Output
		says []string
	}{
		{"bad option", bench.Output{Exit: 1, Stderr: captured(t, "sysbench-badoption.txt")},
			[]string{"exit status 1", "Invalid value for --threads: 0"}},
		{"no result printed", bench.Output{Stdout: captured(t, "sysbench-quiet.txt")}, []string{"events per second", "nothing"}},
		{"latency below its resolution", bench.Output{Stdout: captured(t, "sysbench-short.txt")}, []string{`"avg"`, "not above zero"}},
		{"cut off", bench.Output{Stdout: captured(t, "sysbench.txt")[:cut]}, []string{"total number of events"}},
		{"killed", bench.Output{Exit: 137, Signal: "killed", TimedOut: true}, []string{"killed at its deadline", "printed nothing"}},
		{"no warm-up told of", bench.Output{Stdout: captured(t, "sysbench.txt")}, []string{`"Checkpoint report:": not found`}},
		{"warmed up until the end", bench.Output{Stdout: bytes.Replace(captured(t, "sysbench-warm.txt"), []byte("1.0056s"), []byte("3.0118s"), 1)}, []string{`warmed up until "3.0118s" of 3.0118 s`}},
		{"truncated", bench.Output{Stdout: captured(t, "sysbench.txt"), Truncated: true}, []string{"more than is kept"}},
		{"inconsistent", bench.Output{Stdout: []byte("events per second: 100\ntotal time: 2s\ntotal number of events: 100\navg: 1\n95th percentile: 1\n")},
			[]string{"100 events in 2 s are not 100"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := unwarmed()
			if strings.Contains(c.name, "warm") {
				set = setting()
			}
			_, err := sysbenchCPU{}.Parse(fill(t, sysbenchCPU{}, nil), set, c.out)
			wantError(t, err, c.says...)
		})
	}
}

func FuzzSysbenchParse(f *testing.F) {
	for _, name := range []string{"sysbench.txt", "sysbench-warm.txt", "sysbench-short.txt", "sysbench-badoption.txt"} {
		f.Add(captured(f, name))
	}
	f.Fuzz(func(t *testing.T, stdout []byte) {
		w := sysbenchCPU{}
		p := fill(t, w, nil)
		for _, s := range []bench.Setting{setting(), unwarmed()} {
			if values, err := w.Parse(p, s, bench.Output{Stdout: stdout}); err == nil {
				checkValues(t, w, p, values)
			}
		}
	})
}
