package workload

import (
	"bytes"
	_ "embed"
	"fmt"
	"math"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
)

// httperf is an open loop: it begins connections on a timetable and does not wait for answers first. It
// counts the time of a connection from where it begins it, up to `lateness` after that was due. It
// looks at its clock and its descriptors without a pause, and has at most 1020 connections at a time:
// those beyond count as failed (fd-unavail).

var httperfMetrics = []bench.Metric{
	{Name: "requests", Unit: "requests/s", Better: bench.HigherIsBetter, Combine: bench.Sum, Headline: true, Doc: "answered per second with a status of 2xx"},
	{Name: "answered", Unit: "%", Better: bench.HigherIsBetter, Combine: bench.Mean, Doc: "share of the requests that were answered with a status of 2xx"},
	{Name: "mean_latency", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Mean, Step: 0.1,
		Doc: "mean time from the beginning of a connection to the end of its last answer, in steps of 0.1 ms"},
	{Name: "p90_latency", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Merge, Histogram: "latency", Quantile: 0.9, Doc: "90th percentile of it, in steps of 1 ms"},
	{Name: "p99_latency", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Merge, Histogram: "latency", Quantile: 0.99, Doc: "99th percentile of it"},
	{Name: "lateness", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Max, Doc: "how long after it was due httperf began a connection, at most; latencies lack it"},
	{Name: "rate_held", Unit: "%", Better: bench.HigherIsBetter, Combine: bench.Mean, Least: 98, Doc: "share of its rate at which httperf began connections; below 98 % the row says that the client may be the limit"},
}

// Loop implements [bench.OpenLoop].
func (web) Loop(p bench.Params) bench.Loop {
	if p["client"] != "httperf" || p["intensity"] != "100" || p["most"] != "0" || p["seek"] != "0" { // the rate is not what it asks for
		return bench.Loop{}
	}
	return bench.Loop{Rate: "rate", Got: "requests", Answered: "answered", Latency: "p99_latency"}
}

// httperfPatience is the longest time-out: httperf knows times of up to 100 s.
const httperfPatience = 30 * time.Second

// openLoop checks what only makes sense with httperf.
func (w web) openLoop(p bench.Params) error {
	if p["rate"] == "" {
		return &ParamError{w.Name(), "rate", fmt.Errorf("required with httperf and not given%w", bench.Hint("write the requests per second that it asks for"))}
	}
	if d, err := time.ParseDuration(p["timeout"]); err != nil || d <= 0 || d > httperfPatience {
		return &ParamError{w.Name(), "timeout", fmt.Errorf("%q: must be above 0 and at most %v", p["timeout"], httperfPatience)}
	}
	return nil
}

// asking is what httperf is told: so many connections, as many in a second, with so many requests each.
type asking struct {
	connections, calls int64
	rate               float64 // of requests
	timeout            time.Duration
}

func (w web) asking(p bench.Params, length time.Duration) (a asking, err error) {
	if a.rate, err = w.rate(p); err != nil {
		return a, err
	}
	if a.calls, err = intOf(w, p, "calls"); err != nil {
		return a, err
	}
	a.timeout, err = time.ParseDuration(p["timeout"])
	a.connections = max(1, int64(math.Round(length.Seconds()*a.perSecond())))
	return a, err
}

// rate is how many requests it asks for in a second: of the rate, or of what its documents come to at
// most, the share that the intensity is.
func (w web) rate(p bench.Params) (float64, error) {
	rate, err := floatOf(w, p, "rate")
	if err != nil {
		return 0, err
	}
	most, err := intOf(w, p, "most")
	if err != nil {
		return 0, err
	}
	document, err := intOf(w, p, "document")
	if err != nil {
		return 0, err
	}
	if most > 0 {
		rate = min(rate, float64(most)/float64(document))
	}
	percent, err := floatOf(w, p, "intensity")
	return rate * percent / 100, err
}

// perSecond is how many connections it begins in a second.
func (a asking) perSecond() float64 { return a.rate / float64(a.calls) }

// timetable is how long its connections take to begin, in seconds, with the time to the next.
func (a asking) timetable() float64 { return float64(a.connections) / a.perSecond() }

// httperf is its command for so long.
func (w web) httperf(p bench.Params, s bench.Setting, addr netip.Addr, length time.Duration) (bench.Command, error) {
	a, err := w.asking(p, length)
	if err != nil {
		return bench.Command{}, err
	}
	// A connection may wait so long for each of: itself, TLS, an answer.
	limit, err := timeout(s.Timing, length+3*a.timeout)
	argv := []string{"httperf", "--verbose", "--verbose", "--server", addr.String(), "--port", strconv.Itoa(webPort), "--uri", "/document",
		"--num-conns", strconv.FormatInt(a.connections, 10), "--num-calls", p["calls"], "--rate", strconv.FormatFloat(a.perSecond(), 'f', -1, 64),
		"--timeout", seconds(a.timeout)}
	if p["tls"] == "yes" {
		argv = append(argv, "--ssl", "--ssl-no-reuse")
	}
	return bench.Command{Argv: argv, Timeout: limit}, err
}

//go:embed seek.pl
var seekScript []byte

const (
	seekPath  = bench.ScratchDir + "/seek.pl"
	foundPath = bench.ScratchDir + "/rate"
	// seekEach is how long seek.pl tries a rate.
	seekEach = 500 * time.Millisecond
)

// seek has the load look for its rate in the place of the warm-up, which that is, too.
func (w web) seek(p bench.Params, s bench.Setting, addr netip.Addr, steps *bench.Part) error {
	a, err := w.asking(p, seekEach)
	if err != nil {
		return err
	}
	tries, err := intOf(w, p, "seek")
	if err != nil {
		return err
	}
	if a.calls != 1 {
		return &ParamError{w.Name(), "seek", fmt.Errorf("a rate is looked for with one request for each connection%w", bench.Hint("leave calls out"))}
	}
	httperf := steps.Main.Argv
	for _, option := range []string{"--num-conns", "--num-calls", "--rate"} { // seek.pl says them
		i := slices.Index(httperf, option)
		httperf = slices.Delete(slices.Clone(httperf), i, i+2)
	}
	script := func(length time.Duration, words ...string) []string {
		return slices.Concat([]string{"perl", seekPath, foundPath, seconds(length)}, words, httperf)
	}
	limit, err := timeout(s.Timing, time.Duration(tries)*(seekEach+3*a.timeout))
	steps.Files = append(steps.Files, bench.File{Path: seekPath, Mode: 0o755, Data: seekScript})
	steps.Warm = []bench.Command{{Argv: script(seekEach, "look", p["seek"], strconv.FormatFloat(a.rate, 'f', -1, 64)), Timeout: limit}}
	steps.Main.Argv = script(s.Timing.Measure, "ask")
	return err
}

// httperfAsked is how httperf was called, in its own words.
var httperfAsked = regexp.MustCompile(`(?m)^httperf .*--rate=(\S+) .*--num-conns=(\d+)`)

// asked is what httperf was told: of a rate that was looked for by its own words.
func (w web) asked(p bench.Params, s bench.Setting, stdout []byte) (asking, error) {
	a, err := w.asking(p, s.Timing.Measure)
	if err != nil || p["seek"] == "0" {
		return a, err
	}
	m := httperfAsked.FindSubmatch(stdout)
	if m == nil {
		return a, fmt.Errorf("httperf: how it was called: %w in %s", errMissing, excerpt(stdout))
	}
	if a.rate, err = positive(string(m[1])); err != nil {
		return a, fmt.Errorf("httperf: --rate: %w", err)
	}
	if a.connections, err = strconv.ParseInt(string(m[2]), 10, 64); err != nil || a.connections < 1 {
		return a, fmt.Errorf("httperf: --num-conns %q: not a count", m[2])
	}
	return a, nil
}

// What httperf prints.
var (
	httperfDuration = regexp.MustCompile(`(?m)^Total: connections \d+ requests \d+ replies \d+ test-duration (\S+) s$`)
	httperfBegun    = regexp.MustCompile(`(?m)^Total: connections (\d+) requests \d+ replies \d+ test-duration \S+ s$`)
	httperfLate     = regexp.MustCompile(`(?m)^Errors: total \d+ client-timo (\d+) socket-timo \d+ connrefused \d+ connreset \d+$`)
	httperfGood     = regexp.MustCompile(`(?m)^Reply status: 1xx=\d+ 2xx=(\d+) 3xx=\d+ 4xx=\d+ 5xx=\d+$`)
	httperfMin      = regexp.MustCompile(`(?m)^Connection time \[ms\]: min (\S+) avg \S+ max \S+ median \S+ stddev \S+$`)
	httperfMean     = regexp.MustCompile(`(?m)^Connection time \[ms\]: min \S+ avg (\S+) max \S+ median \S+ stddev \S+$`)
	httperfMax      = regexp.MustCompile(`(?m)^Connection time \[ms\]: min \S+ avg \S+ max (\S+) median \S+ stddev \S+$`)
	httperfBurst    = regexp.MustCompile(`(?m)^Maximum connect burst length: (\d+)$`)
)

// httperfNumber reads a pattern's one number.
func httperfNumber(pattern *regexp.Regexp, what string, text []byte, read func(string) (float64, error)) (float64, error) {
	found, err := onlyGroup(pattern, what, text)
	if err != nil {
		return 0, fmt.Errorf("httperf: %w", err)
	}
	v, err := read(found)
	if err != nil {
		return 0, fmt.Errorf("httperf: %s: %w", what, err)
	}
	return v, nil
}

func (w web) parseHTTPerf(p bench.Params, s bench.Setting, out bench.Output) ([]bench.Value, error) {
	if err := finished("httperf", out); err != nil {
		return nil, err
	}
	a, err := w.asked(p, s, out.Stdout)
	if err != nil {
		return nil, err
	}
	took, err := httperfNumber(httperfDuration, "test-duration", out.Stdout, positive)
	if err != nil {
		return nil, err
	}
	good, err := httperfNumber(httperfGood, "2xx", out.Stdout, number)
	if err != nil {
		return nil, err
	}
	asked := float64(a.connections * a.calls)
	words := out.Stdout
	if i := bytes.Index(words, []byte("Reply status:")); i >= 0 {
		words = words[i:]
	}
	switch {
	case good == 0:
		return nil, fmt.Errorf("httperf: no request was answered: %s", excerpt(words))
	case good > asked:
		return nil, fmt.Errorf("httperf: %.0f answers to %.0f requests: %s", good, asked, excerpt(words))
	}
	if err := w.tolerable(p, asked, asked-good, words); err != nil {
		return nil, fmt.Errorf("httperf: %w", err)
	}
	mean, err := httperfNumber(httperfMean, "avg", out.Stdout, positive)
	if err != nil {
		return nil, err
	}
	burst, err := httperfNumber(httperfBurst, "burst", out.Stdout, positive)
	if err != nil {
		return nil, err
	}
	times, err := httperfHistogram(out.Stdout)
	if err != nil {
		return nil, fmt.Errorf("httperf: %w", err)
	}
	held, err := a.held(out.Stdout, took, float64(times.Max[1])/1e9)
	if err != nil {
		return nil, err
	}
	// A connection has a time if any of its requests was answered.
	if n := times.Count(); n > a.connections || a.calls == 1 && float64(n) < good {
		return nil, fmt.Errorf("httperf: %d times of %.0f connections that were answered", n, min(good, float64(a.connections)))
	}
	p90, p99 := times.Quantile(0.9).Mid()/1e6, times.Quantile(0.99).Mid()/1e6
	// The slowest of a hundred answers, or one that never came, does not stretch the time: httperf waits
	// for it after the last request.
	took = max(a.timetable(), min(took, a.timetable()+p99/1e3))
	return []bench.Value{
		{Metric: "requests", Value: good / took},
		{Metric: "answered", Value: 100 * good / asked},
		{Metric: "mean_latency", Value: mean},
		{Metric: "p90_latency", Value: p90},
		{Metric: "p99_latency", Value: p99},
		{Metric: "lateness", Value: 1e3 * burst / a.perSecond()},
		{Metric: "rate_held", Value: 100 * held},
	}, nil
}

// held is the share of its rate at which httperf began connections, at most: it leaves out those for
// which it has no descriptor, and where it falls behind it takes longer. It ended after took; the
// connection that ended last began no more than the slowest one's time before, in seconds.
func (a asking) held(stdout []byte, took, slowest float64) (float64, error) {
	begun, err := httperfNumber(httperfBegun, "connections", stdout, number)
	if err != nil {
		return 0, err
	}
	late, err := httperfNumber(httperfLate, "client-timo", stdout, number)
	if err != nil {
		return 0, err
	}
	if begun > float64(a.connections) {
		return 0, fmt.Errorf("httperf: %.0f connections begun, %d asked for", begun, a.connections)
	}
	if late > 0 { // it has no time: it waited for itself, for TLS and for each answer
		slowest = max(slowest, float64(2+a.calls)*a.timeout.Seconds())
	}
	return begun / float64(a.connections) * a.timetable() / max(a.timetable(), took-slowest), nil
}

// Histograms reads the times of httperf's connections. wrk tells none.
func (w web) Histograms(p bench.Params, _ bench.Setting, out bench.Output) ([]bench.Histogram, error) {
	if p["client"] != "httperf" {
		return nil, nil
	}
	h, err := httperfHistogram(out.Stdout)
	if err != nil {
		return nil, fmt.Errorf("httperf: %w", err)
	}
	return []bench.Histogram{h}, nil
}

// httperf counts times in bins of 1 ms up to 100 s, and prints the middle of those that have any. Above
// a second they are put together: 10 ms wide to 10 s, and 100 ms from there.
const (
	httperfTitle = "Connection lifetime histogram (time in ms):"
	httperfGrid  = "httperf, 1 ms below 1 s, 10 ms below 10 s, 100 ms above"
	httperfBins  = 100_000
	// httperfDigit is the last one of the least and greatest time, in ns.
	httperfDigit = 0.1e6
)

func httperfHistogram(stdout []byte) (bench.Histogram, error) {
	h := bench.Histogram{Name: "latency", Grid: httperfGrid}
	_, rest, ok := bytes.Cut(stdout, []byte(httperfTitle+"\n"))
	if !ok {
		return h, fmt.Errorf("%q: %w in %s", httperfTitle, errMissing, excerpt(stdout))
	}
	for line := range bytes.Lines(rest) {
		text := strings.TrimSpace(string(line))
		if text == "" {
			break
		}
		if text == ":" { // between bins that have none
			continue
		}
		b, err := httperfBin(text)
		if err != nil {
			return h, err
		}
		h.Bins = withBin(h.Bins, b)
	}
	for _, f := range []struct {
		what string
		from *regexp.Regexp
		into *[2]int64
	}{{"min", httperfMin, &h.Min}, {"max", httperfMax, &h.Max}} {
		text, err := onlyGroup(f.from, f.what, stdout)
		if err != nil {
			return h, err
		}
		if *f.into, err = printed(f.what, text, httperfDigit); err != nil {
			return h, err
		}
	}
	return h, h.Check()
}

// httperfBin reads a line such as "12.5 62".
func httperfBin(line string) (bench.Bin, error) {
	middle, many, ok := strings.Cut(line, " ")
	whole, half := strings.CutSuffix(middle, ".5")
	count, err := strconv.ParseInt(many, 10, 64)
	ms, err2 := strconv.ParseInt(whole, 10, 64)
	if !ok || !half || err != nil || err2 != nil || count <= 0 || ms < 0 || ms >= httperfBins {
		return bench.Bin{}, fmt.Errorf("histogram: line %q: not a bin", line)
	}
	wide := int64(1)
	switch {
	case ms >= 10_000:
		wide = 100
	case ms >= 1000:
		wide = 10
	}
	ms -= ms % wide
	return bench.Bin{Low: ms * 1e6, High: (ms + wide) * 1e6, Count: count}, nil
}
