package workload

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"tare/internal/bench"
)

// applications are the workloads that load a real server, with a real output of each and what it says.
var applications = []struct {
	w      bench.Workload
	given  bench.Params
	server string // begins its command line
	load   string // is in the load's
	file   string
	want   map[string]float64
}{
	{redis{}, nil, "redis-server --port 6379 --bind 0.0.0.0 --protected-mode no --daemonize no --dir /scratch --save  --appendonly no",
		"redis-benchmark -h 10.99.0.3 -p 6379 -c 50 -P 1 -d 64 -r 1000 --threads 2 --precision 3 --csv -t get",
		"redis-get.txt", map[string]float64{"requests": 86788.04, "mean_latency": 0.301, "p95_latency": 0.383, "p99_latency": 0.463}},
	{redis{}, bench.Params{"command": "set", "persistence": "always"}, "redis-server --port 6379 --bind 0.0.0.0 --protected-mode no --daemonize no --dir /scratch --save  --appendonly yes --appendfsync always",
		"-t set", "redis-set.txt", map[string]float64{"requests": 78985.24, "p99_latency": 0.567}},
	{web{}, nil, "nginx -c /scratch/web.conf", "wrk --threads 2 --connections 16 --duration 5s --timeout 10s --latency http://10.99.0.3:8080/document",
		"wrk.txt", map[string]float64{"requests": 54080.32, "mean_latency": 0.30146, "p90_latency": 0.321, "p99_latency": 0.466}},
	{web{}, bench.Params{"server": "apache2", "keep-alive": "no", "connections": "1"}, "apache2 -f /scratch/web.conf -DFOREGROUND",
		"wrk --threads 1 --connections 1 --duration 5s --timeout 10s --latency --header Connection: close http://", "wrk.txt", nil},
	{oltp{}, nil, "mariadbd --no-defaults --user=root --datadir=/scratch/db --bind-address=0.0.0.0",
		"sysbench /scratch/oltp.lua --db-driver=mysql --mysql-host=10.99.0.3 --mysql-port=3306 --mysql-user=root --mysql-db=test --tables=1 --table-size=10000 --threads=4 --warm=3 --thread-init-timeout=122 --time=5", "oltp.txt",
		map[string]float64{"transactions": 3172.0 / 3.0058, "mean_latency": 3.79}},
}

func TestApplicationSteps(t *testing.T) {
	for _, c := range applications {
		p := fill(t, c.w, c.given)
		server, err := c.w.Steps(bench.SubjectPart, p, setting())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(server.Main.Argv, " "); !server.Service || server.Listen == 0 || !strings.HasPrefix(got, c.server) {
			t.Errorf("%s: service %v on %d: %q", c.w.Name(), server.Service, server.Listen, got)
		}
		load, err := c.w.Steps(servicePart, p, setting())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(load.Main.Argv, " "); load.Service || !strings.Contains(got, c.load) {
			t.Errorf("%s: load %q, want %q", c.w.Name(), got, c.load)
		}
		if _, named := c.w.(bench.Familied); !named {
			t.Errorf("%s: no family of images", c.w.Name())
		}
		s := setting()
		s.Addr = nil
		if _, err := c.w.Steps(servicePart, p, s); !errors.Is(err, bench.ErrUnavailable) {
			t.Errorf("%s: without an address: %v", c.w.Name(), err)
		}
	}
}

func TestApplicationParse(t *testing.T) {
	for _, c := range applications {
		p := fill(t, c.w, c.given)
		out := bench.Output{Stdout: captured(t, c.file)}
		values, err := c.w.Parse(p, setting(), out)
		if err != nil {
			t.Fatalf("%s: %v", c.file, err)
		}
		checkValues(t, c.w, p, values)
		for metric, want := range c.want {
			if got := value(t, values, metric); got < want*0.999999 || got > want*1.000001 {
				t.Errorf("%s: %s is %v, want %v", c.file, metric, got, want)
			}
		}
		if h, is := c.w.(bench.Histogrammer); is {
			hs, err := h.Histograms(p, setting(), out)
			checkHistograms(t, hs, err)
		}
	}
}

func TestApplicationParseRefuses(t *testing.T) {
	redisOut, wrkOut, oltpOut := captured(t, "redis-get.txt"), captured(t, "wrk.txt"), captured(t, "oltp.txt")
	for _, c := range []struct {
		name  string
		w     bench.Workload
		given bench.Params
		out   bench.Output
		says  []string
	}{
		{"killed before it began", redis{}, nil, bench.Output{}, []string{`"redis begins": not found in nothing`}},
		{"another command", redis{}, bench.Params{"command": "set"}, bench.Output{Stdout: redisOut}, []string{`not one row of "set"`}},
		{"no such column", redis{}, nil, bench.Output{Stdout: bytes.Replace(redisOut, []byte(`"rps"`), []byte(`"qps"`), 1)}, []string{`column "rps": not found`}},
		{"not a number", redis{}, nil, bench.Output{Stdout: bytes.Replace(redisOut, []byte("86788.04"), []byte("inf"), 1)}, []string{`rps: "inf"`}},
		{"cut", redis{}, nil, bench.Output{Stdout: redisOut[:len(redisOut)-30]}, []string{"redis-benchmark: "}},
		{"refused", redis{}, nil, bench.Output{Exit: 111, Stderr: []byte("Could not connect to Redis at 10.99.0.3:6379: Connection refused\n")}, []string{"exit status 111", "Connection refused"}},
		{"no such document", web{}, nil, bench.Output{Stdout: captured(t, "wrk-404.txt")}, []string{"111292 of 111292 requests failed", "more than 1 %"}},
		{"nobody answers", web{}, nil, bench.Output{Stdout: captured(t, "wrk-none.txt")}, []string{"no request was answered"}},
		{"refused", web{}, nil, bench.Output{Exit: 1, Stderr: captured(t, "wrk-refused.txt")}, []string{"exit status 1", "Connection refused"}},
		{"sockets", web{}, nil, bench.Output{Stdout: append(slices.Clone(wrkOut), "  Socket errors: connect 0, read 7, write 0, timeout 2000\n"...)}, []string{"2007 of 167640"}},
		{"not a time", web{}, nil, bench.Output{Stdout: bytes.Replace(wrkOut, []byte("301.46us"), []byte("301.46kg"), 1)}, []string{`mean_latency: "301.46kg": not a time`}},
		{"no percentile", web{}, nil, bench.Output{Stdout: bytes.Replace(wrkOut, []byte("     99%"), []byte("     98%"), 1)}, []string{"p99_latency: not found"}},
		{"twice", web{}, nil, bench.Output{Stdout: append(slices.Clone(wrkOut), wrkOut...)}, []string{"found twice"}},
		{"cut", oltp{}, nil, bench.Output{Stdout: oltpOut[:len(oltpOut)-400]}, []string{"sysbench: "}},
		{"lost", oltp{}, nil, bench.Output{Exit: 1, Stderr: []byte("FATAL: mysql_stmt_execute() returned error 2013")}, []string{"exit status 1", "2013"}},
	} {
		t.Run(c.w.Name()+" "+c.name, func(t *testing.T) {
			_, err := c.w.Parse(fill(t, c.w, c.given), setting(), c.out)
			wantError(t, err, c.says...)
		})
	}
	if _, err := (web{}).Parse(fill(t, web{}, bench.Params{"errors": "100"}), setting(), bench.Output{Stdout: captured(t, "wrk-404.txt")}); err != nil {
		t.Errorf("all may fail: %v", err)
	}
	_, err := Fill(web{}, bench.Params{"document": "17MiB"})
	wantError(t, err, `"document"`, "must be at most 16 MiB")
}

// The document is what was asked for, and the same each time.
func TestDocument(t *testing.T) {
	for _, n := range []int64{1, 1000, 100_000} {
		if a, b := document(n), document(n); int64(len(a)) != n || !bytes.Equal(a, b) {
			t.Errorf("%d and %d bytes, alike %v", len(a), len(b), bytes.Equal(a, b))
		}
	}
}

func FuzzApplicationParse(f *testing.F) {
	for i, c := range applications {
		f.Add(i, captured(f, c.file))
	}
	f.Add(2, captured(f, "wrk-404.txt"))
	f.Add(2, captured(f, "wrk-none.txt"))
	f.Fuzz(func(t *testing.T, i int, stdout []byte) {
		n := len(applications)
		c := applications[(i%n+n)%n]
		p := fill(t, c.w, c.given)
		if values, err := c.w.Parse(p, setting(), bench.Output{Stdout: stdout}); err == nil {
			checkValues(t, c.w, p, values)
		}
	})
}
