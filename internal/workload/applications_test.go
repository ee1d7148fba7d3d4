package workload

import (
	"bytes"
	"errors"
	"fmt"
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
	{ycsb{}, nil, "redis-server --port 6379", "java -cp /usr/share/ycsb/*:/scratch/ycsb site.ycsb.Client -t -db Redis -threads 4 -p workload=site.ycsb.workloads.CoreWorkload -p redis.host=10.99.0.3 -p redis.port=6379 -p warm=2000",
		"ycsb-a.txt", map[string]float64{"operations": 59441 / 2.954119}},
	{ycsb{}, bench.Params{"workload": "f"}, "redis-server", "-p maxexecutiontime=7 -p recordcount=10000 -p operationcount=2000000000 -p readproportion=0.5 -p updateproportion=0 -p readmodifywriteproportion=0.5",
		"ycsb-f.txt", map[string]float64{"operations": 41008 / 2.931749}},
	{ycsb{}, bench.Params{"workload": "load", "threads": "1"}, "redis-server", "site.ycsb.Client -load -db Redis -threads 1",
		"ycsb-load.txt", nil},
	{web{}, nil, "nginx -c /scratch/web.conf", "wrk --threads 2 --connections 16 --duration 5s --timeout 10s --latency http://10.99.0.3:8080/document",
		"wrk.txt", map[string]float64{"requests": 54080.32, "mean_latency": 0.30146, "p90_latency": 0.321, "p99_latency": 0.466}},
	{web{}, bench.Params{"server": "apache2", "keep-alive": "no", "connections": "1"}, "apache2 -f /scratch/web.conf -DFOREGROUND",
		"wrk --threads 1 --connections 1 --duration 5s --timeout 10s --latency --header Connection: close http://", "wrk.txt", nil},
	{web{}, bench.Params{"tls": "yes"}, "nginx -c /scratch/web.conf", "--latency https://10.99.0.3:8080/document", "wrk.txt", nil},
	{web{}, bench.Params{"client": "httperf", "rate": "1200"}, "nginx -c /scratch/web.conf",
		"httperf --verbose --verbose --server 10.99.0.3 --port 8080 --uri /document --num-conns 6000 --num-calls 1 --rate 1200 --timeout 2", "httperf.txt",
		map[string]float64{"requests": 1200, "answered": 100, "mean_latency": 0.2, "p90_latency": 0.525, "p99_latency": 1.5, "lateness": 2.5, "rate_held": 100}},
	{web{}, bench.Params{"client": "httperf", "rate": "4800", "errors": "100", "tls": "yes", "server": "apache2"}, "apache2 -f",
		"--num-conns 24000 --num-calls 1 --rate 4800 --timeout 2 --ssl --ssl-no-reuse", "httperf-over.txt",
		map[string]float64{"requests": 8759 / 5.0, "answered": 8759 / 240.0, "mean_latency": 326.8, "lateness": 2084 / 4.8, "rate_held": 8854 / 240.0}},
	{web{}, bench.Params{"client": "httperf", "rate": "100", "calls": "10", "timeout": "500ms"}, "nginx -c", "--num-conns 50 --num-calls 10 --rate 10 --timeout 0.5", "", nil},
	{web{}, bench.Params{"client": "httperf", "rate": "10000", "intensity": "30", "document": "1KB"}, "nginx -c", "--num-conns 15000 --num-calls 1 --rate 3000 --timeout 2", "", nil},
	{web{}, bench.Params{"client": "httperf", "rate": "10000", "intensity": "50", "most": "120MB", "document": "100KB"}, "nginx -c", "--num-conns 3000 --num-calls 1 --rate 600 --timeout 2", "", nil},
	{web{}, bench.Params{"client": "httperf", "rate": "16000", "seek": "16", "errors": "100"}, "nginx -c",
		"perl /scratch/seek.pl /scratch/rate 5 ask httperf --verbose --verbose --server 10.99.0.3 --port 8080 --uri /document --timeout 2", "httperf.txt",
		map[string]float64{"requests": 2000, "answered": 100}},
	{pages{}, nil, "perl /scratch/pages.pl /scratch/mariadb.socket mariadbd --no-defaults --user=root --datadir=/scratch/db",
		"wrk --threads 2 --connections 8 --duration 5s --timeout 10s --script /scratch/ask.lua http://10.99.0.3:8080/ -- 10000 15",
		"pages.txt", map[string]float64{"pages": 344 / 5.06811, "mean_latency": 122.97876819407, "p90_latency": 228.439, "p99_latency": 372.633}},
	{pages{}, bench.Params{"mix": "browsing", "connections": "1", "items": "20"}, "perl /scratch/pages.pl", "wrk --threads 1 --connections 1 --duration 5s --timeout 10s --script /scratch/ask.lua http://10.99.0.3:8080/ -- 20 0",
		"pages-browsing.txt", nil},
	{oltp{}, nil, "mariadbd --no-defaults --user=root --datadir=/scratch/db --pid-file=/scratch/db/pid",
		"sysbench oltp_read_write --db-driver=mysql --mysql-host=10.99.0.3", "oltp-warm.txt",
		map[string]float64{"transactions": 503 / (5.0358 - 2.0002)}},
	{mysql{}, nil, "/opt/mysql/bin/mysqld --no-defaults --user=root --basedir=/opt/mysql --datadir=/scratch/db",
		"sysbench oltp_read_write --db-driver=mysql --mysql-host=10.99.0.3", "oltp-warm.txt",
		map[string]float64{"transactions": 503 / (5.0358 - 2.0002)}},
	{pgbench{}, nil, "/usr/lib/postgresql/17/bin/postgres -D /scratch/postgres -c listen_addresses=*",
		"perl /scratch/pgbench.pl 2 /scratch/log /usr/lib/postgresql/17/bin/pgbench --host=10.99.0.3 --port=5432 --username=postgres --no-vacuum --builtin=tpcb-like --client=4 --jobs=2 --time=7 postgres",
		"pgbench.txt", map[string]float64{"transactions": 3327 / 3.444769, "mean_latency": 4.129854}},
	{pgbench{}, bench.Params{"mix": "select-only", "flush": "later", "clients": "1"}, "/usr/lib/postgresql/17/bin/postgres -D /scratch/postgres",
		"--builtin=select-only --client=1 --jobs=1", "pgbench-select.txt", nil},
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
		if load.Polls != (c.given["client"] == "httperf") {
			t.Errorf("%s %v: polls: %v", c.w.Name(), c.given, load.Polls)
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
		if c.file == "" {
			continue
		}
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

// What httperf began of its timetable of 5 s is what it says: of 6000 connections, the slowest 8.25 ms at most.
func TestHTTPerfTellsOfTheRateItHeld(t *testing.T) {
	p := fill(t, web{}, bench.Params{"client": "httperf", "rate": "1200", "errors": "100"})
	for name, c := range map[string]struct {
		change []string
		want   float64
	}{
		"early":                            {nil, 100},
		"waits for its last answer":        {[]string{"test-duration 3.000", "test-duration 5.008"}, 100},
		"falls behind":                     {[]string{"test-duration 3.000", "test-duration 6.00825"}, 500 / 6.0},
		"waits for one that never came":    {[]string{"test-duration 3.000", "test-duration 11.0", "client-timo 0", "client-timo 1"}, 100},
		"falls behind, and one never came": {[]string{"test-duration 3.000", "test-duration 12.0", "client-timo 0", "client-timo 1"}, 500 / 6.0},
		"has no descriptors":               {[]string{"connections 6000", "connections 5820"}, 97},
		"has none, and falls behind":       {[]string{"connections 6000", "connections 5400", "test-duration 3.000", "test-duration 10.00825"}, 45},
	} {
		text := strings.NewReplacer(c.change...).Replace(string(captured(t, "httperf.txt")))
		values, err := web{}.Parse(p, setting(), bench.Output{Stdout: []byte(text)})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := value(t, values, "rate_held"); got < c.want*0.999999 || got > c.want*1.000001 {
			t.Errorf("%s: %v %%, want %v", name, got, c.want)
		}
	}
}

// failing is pgbench's output with as many transactions that failed.
func failing(stdout []byte) []byte {
	return bytes.Replace(stdout, []byte("failed transactions: 0 (0.000%)"), []byte("failed transactions: 4491 (50.000%)"), 1)
}

func TestApplicationParseRefuses(t *testing.T) {
	redisOut, wrkOut, oltpOut := captured(t, "redis-get.txt"), captured(t, "wrk.txt"), captured(t, "oltp-warm.txt")
	pgbenchOut, pagesOut, ycsbOut := captured(t, "pgbench.txt"), captured(t, "pages.txt"), captured(t, "ycsb-a.txt")
	open, openOut := bench.Params{"client": "httperf", "rate": "1200"}, captured(t, "httperf.txt")
	changed := func(from, to string) bench.Output {
		if !bytes.Contains(openOut, []byte(from)) {
			t.Fatalf("no %q", from)
		}
		return bench.Output{Stdout: bytes.Replace(openOut, []byte(from), []byte(to), 1)}
	}
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
		{"beyond what the server takes", web{}, bench.Params{"client": "httperf", "rate": "4800"}, bench.Output{Stdout: captured(t, "httperf-over.txt")},
			[]string{"httperf: 15241 of 24000 requests failed, more than 1 %", "client-timo 95", "fd-unavail 15146"}},
		{"no server", web{}, bench.Params{"client": "httperf", "rate": "10"}, bench.Output{Stdout: captured(t, "httperf-refused.txt")}, []string{"httperf: no request was answered", "connrefused 50"}},
		{"no server of TLS", web{}, open, bench.Output{Exit: 255, Stderr: []byte("httperf: failed to connect to SSL server (err=-1, reason=5)\n")}, []string{"exit status 255", "SSL server"}},
		{"more than asked for", web{}, open, changed("2xx=6000", "2xx=6001"), []string{"6001 answers to 6000 requests"}},
		{"no status", web{}, open, changed("2xx=6000", "2xx=-"), []string{"2xx: not found"}},
		{"no duration", web{}, open, changed("test-duration 3.000", "test-duration 0.000"), []string{`test-duration: "0.000": not above zero`}},
		{"no mean", web{}, open, changed("avg 0.2", "avg 0.0"), []string{`avg: "0.0": not above zero`}},
		{"no burst", web{}, open, changed("burst length: 3", "burst length: 0"), []string{`burst: "0": not above zero`}},
		{"not a bin", web{}, open, changed("1.5 27", "1.7 27"), []string{`histogram: line "1.7 27": not a bin`}},
		{"bins out of order", web{}, open, changed("1.5 27", "9.5 27"), []string{"cannot be"}},
		{"fewer times than answers", web{}, open, changed("0.5 5929", "0.5 5928"), []string{"5999 times of 6000 connections that were answered"}},
		{"no histogram", web{}, open, changed("Connection lifetime histogram", "Histogram"), []string{"Connection lifetime histogram", "not found"}},
		{"longest not a time", web{}, open, changed("max 8.2", "max 1e99"), []string{`"max": "1e99" is not a time`}},
		{"cut", oltp{}, nil, bench.Output{Stdout: oltpOut[:len(oltpOut)-400]}, []string{"sysbench: "}},
		{"lost", oltp{}, nil, bench.Output{Exit: 1, Stderr: []byte("FATAL: mysql_stmt_execute() returned error 2013")}, []string{"exit status 1", "2013"}},
		{"another workload", ycsb{}, bench.Params{"workload": "e"}, bench.Output{Stdout: ycsbOut}, []string{"Operations of SCAN: not found"}},
		{"failed", ycsb{}, nil, bench.Output{Stdout: captured(t, "ycsb-failed.txt")}, []string{"operations failed, more than 1 %"}},
		{"lost", ycsb{}, nil, bench.Output{Stdout: captured(t, "ycsb-lost.txt")}, []string{`"measured us": not found in "ycsb begins`, "JedisConnectionException"}},
		{"refused", ycsb{}, nil, bench.Output{Stdout: captured(t, "ycsb-refused.txt")}, []string{`"measured us": not found in "site.ycsb.DBException`, "Connection refused"}},
		{"ended before the window", ycsb{}, nil, bench.Output{Stdout: ycsbOut[bytes.Index(ycsbOut, []byte("[")):]}, []string{`"measured us": not found`}},
		{"cut", ycsb{}, nil, bench.Output{Stdout: ycsbOut[:len(ycsbOut)-20]}, []string{"ycsb: ", "unexpected end of JSON input"}},
		{"not a number", ycsb{}, nil, bench.Output{Stdout: bytes.Replace(ycsbOut, []byte("\"95thPercentileLatency(us)\",\n  \"value\" : "), []byte("\"95thPercentileLatency(us)\",\n  \"value\" : -"), 1)}, []string{"95thPercentileLatency(us) of READ: \"-", "not above zero"}},
		{"failed", pages{}, nil, bench.Output{Stdout: captured(t, "pages-failed.txt")}, []string{"pages failed, more than 1 %", "500 error: nothing found"}},
		{"nobody answers", pages{}, nil, bench.Output{Stdout: captured(t, "pages-none.txt")}, []string{"no page was answered"}},
		{"cut", pages{}, nil, bench.Output{Stdout: pagesOut[:len(pagesOut)-20]}, []string{`"p99 us": not found`}},
		{"not a number", pages{}, nil, bench.Output{Stdout: bytes.Replace(pagesOut, []byte("p90 us: 228439"), []byte("p90 us: nan"), 1)}, []string{`"p90 us": "nan": not a number`}},
		{"no time", pages{}, nil, bench.Output{Stdout: bytes.Replace(pagesOut, []byte("p90 us: 228439"), []byte("p90 us: 0"), 1)}, []string{"p90_latency is 0"}},
		{"failed", pgbench{}, nil, bench.Output{Stdout: failing(pgbenchOut)}, []string{"4491 of 8982 transactions failed", "more than 1 %"}},
		{"refused", pgbench{}, nil, bench.Output{Exit: 1, Stderr: captured(t, "pgbench-refused.err")}, []string{"exit status 1", "could not create connection"}},
		{"lost", pgbench{}, nil, bench.Output{Exit: 2, Stderr: captured(t, "pgbench-lost.err")}, []string{"exit status 2", "Run was aborted"}},
		{"cut", pgbench{}, nil, bench.Output{Stdout: pgbenchOut[:len(pgbenchOut)-20]}, []string{"pgbench: "}},
		{"no log", pgbench{}, nil, bench.Output{Stdout: pgbenchOut[:bytes.Index(pgbenchOut, []byte("shortest"))]}, []string{"shortest: not found"}},
		{"no time passed", pgbench{}, nil, bench.Output{Stdout: bytes.Replace(pgbenchOut, []byte("elapsed 3.444769"), []byte("elapsed 0"), 1)}, []string{"elapsed", "not above zero"}},
		{"a line less", pgbench{}, nil, bench.Output{Stdout: bytes.Replace(pgbenchOut, []byte("bin 960 968 us 1\n"), nil, 1)}, []string{"histogram"}},
		{"not a bin", pgbench{}, nil, bench.Output{Stdout: bytes.Replace(pgbenchOut, []byte("bin 960 968 us 1"), []byte("bin 960 968 ms 1"), 1)}, []string{`"bin 960 968 ms 1": not a bin`}},
		{"no time", pgbench{}, nil, bench.Output{Stdout: bytes.Replace(pgbenchOut, []byte("bin 960 968 us 1"), []byte("bin 960 9e99 us 1"), 1)}, []string{`"9e99": not a time in us`}},
		{"others in the log", pgbench{}, nil, bench.Output{Stdout: bytes.Replace(pgbenchOut, []byte("processed: 4491"), []byte("processed: 4492"), 1)}, []string{"4491 transactions in the log, 4492 in all"}},
	} {
		t.Run(c.w.Name()+" "+c.name, func(t *testing.T) {
			_, err := c.w.Parse(fill(t, c.w, c.given), setting(), c.out)
			wantError(t, err, c.says...)
		})
	}
	if _, err := (web{}).Parse(fill(t, web{}, bench.Params{"errors": "100"}), setting(), bench.Output{Stdout: captured(t, "wrk-404.txt")}); err != nil {
		t.Errorf("all may fail: %v", err)
	}
	if _, err := (pgbench{}).Parse(fill(t, pgbench{}, bench.Params{"errors": "70"}), setting(), bench.Output{Stdout: failing(captured(t, "pgbench.txt"))}); err != nil {
		t.Errorf("70 %% may fail: %v", err)
	}
	_, err := Fill(web{}, bench.Params{"document": "17MiB"})
	wantError(t, err, `"document"`, "must be at most 16 MiB")
}

func TestWebParams(t *testing.T) {
	for _, c := range []struct {
		given bench.Params
		says  []string
	}{
		{bench.Params{"document": "17MiB"}, []string{`"document"`, "must be at most 16 MiB"}},
		{bench.Params{"client": "httperf"}, []string{`"rate"`, "required with httperf"}},
		{bench.Params{"client": "httperf", "rate": "0"}, []string{`"rate"`, "must be at least 0.1"}},
		{bench.Params{"client": "httperf", "rate": "10", "timeout": "0s"}, []string{`"timeout"`, "must be above 0 and at most 30s"}},
		{bench.Params{"client": "httperf", "rate": "10", "timeout": "1m"}, []string{`"timeout"`, "must be above 0 and at most 30s"}},
		{bench.Params{"rate": "10"}, []string{`"rate"`, "wrk has no rate of its own"}},
		{bench.Params{"limit": "10", "server": "apache2"}, []string{`"limit"`, "apache2 is given none"}},
	} {
		_, err := Fill(web{}, c.given)
		wantError(t, err, c.says...)
	}
}

// What is asked of a server is in its configuration.
func TestWebServers(t *testing.T) {
	for _, c := range []struct {
		given        bench.Params
		has, without string
	}{
		{nil, "listen 8080 reuseport; root", "ssl"},
		{bench.Params{"tls": "yes"}, "listen 8080 reuseport ssl; ssl_certificate /scratch/web.pem;", "limit_req"},
		{bench.Params{"limit": "600"}, "rate=600r/s; limit_req zone=all burst=300;", "ssl"},
		{bench.Params{"server": "apache2"}, "MaxKeepAliveRequests 0\nDocumentRoot", "ssl"},
		{bench.Params{"server": "apache2", "tls": "yes"}, "SSLCertificateFile /scratch/web.pem\nDocumentRoot", "%!"},
	} {
		steps, err := web{}.Steps(bench.SubjectPart, fill(t, web{}, c.given), setting())
		if err != nil {
			t.Fatal(err)
		}
		conf := string(steps.Files[len(steps.Files)-1].Data)
		if !strings.Contains(conf, c.has) || strings.Contains(conf, c.without) || strings.Contains(conf, "%!") {
			t.Errorf("%v: %s", c.given, conf)
		}
		keyed := slices.ContainsFunc(steps.Files, func(f bench.File) bool { return f.Path == webPEM && bytes.Contains(f.Data, []byte("PRIVATE KEY")) })
		if keyed != (c.given["tls"] == "yes") {
			t.Errorf("%v: a key: %v", c.given, keyed)
		}
	}
}

// Where times are long, bins are put together, so that a histogram has room for all of 100 s.
func TestHTTPerfBins(t *testing.T) {
	edges := map[int64]bool{}
	for ms := range int64(httperfBins) {
		b, err := httperfBin(fmt.Sprintf("%d.5 2", ms))
		if err != nil || b.Low > ms*1e6 || b.High < (ms+1)*1e6 || b.Count != 2 {
			t.Fatalf("%d ms: %+v, %v", ms, b, err)
		}
		edges[b.Low] = true
	}
	if len(edges) > bench.MaxBins {
		t.Errorf("%d bins", len(edges))
	}
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
		if c.file != "" {
			f.Add(i, captured(f, c.file))
		}
	}
	f.Add(6, captured(f, "httperf-refused.txt"))
	f.Add(2, captured(f, "wrk-404.txt"))
	f.Add(2, captured(f, "wrk-none.txt"))
	for i := range applications {
		for _, name := range []string{"pages-failed.txt", "pages-none.txt", "ycsb-failed.txt", "ycsb-lost.txt"} {
			f.Add(i, captured(f, name))
		}
	}
	f.Fuzz(func(t *testing.T, i int, stdout []byte) {
		n := len(applications)
		c := applications[(i%n+n)%n]
		p := fill(t, c.w, c.given)
		if values, err := c.w.Parse(p, setting(), bench.Output{Stdout: stdout}); err == nil {
			checkValues(t, c.w, p, values)
		}
		if h, is := c.w.(bench.Histogrammer); is {
			hs, err := h.Histograms(p, setting(), bench.Output{Stdout: stdout})
			checkHistograms(t, hs, err)
		}
	})
}
