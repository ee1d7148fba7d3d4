package workload

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
)

// web serves a document to a client on a peer, as in tso2014. wrk is a closed loop over its connections;
// httperf asks at a rate of its own, whatever the server does.
type web struct{}

const webPort = 8080

func (web) Name() string { return "web" }

func (web) Summary() string {
	return "a web server in the instance, asked for a document by wrk or httperf from a machine beside it"
}

func (web) Resource() string { return "network" }

func (web) Parts() []string { return []string{servicePart} }

// Family implements [bench.Familied].
func (web) Family() string { return "web" }

func (web) Programs() []string { return []string{"nginx", "apache2", "wrk", "httperf"} }

func (web) Params() []bench.Param {
	return []bench.Param{
		{Name: "server", Kind: bench.KindWord, Default: "nginx", Words: []string{"nginx", "apache2"}, Doc: "the program that serves"},
		{Name: "document", Kind: bench.KindSize, Default: "10KiB", Min: 1, Max: float64(16 * bench.MiB), Doc: "bytes of the document, which travels with the commands, at most 16 MiB"},
		{Name: "tls", Kind: bench.KindWord, Default: "no", Words: []string{"no", "yes"}, Doc: "whether the server speaks HTTPS, with a certificate that is in Tare's source"},
		{Name: "client", Kind: bench.KindWord, Default: "wrk", Words: []string{"wrk", "httperf"},
			Doc: "the program that asks: wrk asks again once it was answered, httperf at a rate of its own"},
		{Name: "rate", Kind: bench.KindFloat, Min: 0.1, Max: 1e6, Load: true, Doc: "requests per second that httperf asks for; required with it, and with wrk there is none"},
		{Name: "intensity", Kind: bench.KindFloat, Default: "100", Min: 0.1, Max: 100, Doc: "percent of the rate that httperf asks for"},
		{Name: "seek", Kind: bench.KindInt, Default: "0", Max: 64,
			Doc: "how many rates httperf tries first, each a quarter above the one before and the last what it would ask for, to ask at the one at which most is answered; 0 for none"},
		{Name: "most", Kind: bench.KindSize, Default: "0", Max: 1e12, Doc: "bytes of documents per second that the whole rate comes to at most, as a wire carries them; 0 for no bound"},
		{Name: "calls", Kind: bench.KindInt, Default: "1", Min: 1, Max: 1e6, Doc: "requests of a connection of httperf's, one after the other"},
		{Name: "timeout", Kind: bench.KindDuration, Default: "2s", Doc: "how long httperf waits for a connection, or for anything of an answer, until it gives up"},
		{Name: "connections", Kind: bench.KindInt, Default: "16", Min: 1, Load: true, Doc: "connections of wrk's that are open at a time"},
		{Name: "keep-alive", Kind: bench.KindWord, Default: "yes", Words: []string{"yes", "no"}, Doc: "whether wrk uses a connection again, or opens one for each request"},
		{Name: "limit", Kind: bench.KindInt, Default: "0", Max: 1e6, Doc: "requests per second that nginx answers at most: others wait in a queue, which half a second fills, and beyond it get 503; 0 for no limit"},
		webErrors("requests"),
	}
}

// webErrors is the parameter of how many may fail.
func webErrors(what string) bench.Param {
	return bench.Param{Name: "errors", Kind: bench.KindFloat, Default: "1", Max: 100, Doc: "percent of the " + what + " that may fail; with more the launch does"}
}

func (w web) Metrics(p bench.Params) ([]bench.Metric, error) {
	if p["limit"] != "0" && p["server"] != "nginx" {
		return nil, &ParamError{w.Name(), "limit", fmt.Errorf("%s is given none%w", p["server"], bench.Hint("write server: nginx"))}
	}
	if p["client"] == "httperf" {
		return httperfMetrics, w.openLoop(p)
	}
	if p["rate"] != "" {
		return nil, &ParamError{w.Name(), "rate", fmt.Errorf("wrk has no rate of its own%w", bench.Hint("write client: httperf"))}
	}
	for name, whole := range map[string]string{"intensity": "100", "most": "0", "seek": "0"} {
		if p[name] != whole {
			return nil, &ParamError{w.Name(), name, fmt.Errorf("wrk has no rate that it could be of%w", bench.Hint("write client: httperf and a rate"))}
		}
	}
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
		ask := w.wrk
		if p["client"] == "httperf" {
			ask = w.httperf
		}
		main, err := ask(p, s, addr, measure)
		steps := bench.Part{Main: main, Polls: p["client"] == "httperf"}
		if err == nil && s.Timing.Warmup > 0 {
			steps.Warm = make([]bench.Command, 1)
			steps.Warm[0], err = ask(p, s, addr, s.Timing.Warmup)
		}
		if err == nil && p["seek"] != "0" {
			err = w.seek(p, s, addr, &steps)
		}
		return steps, err
	}
	return bench.Part{}, unknownPart(w, part)
}

// wrk is its command for so long.
func (w web) wrk(p bench.Params, s bench.Setting, addr netip.Addr, length time.Duration) (bench.Command, error) {
	connections, err := intOf(w, p, "connections")
	if err != nil {
		return bench.Command{}, err
	}
	limit, err := timeout(s.Timing, length)
	threads := min(int64(s.Shape.CPUs), connections)
	argv := []string{"wrk", "--threads", strconv.FormatInt(threads, 10), "--connections", p["connections"], "--duration", wholeSeconds(length) + "s",
		"--timeout", "10s", "--latency"}
	if p["keep-alive"] == "no" {
		argv = append(argv, "--header", "Connection: close")
	}
	scheme := "http"
	if p["tls"] == "yes" {
		scheme = "https"
	}
	return bench.Command{Argv: append(argv, fmt.Sprintf("%s://%s:%d/document", scheme, addr, webPort)), Timeout: limit}, err
}

const (
	webRoot = bench.ScratchDir + "/www"
	webConf = bench.ScratchDir + "/web.conf"
	webPEM  = bench.ScratchDir + "/web.pem"
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
	%s
	server { listen 8080 reuseport%s; root ` + webRoot + `; }
}
`
	// httperf reads 8 KiB at a time, and waits for ever for the rest of a longer record of TLS.
	nginxTLS = " ssl; ssl_certificate " + webPEM + "; ssl_certificate_key " + webPEM + "; ssl_buffer_size 8k"
	// A server that takes one request after the other: without a queue, a client's burst would be refused.
	nginxLimit = "limit_req_zone $server_port zone=all:1m rate=%dr/s; limit_req zone=all burst=%d; limit_req_log_level info;"
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
%sDocumentRoot ` + webRoot + `
<Directory ` + webRoot + `>
Require all granted
</Directory>
`
	apacheTLS = `LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so
SSLSessionCache none
SSLEngine on
SSLCertificateFile ` + webPEM + `
`
)

// pem is a certificate that signed itself, and its key (ECDSA, P-256): for measuring alone, since
// everybody can read it. Each launch has the same, so none waits for a key to be made.
//
//go:embed web.pem
var pem []byte

func (w web) server(p bench.Params, s bench.Setting) (bench.Part, error) {
	size, err := intOf(w, p, "document")
	if err != nil {
		return bench.Part{}, err
	}
	limit, err := intOf(w, p, "limit")
	if err != nil {
		return bench.Part{}, err
	}
	files := []bench.File{{Path: webRoot + "/document", Mode: 0o644, Data: document(size)}}
	tls, apache, limited := "", "", ""
	if p["tls"] == "yes" {
		tls, apache = nginxTLS, apacheTLS
		files = append(files, bench.File{Path: webPEM, Mode: 0o600, Data: pem})
	}
	if limit > 0 {
		limited = fmt.Sprintf(nginxLimit, limit, max(1, limit/2))
	}
	conf, argv := fmt.Sprintf(nginxConf, s.Shape.CPUs, limited, tls), []string{"nginx", "-c", webConf}
	if p["server"] == "apache2" {
		conf, argv = fmt.Sprintf(apacheConf, apache), []string{"apache2", "-f", webConf, "-DFOREGROUND"}
	}
	return bench.Part{
		Files:   append(files, bench.File{Path: webConf, Mode: 0o644, Data: []byte(conf)}),
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

func (w web) Parse(p bench.Params, s bench.Setting, out bench.Output) ([]bench.Value, error) {
	if p["client"] == "httperf" {
		return w.parseHTTPerf(p, s, out)
	}
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
	if err := w.tolerable(p, requests, wrkFailed(out.Stdout), out.Stdout); err != nil {
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

// wrkFailed is how many requests wrk says have failed.
func wrkFailed(text []byte) float64 {
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
	return failed
}

// tolerable is an error if more of the requests failed than may.
func (w web) tolerable(p bench.Params, requests, failed float64, text []byte) error {
	share, err := floatOf(w, p, "errors")
	if err != nil {
		return err
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
