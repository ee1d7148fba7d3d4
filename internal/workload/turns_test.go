package workload

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
)

// What real programs count, over the time that they say, is the rate that they print.
func TestCounted(t *testing.T) {
	for _, c := range []struct {
		workload string
		params   bench.Params
		file     string
		rate     float64 // by the file
		within   float64 // of 1: what the file's digits leave
		took     time.Duration
	}{
		{"fio", bench.Params{"rw": "randread"}, "fio-randread.json", 21970.02, 0.002, 1501 * time.Millisecond},
		{"fio", bench.Params{"rw": "randrw"}, "fio-randrw.json", 8905.40 + 8858.09, 0.002, 1501 * time.Millisecond},
		{"netperf", bench.Params{"test": "TCP_RR"}, "netperf-rr.txt", 29445.70, 1e-9, 2 * time.Second},
		{"netperf", bench.Params{"test": "TCP_MAERTS"}, "netserver-maerts.txt", 4824.80, 1e-9, 2 * time.Second},
		{"sysbench-cpu", nil, "sysbench.txt", 10428.03, 0.002, 2001100 * time.Microsecond},
	} {
		t.Run(c.file, func(t *testing.T) {
			w, err := Find(c.workload)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile("testdata/" + c.file)
			if err != nil {
				t.Fatal(err)
			}
			counter := w.(bench.Counter)
			if err := counter.Countless(c.params); err != nil {
				t.Error(err)
			}
			work, took, err := counter.Counted(c.params, bench.Output{Stdout: text})
			if err != nil {
				t.Fatal(err)
			}
			if got := work / took.Seconds(); math.Abs(got/c.rate-1) > c.within || took != c.took {
				t.Errorf("%v in %v are %v a second, want %v in %v", work, took, got, c.rate, c.took)
			}
		})
	}
}

// Programs that say nothing, or that they counted nothing, are errors.
func TestNotCounted(t *testing.T) {
	for _, c := range []struct {
		workload string
		params   bench.Params
		text     string
		want     string
	}{
		{"fio", bench.Params{"rw": "randread"}, `{"jobs": [{"read": {"total_ios": 5, "runtime": 0}}]}`, "fio: 5 counted in 0 s"},
		{"fio", bench.Params{"rw": "randread"}, `{"jobs": [{"read": {"total_ios": 0, "runtime": 7}}]}`, "fio: 0 counted"},
		{"fio", bench.Params{"rw": "randread"}, `{"jobs": [{"read": {"total_ios": 5, "runtime": 999999999999}}]}`, "fio: 5 counted in 9.99999999999e+08 s"},
		{"fio", bench.Params{"rw": "randread"}, "no", "no report"},
		{"netperf", bench.Params{"test": "TCP_RR"}, "THROUGHPUT=5\n", "ELAPSED_TIME"},
		{"netperf", bench.Params{"test": "TCP_RR"}, "THROUGHPUT=five\nELAPSED_TIME=1\n", "THROUGHPUT"},
		{"sysbench-cpu", nil, "total time: 1s\n", "total number of events"},
	} {
		w, err := Find(c.workload)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = w.(bench.Counter).Counted(c.params, bench.Output{Stdout: []byte(c.text)})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q: %v, want %q", c.workload, c.text, err, c.want)
		}
	}
}

// A stream out of the instance may end at any freeze, one into it goes on.
func TestCountless(t *testing.T) {
	w, err := Find("netperf")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.(bench.Counter).Countless(bench.Params{"test": "TCP_STREAM"}); err == nil || bench.HintOf(err) == "" {
		t.Errorf("TCP_STREAM: %v", err)
	}
	for _, test := range []string{"TCP_MAERTS", "TCP_RR"} {
		if err := w.(bench.Counter).Countless(bench.Params{"test": test}); err != nil {
			t.Errorf("%s: %v", test, err)
		}
	}
}

func FuzzCounted(f *testing.F) {
	for _, file := range []string{"fio-randrw.json", "netperf-rr.txt", "sysbench.txt"} {
		text, err := os.ReadFile("testdata/" + file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for name, params := range map[string]bench.Params{"fio": {"rw": "randrw"}, "netperf": {"test": "TCP_RR"}, "sysbench-cpu": nil} {
			w, err := Find(name)
			if err != nil {
				t.Fatal(err)
			}
			work, took, err := w.(bench.Counter).Counted(params, bench.Output{Stdout: text})
			if err == nil && (!(work > 0) || took < 0 || took > longest) {
				t.Errorf("%s: %v in %v", name, work, took)
			}
		}
	})
}
