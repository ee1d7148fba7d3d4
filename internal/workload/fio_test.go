package workload

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"tare/internal/bench"
)

func TestFioSteps(t *testing.T) {
	w := fio{}
	steps, err := w.Steps(bench.SubjectPart, fill(t, w, bench.Params{"rw": "randrw", "jobs": "2"}), setting())
	if err != nil {
		t.Fatal(err)
	}
	for _, option := range []string{"--direct=1", "--ioengine=libaio", "--bs=4096", "--numjobs=2", "--size=268435456",
		"--ramp_time=2000ms", "--runtime=5000ms", "--time_based", "--rwmixread=50", "--output-format=json+"} {
		if !slices.Contains(steps.Main.Argv, option) {
			t.Errorf("no %s in %v", option, steps.Main.Argv)
		}
	}
	if steps.Ramp != setting().Timing.Warmup {
		t.Errorf("the window opens after %v", steps.Ramp)
	}
	if len(steps.Prepare) != 2 || !slices.Contains(steps.Prepare[0].Argv, "--rw=write") {
		t.Errorf("the files are not laid out: %+v", steps.Prepare)
	}
}

func TestFioMix(t *testing.T) {
	steps, err := fio{}.Steps(bench.SubjectPart, fill(t, fio{}, bench.Params{"rw": "randrw", "reads": "70"}), setting())
	if err != nil {
		t.Fatal(err)
	}
	if argv := steps.Main.Argv; !slices.Contains(argv, "--rwmixread=70") {
		t.Errorf("%v", argv)
	}
}

func TestFioThroughThePageCache(t *testing.T) {
	w := fio{}
	steps, err := w.Steps(bench.SubjectPart, fill(t, w, bench.Params{"direct": "no"}), setting())
	if err != nil {
		t.Fatal(err)
	}
	if argv := steps.Main.Argv; !slices.Contains(argv, "--direct=0") || !slices.Contains(argv, "--ioengine=psync") || slices.Contains(argv, "--direct=1") {
		t.Errorf("%v", argv)
	}
}

func TestFioStepsRefuses(t *testing.T) {
	w := fio{}
	for _, c := range []struct {
		given bench.Params
		param string
		says  string
	}{
		{bench.Params{"size": "3GiB"}, "size", "do not fit a disk of 2 GiB"},
		{bench.Params{"size": "1GiB", "jobs": "2"}, "size", "2 files of 1 GiB"},
		{bench.Params{"jobs": "9000000000000000000"}, "size", "do not fit"},
		{bench.Params{"direct": "no", "iodepth": "4"}, "iodepth", "4 requests in flight need direct: yes"},
		{bench.Params{"bs": "2MiB", "size": "1MiB"}, "bs", "do not fit files of 1 MiB"},
		{bench.Params{"rw": "randread", "reads": "70"}, "reads", "randread has no mix of reads and writes"},
	} {
		_, err := w.Steps(bench.SubjectPart, fill(t, w, c.given), setting())
		wantError(t, err, c.says)
		var pe *ParamError
		if !errors.As(err, &pe) || pe.Param != c.param {
			t.Errorf("%v: not a ParamError of %s", err, c.param)
		}
	}
}

func TestFioParse(t *testing.T) {
	w := fio{}
	for _, c := range []struct {
		rw   string
		want map[string]float64
	}{
		{"read", map[string]float64{"iops": 22150.566289, "bandwidth": 90.728719, "p95_latency": 35.584, "p99_latency": 43.776}},
		{"randread", map[string]float64{"iops": 21970.019987, "p99_latency": 44.288}},
		{"randwrite", map[string]float64{"iops": 15375.664894, "bandwidth": 62.978723, "p95_latency": 63.744}},
		{"randrw", map[string]float64{"iops": 8905.396402 + 8858.094604, "read_iops": 8905.396402, "write_iops": 8858.094604,
			"read_bandwidth": 36.476503, "read_p95_latency": 49.408, "write_p99_latency": 61.184}},
	} {
		t.Run(c.rw, func(t *testing.T) {
			p := fill(t, w, bench.Params{"rw": c.rw})
			values, err := w.Parse(p, setting(), bench.Output{Stdout: captured(t, "fio-"+c.rw+".json")})
			if err != nil {
				t.Fatal(err)
			}
			checkValues(t, w, p, values)
			for metric, want := range c.want {
				if got := value(t, values, metric); got != want {
					t.Errorf("%s is %v, want %v", metric, got, want)
				}
			}
		})
	}
}

func TestFioParseRefuses(t *testing.T) {
	w := fio{}
	good := captured(t, "fio-read.json")
	nospace := captured(t, "fio-nospace.json")
	for _, c := range []struct {
		name string
		rw   string
		out  bench.Output
		says []string
	}{
		{"no space", "write", bench.Output{Exit: 1, Stdout: nospace, Stderr: captured(t, "fio-nospace.err")},
			[]string{"exit status 1", "No space left on device"}},
		{"an error in the report alone", "write", bench.Output{Stdout: nospace, Stderr: captured(t, "fio-nospace.err")},
			[]string{"error 28", "No space left on device"}},
		{"no directory", "read", bench.Output{Exit: 1, Stderr: captured(t, "fio-nodir.txt")}, []string{"No such file or directory"}},
		{"bad option", "read", bench.Output{Exit: 1, Stderr: captured(t, "fio-badoption.txt")}, []string{"Did you mean size?"}},
		{"no report", "read", bench.Output{Stdout: []byte("hello")}, []string{`no report in "hello"`}},
		{"cut off", "read", bench.Output{Stdout: good[:3000]}, []string{"unexpected EOF"}},
		{"the other direction", "write", bench.Output{Stdout: good}, []string{"writes: none finished"}},
		{"through the page cache", "read", bench.Output{Stdout: bytes.Replace(good, []byte(`"direct" : "1"`), []byte(`"direct" : "0"`), 1)},
			[]string{`direct="0"`}},
		{"no percentile", "read", bench.Output{Stdout: bytes.ReplaceAll(good, []byte(`"99.000000"`), []byte(`"98.000000"`))},
			[]string{"percentile 99.000000: not found"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := w.Parse(fill(t, w, bench.Params{"rw": c.rw}), setting(), c.out)
			wantError(t, err, c.says...)
		})
	}
}

func FuzzFioParse(f *testing.F) {
	for _, rw := range []string{"read", "randread", "randwrite", "randrw"} {
		f.Add(rw, captured(f, "fio-"+rw+".json"))
	}
	f.Add("write", captured(f, "fio-nospace.json"))
	f.Fuzz(func(t *testing.T, rw string, stdout []byte) {
		w := fio{}
		p, err := Fill(w, bench.Params{"rw": rw})
		if err != nil {
			t.Skip("not an access pattern")
		}
		if values, err := w.Parse(p, setting(), bench.Output{Stdout: stdout}); err == nil {
			checkValues(t, w, p, values)
		}
	})
}
