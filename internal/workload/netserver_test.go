package workload

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
)

func TestNetserverSteps(t *testing.T) {
	w := netserver{}
	for test, want := range map[string]string{
		"TCP_STREAM": "-- -m 16384 -k", "TCP_MAERTS": "-- -m ,16384 -k", "TCP_RR": "-- -r 100,200 -k", "UDP_RR": "-- -r 100,200 -k",
	} {
		p := fill(t, w, bench.Params{"test": test})
		server, err := w.Steps(bench.SubjectPart, p, setting())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(server.Main.Argv, " "); !server.Service || server.Listen != 12865 || got != "netserver -D -4 -p 12865" {
			t.Errorf("server %+v", server)
		}
		load, err := w.Steps(servicePart, p, setting())
		if err != nil {
			t.Fatal(err)
		}
		length := map[bool]string{true: " -l 5 ", false: " -l 7 "}[roundTrips(test)]
		if argv := strings.Join(load.Main.Argv, " "); load.Service || !strings.Contains(argv, "-H 10.99.0.3 ") ||
			!strings.Contains(argv, "-t "+test+length) || !strings.Contains(argv, want) {
			t.Errorf("%s: %s", test, argv)
		}
		if own := len(load.Warm) == 1 && load.Warm[0].Argv[0] == "netperf"; own != roundTrips(test) || own == (load.Ramp > 0) {
			t.Errorf("%s: warm-up %+v, and %v of its run", test, load.Warm, load.Ramp)
		}
	}
}

// netserverCaptures are real outputs by their test.
var netserverCaptures = []struct {
	test, file string
	want       map[string]float64
}{
	{"TCP_STREAM", "netserver-stream.txt", map[string]float64{"throughput": 5231.502921}},
	{"TCP_MAERTS", "netserver-maerts.txt", map[string]float64{"throughput": 4922.779887}},
	{"UDP_RR", "netserver-udp-rr.txt", map[string]float64{"transactions": 18875.72, "mean_latency": 52.93, "p99_latency": 73}},
}

func TestNetserverParse(t *testing.T) {
	w := netserver{}
	for _, c := range netserverCaptures {
		p := fill(t, w, bench.Params{"test": c.test})
		out := bench.Output{Stdout: captured(t, c.file)}
		values, err := w.Parse(p, netperfSetting(500*time.Millisecond), out)
		if err != nil {
			t.Fatal(err)
		}
		checkValues(t, w, p, values)
		for metric, want := range c.want {
			if got := value(t, values, metric); math.Abs(got-want) > 1e-6*want {
				t.Errorf("%s: %s is %v, want %v", c.test, metric, got, want)
			}
		}
		if series, err := w.Series(p, netperfSetting(500*time.Millisecond), out); err != nil || len(series) != 1 {
			t.Errorf("%s: %d series, %v", c.test, len(series), err)
		}
	}
}

// Another test's output, or one of other sizes, is none of this.
func TestNetserverParseRefuses(t *testing.T) {
	w := netserver{}
	for _, c := range []struct {
		given bench.Params
		file  string
		says  string
	}{
		{bench.Params{"test": "TCP_RR"}, "netserver-stream.txt", `"10^6bits/s", not "Trans/s"`},
		{bench.Params{"test": "TCP_MAERTS"}, "netserver-stream.txt", `REMOTE_SEND_SIZE is "-1"`},
		{bench.Params{"test": "TCP_STREAM", "message-size": "1KiB"}, "netserver-stream.txt", `LOCAL_SEND_SIZE is "16384", not "1024"`},
		{bench.Params{"test": "UDP_RR", "response-size": "300"}, "netserver-udp-rr.txt", `RESPONSE_SIZE is "200", not "300"`},
	} {
		_, err := w.Parse(fill(t, w, c.given), setting(), bench.Output{Stdout: captured(t, c.file)})
		wantError(t, err, c.says)
	}
	_, err := w.Parse(fill(t, w, nil), setting(), bench.Output{Exit: 255, Stdout: captured(t, "netperf-refused.txt")})
	wantError(t, err, "exit status 255")
}

func FuzzNetserverParse(f *testing.F) {
	for i, c := range netserverCaptures {
		f.Add(i, captured(f, c.file))
		f.Add(i, bytes.ReplaceAll(captured(f, c.file), []byte("="), []byte("=-")))
	}
	f.Fuzz(func(t *testing.T, i int, stdout []byte) {
		w, n := netserver{}, len(netserverCaptures)
		p := fill(t, w, bench.Params{"test": netserverCaptures[(i%n+n)%n].test})
		if values, err := w.Parse(p, setting(), bench.Output{Stdout: stdout}); err == nil {
			checkValues(t, w, p, values)
		}
	})
}
