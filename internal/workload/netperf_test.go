package workload

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
)

func TestNetperfSteps(t *testing.T) {
	w := netperf{}
	server, err := w.Steps("server", fill(t, w, nil), setting())
	if err != nil {
		t.Fatal(err)
	}
	if !server.Service || server.Listen != 12865 {
		t.Errorf("server %+v", server)
	}
	if want := "netserver -D -4 -L 10.99.0.2 -p 12865"; strings.Join(server.Main.Argv, " ") != want {
		t.Errorf("server %v", server.Main.Argv)
	}
	for _, c := range []struct{ test, buffer, want string }{
		{"TCP_STREAM", "0", "-- -m 1024 -k"},
		{"TCP_MAERTS", "0", "-- -m ,1024 -k"},
		{"TCP_MAERTS", "256KiB", "-- -m ,1024 -s 262144 -S 262144 -k"},
		{"TCP_RR", "0", "-- -r 1024,1024 -k"},
	} {
		test, want := c.test, c.want
		steps, err := w.Steps(bench.SubjectPart, fill(t, w, bench.Params{"test": test, "socket-buffer": c.buffer}), setting())
		if err != nil {
			t.Fatal(err)
		}
		stream := test == "TCP_STREAM"
		length := map[bool]string{true: " -l 7 ", false: " -l 5 "}[stream] // of one process, or of the second
		if argv := strings.Join(steps.Main.Argv, " "); !strings.Contains(argv, want) || !strings.Contains(argv, "-t "+test+length) {
			t.Errorf("%s: %s", test, argv)
		}
		if argv := steps.Main.Argv; argv[0] != "sh" || !slices.Equal(argv[3:8], []string{"sh", "netperf", "-D", "0.1", "-4"}) {
			t.Errorf("%s: it prints into the wire: %q", test, argv)
		}
		if stream && (len(steps.Warm) != 0 || steps.Ramp != 2*time.Second) {
			t.Errorf("%s: warm-up %+v, and %v of its run", test, steps.Warm, steps.Ramp)
		}
		if !stream && (len(steps.Warm) != 1 || steps.Warm[0].Argv[0] != "netperf" || !slices.Contains(steps.Warm[0].Argv, "2") || steps.Ramp != 0) {
			t.Errorf("%s: warm-up %+v, and %v of its run", test, steps.Warm, steps.Ramp)
		}
	}
	s := setting()
	s.Addr = nil
	if _, err := w.Steps(bench.SubjectPart, fill(t, w, nil), s); !errors.Is(err, bench.ErrInvalid) {
		t.Errorf("no server: %v", err)
	}
}

func TestNetperfParse(t *testing.T) {
	w := netperf{}
	for _, c := range []struct {
		file  string
		warm  time.Duration
		given bench.Params
		want  map[string]float64
	}{
		{"netperf-stream.txt", 0, bench.Params{"message-size": "16KiB"}, map[string]float64{"throughput": 5717.97}},
		{"netperf-series-stream.txt", 500 * time.Millisecond, bench.Params{"message-size": "16KiB"}, map[string]float64{"throughput": 18545.813636}},
		{"netserver-maerts.txt", 500 * time.Millisecond, bench.Params{"test": "TCP_MAERTS", "message-size": "16KiB"}, map[string]float64{"throughput": 4824.80}},
		{"netperf-rr.txt", 500 * time.Millisecond, bench.Params{"test": "TCP_RR"},
			map[string]float64{"transactions": 29445.70, "mean_latency": 33.93, "p99_latency": 64}},
	} {
		t.Run(c.file, func(t *testing.T) {
			p := fill(t, w, c.given)
			values, err := w.Parse(p, netperfSetting(c.warm), bench.Output{Stdout: captured(t, c.file)})
			if err != nil {
				t.Fatal(err)
			}
			checkValues(t, w, p, values)
			for metric, want := range c.want {
				if got := value(t, values, metric); math.Abs(got-want) > 1e-6*want {
					t.Errorf("%s is %v, want %v", metric, got, want)
				}
			}
		})
	}
}

// netperfSetting is for a run of two seconds, of which the first warm up.
func netperfSetting(warm time.Duration) bench.Setting {
	s := setting()
	s.Timing.Warmup, s.Timing.Measure = warm, 2*time.Second-warm
	return s
}

func TestNetperfParseRefuses(t *testing.T) {
	w := netperf{}
	rr, series := captured(t, "netperf-rr.txt"), captured(t, "netperf-series-stream.txt")
	for _, c := range []struct {
		name  string
		given bench.Params
		out   bench.Output
		says  []string
	}{
		{"refused", nil, bench.Output{Exit: 255, Stdout: captured(t, "netperf-refused.txt")}, []string{"exit status 255", "10.99.0.2 port 12866"}},
		{"unknown test", nil, bench.Output{Exit: 1, Stdout: captured(t, "netperf-badtest.txt")}, []string{"TCP_XX"}},
		{"another test's output", nil, bench.Output{Stdout: rr}, []string{`"Trans/s"`, `"10^6bits/s"`}},
		{"another way", bench.Params{"test": "TCP_MAERTS"}, bench.Output{Stdout: captured(t, "netperf-stream.txt")}, []string{`REMOTE_SEND_SIZE is "", not "1024"`}},
		{"another size", bench.Params{"test": "TCP_RR", "message-size": "1"}, bench.Output{Stdout: rr}, []string{`REQUEST_SIZE is "1024", not "1"`}},
		{"no percentile", bench.Params{"test": "TCP_RR"}, bench.Output{Stdout: bytes.Replace(rr, []byte("P99_"), []byte("P98_"), 1)},
			[]string{"P99_LATENCY: not found"}},
		{"not a number", bench.Params{"test": "TCP_RR"}, bench.Output{Stdout: bytes.Replace(rr, []byte("33.93"), []byte("-"), 1)},
			[]string{"MEAN_LATENCY", `"-"`}},
		{"twice", bench.Params{"test": "TCP_RR"}, bench.Output{Stdout: append(slices.Clone(rr), rr...)}, []string{"found twice"}},
		{"nothing", nil, bench.Output{}, []string{"nothing"}},
		{"no interim results", bench.Params{"message-size": "16KiB"}, bench.Output{Stdout: captured(t, "netperf-stream.txt")}, []string{"the mean of 0 interim results"}},
		{"too short", bench.Params{"message-size": "16KiB"}, bench.Output{Stdout: series}, []string{"end before the 5s after the warm-up of 2s"}},
		{"another mean", bench.Params{"message-size": "16KiB"}, bench.Output{Stdout: bytes.Replace(series, []byte("THROUGHPUT=18"), []byte("THROUGHPUT=28"), 1)},
			[]string{"the mean of 20 interim results is 18403.2, that of the run 28392.2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := w.Parse(fill(t, w, c.given), setting(), c.out)
			wantError(t, err, c.says...)
		})
	}
}

func FuzzNetperfParse(f *testing.F) {
	f.Add(false, captured(f, "netperf-stream.txt"))
	f.Add(true, captured(f, "netperf-rr.txt"))
	f.Add(true, captured(f, "netperf-refused.txt"))
	f.Fuzz(func(t *testing.T, rr bool, stdout []byte) {
		w := netperf{}
		given := bench.Params{"message-size": "16KiB"}
		if rr {
			given = bench.Params{"test": "TCP_RR"}
		}
		p := fill(t, w, given)
		if values, err := w.Parse(p, setting(), bench.Output{Stdout: stdout}); err == nil {
			checkValues(t, w, p, values)
		}
	})
}
