package workload

import (
	"embed"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
)

// pages is an auction's Apache, PHP and MariaDB in one instance, asked for pages by wrk from a peer, in
// a closed loop: the stand-in for RUBiS in tso2014 and sharma2016 section 4.1.
type pages struct{}

//go:embed pages pages.pl
var pagesFiles embed.FS

const (
	pagesRoot   = bench.ScratchDir + "/www"
	pagesConf   = bench.ScratchDir + "/pages.conf"
	pagesScript = bench.ScratchDir + "/pages.pl"
	pagesSocket = bench.ScratchDir + "/mariadb.socket" // in page.php, too
)

func (pages) Name() string { return "pages" }

func (pages) Summary() string {
	return "pages of an auction by Apache, PHP and MariaDB in the instance, asked for by wrk from a machine beside it"
}

func (pages) Resource() string { return "cpu" }

func (pages) Parts() []string { return []string{servicePart} }

// Family implements [bench.Familied].
func (pages) Family() string { return "pages" }

func (pages) Programs() []string {
	return []string{"apache2", "mariadbd", "mariadb-install-db", "perl", "wrk"}
}

func (pages) Params() []bench.Param {
	return []bench.Param{
		{Name: "mix", Kind: bench.KindWord, Default: "bidding", Words: []string{"bidding", "browsing"},
			Doc: "which pages: 15 % bids and the rest browse and view in the ratio of three to two, or no bids"},
		{Name: "connections", Kind: bench.KindInt, Default: "8", Min: 1, Max: 200, Load: true, Doc: "connections that are open at a time, each with a process of Apache's"},
		{Name: "items", Kind: bench.KindInt, Default: "10000", Min: 20, Max: 1e6, Doc: "items on sale, as many users, and five bids for each item"},
		{Name: "buffer", Kind: bench.KindSize, Default: "64MiB", Min: 8 << 20, Doc: "memory in which the database keeps its pages (innodb_buffer_pool_size)"},
		oltpFlush,
		webErrors("pages"),
	}
}

func (pages) Metrics(bench.Params) ([]bench.Metric, error) {
	return []bench.Metric{
		{Name: "pages", Unit: "pages/s", Better: bench.HigherIsBetter, Combine: bench.Sum, Headline: true, Doc: "whole pages per second, on all connections"},
		{Name: "mean_latency", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Mean, Doc: "mean time from request to the end of the page"},
		{Name: "p90_latency", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Max, Doc: "90th percentile of it"},
		{Name: "p99_latency", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Max, Doc: "99th percentile of it"},
	}, nil
}

func (w pages) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	addr, err := served(w, s)
	if err != nil {
		return bench.Part{}, err
	}
	connections, err := intOf(w, p, "connections")
	if err != nil {
		return bench.Part{}, err
	}
	switch part {
	case bench.SubjectPart:
		return w.server(p, s, connections)
	case servicePart:
		measure, err := measured(s.Timing)
		if err != nil {
			return bench.Part{}, err
		}
		script := bench.ScratchDir + "/ask.lua"
		bids := map[string]string{"bidding": "15", "browsing": "0"}[p["mix"]]
		ask := func(length time.Duration) (bench.Command, error) {
			limit, err := timeout(s.Timing, length)
			return bench.Command{Argv: []string{"wrk", "--threads", strconv.FormatInt(min(int64(s.Shape.CPUs), connections), 10), "--connections", p["connections"],
				"--duration", wholeSeconds(length) + "s", "--timeout", "10s", "--script", script, fmt.Sprintf("http://%s:%d/", addr, webPort), "--", p["items"], bids},
				Timeout: limit}, err
		}
		file, err := pagesFile("pages/ask.lua", script)
		if err != nil {
			return bench.Part{}, err
		}
		main, err := ask(measure)
		steps := bench.Part{Files: []bench.File{file}, Main: main}
		if err == nil && s.Timing.Warmup > 0 {
			steps.Warm = make([]bench.Command, 1)
			steps.Warm[0], err = ask(s.Timing.Warmup)
		}
		return steps, err
	}
	return bench.Part{}, unknownPart(w, part)
}

// pagesFile is one of ours, to be placed at a path.
func pagesFile(name, at string) (bench.File, error) {
	data, err := pagesFiles.ReadFile(name)
	return bench.File{Path: at, Mode: 0o644, Data: data}, err
}

// pagesApache serves PHP from pagesRoot, by a process for each connection, without a log of requests.
const pagesApache = `ServerRoot /usr/lib/apache2
ServerName tare
Listen 0.0.0.0:8080
PidFile ` + bench.ScratchDir + `/apache2.pid
DefaultRuntimeDir ` + bench.ScratchDir + `
Mutex pthread
ErrorLog /dev/stderr
LoadModule mpm_prefork_module /usr/lib/apache2/modules/mod_mpm_prefork.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule php_module /usr/lib/apache2/modules/libphp8.4.so
User www-data
Group www-data
ServerLimit %[1]d
MaxRequestWorkers %[1]d
StartServers %[1]d
MaxSpareServers %[1]d
KeepAlive On
MaxKeepAliveRequests 0
DocumentRoot ` + pagesRoot + `
<Directory ` + pagesRoot + `>
Require all granted
SetHandler application/x-httpd-php
</Directory>
`

func (w pages) server(p bench.Params, s bench.Setting, connections int64) (bench.Part, error) {
	limit, err := timeout(s.Timing, oltpInstall)
	if err != nil {
		return bench.Part{}, err
	}
	// The connections of the warm-up may linger beside those of the measured run.
	steps := bench.Part{Files: []bench.File{{Path: pagesConf, Mode: 0o644, Data: fmt.Appendf(nil, pagesApache, 2*connections+2)}}}
	for _, name := range []string{"pages.pl", "pages/page.php", "pages/browse.php", "pages/view.php", "pages/bid.php"} {
		at := path.Join(pagesRoot, path.Base(name))
		if name == "pages.pl" {
			at = pagesScript
		}
		file, err := pagesFile(name, at)
		if err != nil {
			return bench.Part{}, err
		}
		steps.Files = append(steps.Files, file)
	}
	fill, err := pagesFiles.ReadFile("pages/fill.sql")
	if err != nil {
		return bench.Part{}, err
	}
	sql := strings.ReplaceAll(string(fill), "{items}", p["items"])
	database := mariadb(p)
	steps.Prepare = []bench.Command{
		{Argv: []string{"chmod", "755", bench.ScratchDir, pagesRoot}, Timeout: slack}, // for www-data
		mariadbInstall(limit),
		{Argv: append(database, "--bootstrap"), Stdin: []byte(sql), Timeout: limit},
	}
	argv := append([]string{"perl", pagesScript, pagesSocket}, database...)
	argv = append(argv, "--skip-networking", "--socket="+pagesSocket, "--", "apache2", "-f", pagesConf, "-DFOREGROUND")
	steps.Main = bench.Command{Argv: argv, Timeout: serviceLimit}
	steps.Service, steps.Listen, steps.Ready = true, webPort, serverReady
	return steps, nil
}

func (w pages) Parse(p bench.Params, _ bench.Setting, out bench.Output) ([]bench.Value, error) {
	if err := finished("wrk", out); err != nil {
		return nil, err
	}
	values, err := w.values(p, out.Stdout)
	if err != nil {
		return nil, fmt.Errorf("wrk: %w", err)
	}
	return values, nil
}

func (w pages) values(p bench.Params, stdout []byte) ([]bench.Value, error) {
	share, err := floatOf(w, p, "errors")
	if err != nil {
		return nil, err
	}
	said, err := afterLabel(stdout, "first failure")
	if err != nil {
		return nil, err
	}
	read := map[string]float64{}
	for _, f := range []struct {
		label string
		read  func(string) (float64, error)
	}{{"pages in all", number}, {"pages failed", number}, {"elapsed us", positive}, {"mean us", number}, {"p90 us", number}, {"p99 us", number}} {
		text, err := afterLabel(stdout, f.label)
		if err != nil {
			return nil, err
		}
		if read[f.label], err = f.read(text); err != nil {
			return nil, fmt.Errorf("%q: %w", f.label, err)
		}
	}
	all, failed := read["pages in all"], read["pages failed"]
	if all < 1 {
		return nil, fmt.Errorf("no page was answered: %s", excerpt(stdout))
	}
	if 100*failed > share*all {
		return nil, fmt.Errorf("%.0f of %.0f pages failed, more than %g %%, the first: %s%w", failed, all, share, excerpt([]byte(said)),
			bench.Hint("errors: 100 lets any fail"))
	}
	values := []bench.Value{{Metric: "pages", Value: (all - failed) / (read["elapsed us"] / 1e6)}, {Metric: "mean_latency", Value: read["mean us"] / 1000},
		{Metric: "p90_latency", Value: read["p90 us"] / 1000}, {Metric: "p99_latency", Value: read["p99 us"] / 1000}}
	for _, v := range values {
		if v.Value <= 0 {
			return nil, fmt.Errorf("%s is %g, not above zero: %s", v.Metric, v.Value, excerpt(stdout))
		}
	}
	return values, nil
}
