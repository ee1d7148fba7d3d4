package workload

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
)

// web serves a document to wrk on a peer, as in tso2014: a closed loop over its connections.
type web struct{}

const webPort = 8080

func (web) Name() string { return "web" }

func (web) Summary() string {
	return "a web server in the instance, asked for a document by wrk from a machine beside it"
}

func (web) Resource() string { return "network" }

func (web) Parts() []string { return []string{servicePart} }

// Family implements [bench.Familied].
func (web) Family() string { return "web" }

func (web) Programs() []string { return []string{"nginx", "apache2", "wrk"} }

func (web) Params() []bench.Param {
	return []bench.Param{
		{Name: "server", Kind: bench.KindWord, Default: "nginx", Words: []string{"nginx", "apache2"}, Doc: "the program that serves"},
		{Name: "document", Kind: bench.KindSize, Default: "10KiB", Min: 1, Max: float64(16 * bench.MiB), Doc: "bytes of the document, which travels with the commands, at most 16 MiB"},
		{Name: "connections", Kind: bench.KindInt, Default: "16", Min: 1, Load: true, Doc: "connections that are open at a time"},
		{Name: "keep-alive", Kind: bench.KindWord, Default: "yes", Words: []string{"yes", "no"}, Doc: "whether a connection is used again, or is opened for each request"},
		{Name: "errors", Kind: bench.KindFloat, Default: "1", Max: 100, Doc: "percent of the requests that may fail; with more the launch does"},
	}
}

func (web) Metrics(bench.Params) ([]bench.Metric, error) {
	return []bench.Metric{
		{Name: "requests", Unit: "requests/s", Better: bench.HigherIsBetter, Combine: bench.Sum, Headline: true, Doc: "answered per second, on all connections"},
		{Name: "mean_latency", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Mean, Doc: "mean time from request to the end of its answer"},
		{Name: "p90_latency", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Max, Doc: "90th percentile of it"},
		{Name: "p99_latency", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Max, Doc: "99th percentile of it"},
	}, nil
}

func (w web) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	addr, err := served(w, s)
	if err != nil {
		return bench.Part{}, err
	}
	switch part {
	case bench.SubjectPart:
		return w.server(p, s)
	case servicePart:
		measure, err := measured(s.Timing)
		if err != nil {
			return bench.Part{}, err
		}
		connections, err := intOf(w, p, "connections")
		if err != nil {
			return bench.Part{}, err
		}
		threads := min(int64(s.Shape.CPUs), connections)
		ask := func(length time.Duration) (bench.Command, error) {
			limit, err := timeout(s.Timing, length)
			argv := []string{"wrk", "--threads", strconv.FormatInt(threads, 10), "--connections", p["connections"], "--duration", wholeSeconds(length) + "s",
				"--timeout", "10s", "--latency"}
			if p["keep-alive"] == "no" {
				argv = append(argv, "--header", "Connection: close")
			}
			return bench.Command{Argv: append(argv, fmt.Sprintf("http://%s:%d/document", addr, webPort)), Timeout: limit}, err
		}
		main, err := ask(measure)
		steps := bench.Part{Main: main}
		if err == nil && s.Timing.Warmup > 0 {
			steps.Warm = make([]bench.Command, 1)
			steps.Warm[0], err = ask(s.Timing.Warmup)
		}
		return steps, err
	}
	return bench.Part{}, unknownPart(w, part)
}

const (
	webRoot = bench.ScratchDir + "/www"
	webConf = bench.ScratchDir + "/web.conf"
)

// The servers' configurations: in the foreground, without a log of requests, the document below webRoot.
const (
	nginxConf = `daemon off;
user root;
worker_processes %d;
pid ` + bench.ScratchDir + `/nginx.pid;
error_log stderr warn;
events { worker_connections 8192; }
http {
	access_log off;
	sendfile on;
	keepalive_requests 1000000000;
	server { listen 8080 reuseport; root ` + webRoot + `; }
}
`
	apacheConf = `ServerRoot /usr/lib/apache2
ServerName tare
Listen 0.0.0.0:8080
PidFile ` + bench.ScratchDir + `/apache2.pid
DefaultRuntimeDir ` + bench.ScratchDir + `
Mutex pthread
ErrorLog /dev/stderr
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
User www-data
Group www-data
ThreadsPerChild 25
MaxRequestWorkers 1000
ServerLimit 40
KeepAlive On
MaxKeepAliveRequests 0
DocumentRoot ` + webRoot + `
<Directory ` + webRoot + `>
Require all granted
</Directory>
`
)

func (w web) server(p bench.Params, s bench.Setting) (bench.Part, error) {
	size, err := intOf(w, p, "document")
	if err != nil {
		return bench.Part{}, err
	}
	conf, argv := fmt.Sprintf(nginxConf, s.Shape.CPUs), []string{"nginx", "-c", webConf}
	if p["server"] == "apache2" {
		conf, argv = apacheConf, []string{"apache2", "-f", webConf, "-DFOREGROUND"}
	}
	return bench.Part{
		Files: []bench.File{
			{Path: webRoot + "/document", Mode: 0o644, Data: document(size)},
			{Path: webConf, Mode: 0o644, Data: []byte(conf)},
		},
		Prepare: []bench.Command{{Argv: []string{"chmod", "755", bench.ScratchDir, webRoot}, Timeout: slack}}, // for www-data
		Main:    bench.Command{Argv: argv, Timeout: serviceLimit},
		Service: true,
		Listen:  webPort,
		Ready:   serverReady,
	}, nil
}

// document is the same text at each call, and does not compress.
func document(size int64) []byte {
	text := make([]byte, size)
	source := rand.NewChaCha8([32]byte{})
	_, _ = source.Read(text) // never fails
	return text
}

// What wrk prints, such as "Latency   262.12us  232.22us   6.32ms   99.27%".
var (
	wrkMean    = regexp.MustCompile(`(?m)^ +Latency +(\S+) +\S+ +\S+ +\S+$`)
	wrkP90     = regexp.MustCompile(`(?m)^ +90% +(\S+)$`)
	wrkP99     = regexp.MustCompile(`(?m)^ +99% +(\S+)$`)
	wrkCount   = regexp.MustCompile(`(?m)^ +(\d+) requests in \S+, \S+ read$`)
	wrkRate    = regexp.MustCompile(`(?m)^Requests/sec: +(\S+)$`)
	wrkStatus  = regexp.MustCompile(`(?m)^ +Non-2xx or 3xx responses: (\d+)$`)
	wrkSockets = regexp.MustCompile(`(?m)^ +Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)$`)
)

func (w web) Parse(p bench.Params, _ bench.Setting, out bench.Output) ([]bench.Value, error) {
	if err := finished("wrk", out); err != nil {
		return nil, err
	}
	count, err := onlyGroup(wrkCount, "requests", out.Stdout)
	if err != nil {
		return nil, fmt.Errorf("wrk: %w", err)
	}
	requests, err := number(count)
	if err != nil {
		return nil, fmt.Errorf("wrk: requests: %w", err)
	}
	if err := w.tolerable(p, requests, out.Stdout); err != nil {
		return nil, fmt.Errorf("wrk: %w", err)
	}
	var values []bench.Value
	for _, f := range []struct {
		metric string
		from   *regexp.Regexp
		read   func(string) (float64, error)
	}{{"requests", wrkRate, positive}, {"mean_latency", wrkMean, wrkMilliseconds}, {"p90_latency", wrkP90, wrkMilliseconds}, {"p99_latency", wrkP99, wrkMilliseconds}} {
		text, err := onlyGroup(f.from, f.metric, out.Stdout)
		if err != nil {
			return nil, fmt.Errorf("wrk: %w", err)
		}
		v, err := f.read(text)
		if err != nil {
			return nil, fmt.Errorf("wrk: %s: %w", f.metric, err)
		}
		values = append(values, bench.Value{Metric: f.metric, Value: v})
	}
	return values, nil
}

// tolerable is an error if more of the requests failed than may.
func (w web) tolerable(p bench.Params, requests float64, text []byte) error {
	share, err := floatOf(w, p, "errors")
	if err != nil {
		return err
	}
	failed := 0.0
	counts := wrkStatus.FindSubmatch(text)
	if m := wrkSockets.FindSubmatch(text); m != nil {
		counts = append(counts, m...)
	}
	for _, c := range counts {
		if n, err := strconv.ParseFloat(string(c), 64); err == nil { // a whole match is no number
			failed += n
		}
	}
	if requests == 0 {
		return fmt.Errorf("no request was answered: %s", excerpt(text))
	}
	if 100*failed > share*requests {
		return fmt.Errorf("%.0f of %.0f requests failed, more than %g %%: %s%w", failed, requests, share, excerpt(text),
			bench.Hint("errors: 100 lets any fail"))
	}
	return nil
}

// onlyGroup is the group of a pattern's one match.
func onlyGroup(pattern *regexp.Regexp, what string, text []byte) (string, error) {
	all := pattern.FindAllSubmatch(text, 2)
	switch len(all) {
	case 0:
		return "", fmt.Errorf("%s: %w in %s", what, errMissing, excerpt(text))
	case 1:
		return string(bytes.TrimSpace(all[0][1])), nil
	}
	return "", fmt.Errorf("%s: found twice in %s", what, excerpt(text))
}

// wrkMilliseconds reads a time such as 262.12us.
func wrkMilliseconds(text string) (float64, error) {
	for _, u := range []struct {
		unit string
		ms   float64
	}{{"us", 1e-3}, {"ms", 1}, {"s", 1e3}, {"m", 60e3}, {"h", 3600e3}} {
		if digits, ok := strings.CutSuffix(text, u.unit); ok {
			v, err := positive(digits)
			return v * u.ms, err
		}
	}
	return 0, errors.New(strconv.Quote(text) + ": not a time")
}
