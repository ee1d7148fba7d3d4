package workload

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
)

// netperf talks to a netserver on the other end: the network benchmark of
// tesfatsion2018 section 3.1.4. TCP_STREAM sends from the instance to the peer
// in messages of the size, TCP_MAERTS from the peer to the instance; TCP_RR
// sends a message and waits for one as large. The receiving size of a stream is
// left to netperf, so that a small message burdens its sender alone.
type netperf struct{}

const (
	netperfServer = "server"
	netperfPort   = 12865 // netserver's own
)

func (netperf) Name() string { return "netperf" }

func (netperf) Summary() string { return "TCP throughput or round trips to a peer, by netperf" }

func (netperf) Resource() string { return "network" }

func (netperf) Parts() []string { return []string{netperfServer} }

func (netperf) Programs() []string { return []string{"netperf", "netserver", "sh", "cat"} }

func (netperf) Params() []bench.Param {
	return []bench.Param{
		{Name: "test", Kind: bench.KindWord, Default: "TCP_STREAM", Words: []string{"TCP_STREAM", "TCP_MAERTS", "TCP_RR"},
			Doc: "one-way bulk transfer out of the instance, or into it; or request and response"},
		{Name: "message-size", Kind: bench.KindSize, Default: "1KiB", Min: 1,
			Doc: "bytes handed over at a time; request and response alike"},
		{Name: "socket-buffer", Kind: bench.KindSize, Default: "0", Max: float64(16 * bench.MiB),
			Doc: "bytes that the kernel keeps for each end's socket, sending and receiving; 0 lets it choose as the transfer goes on"},
	}
}

func (netperf) Metrics(p bench.Params) ([]bench.Metric, error) {
	return netperfMetrics(p["test"], "data sent to the peer, or by it"), nil
}

// netperfMetrics are those of a test; sent says of a stream what is counted.
func netperfMetrics(test, sent string) []bench.Metric {
	if roundTrips(test) {
		return []bench.Metric{
			{Name: "transactions", Unit: "transactions/s", Better: bench.HigherIsBetter, Combine: bench.Sum,
				Doc: "round trips finished per second"},
			{Name: "mean_latency", Unit: "us", Better: bench.LowerIsBetter, Combine: bench.Mean, Headline: true,
				Doc: "mean time of a round trip"},
			{Name: "p99_latency", Unit: "us", Better: bench.LowerIsBetter, Combine: bench.Max,
				Doc: "99th percentile of the time of a round trip"},
		}
	}
	return []bench.Metric{
		{Name: "throughput", Unit: "Mbit/s", Better: bench.HigherIsBetter, Combine: bench.Sum, Headline: true,
			Doc: sent + ", in millions of bits per second"},
	}
}

// roundTrips says whether a test is of requests and responses.
func roundTrips(test string) bool { return strings.HasSuffix(test, "_RR") }

func (w netperf) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	addr, ok := s.Addr[netperfServer]
	if !ok || !addr.IsValid() {
		return bench.Part{}, fmt.Errorf("netperf: no address of its server: %w", bench.ErrInvalid)
	}
	switch part {
	case netperfServer:
		return netserverPart(family(addr), "-L", addr.String()), nil
	case bench.SubjectPart:
		return netperfClient(p["test"], w.message(p), addr, s.Timing, w.within(p, s.Timing).Warmup)
	}
	return bench.Part{}, unknownPart(w, part)
}

// message are the options of a test's sizes.
func (netperf) message(p bench.Params) []string {
	size := p["message-size"]
	options := streamOf(p["test"], size)
	if roundTrips(p["test"]) {
		options = []string{"-r", size + "," + size}
	}
	if buffer := p["socket-buffer"]; buffer != "0" {
		options = append(options, "-s", buffer, "-S", buffer)
	}
	return options
}

// streamOf are the options of how many bytes the sender of a stream hands over at a time.
func streamOf(test, size string) []string {
	if test == "TCP_MAERTS" {
		size = "," + size // the other end's
	}
	return []string{"-m", size}
}

// netserverPart is the server, with options of where it listens.
func netserverPart(where ...string) bench.Part {
	return bench.Part{
		Main: bench.Command{
			Argv:    slices.Concat([]string{"netserver", "-D"}, where, []string{"-p", strconv.Itoa(netperfPort)}),
			Timeout: serviceLimit,
		},
		Service: true,
		Listen:  netperfPort,
		Further: true,
	}
}

// netperfClient runs a test against a server. A bulk transfer warms up for ramp on the connection that is
// then measured, and tells what it did since. Of round trips netperf gives percentiles of all of its run
// alone: they warm up in a run of their own, and ramp is 0.
func netperfClient(test string, message []string, server netip.Addr, t bench.Timing, ramp time.Duration) (bench.Part, error) {
	measure, err := measured(t)
	if err != nil {
		return bench.Part{}, err
	}
	call := func(length time.Duration) (bench.Command, error) {
		limit, err := timeout(t, length)
		if err != nil {
			return bench.Command{}, err
		}
		argv := slices.Concat([]string{"netperf", family(server), "-H", server.String(), "-p", strconv.Itoa(netperfPort),
			"-t", test, "-l", wholeSeconds(length), "-P", "0", "--"}, message, []string{"-k", netperfKeys})
		return bench.Command{Argv: argv, Timeout: limit}, nil
	}
	main, err := call(ramp + measure)
	if err != nil {
		return bench.Part{}, err
	}
	steps := bench.Part{Main: netperfInterim(main, measure), Ramp: ramp}
	if t.Warmup > ramp {
		warm, err := call(t.Warmup)
		if err != nil {
			return bench.Part{}, err
		}
		steps.Warm = []bench.Command{warm}
	}
	return steps, nil
}

// netperfKeys are what netperf is asked for.
const netperfKeys = "THROUGHPUT,THROUGHPUT_UNITS,ELAPSED_TIME,LOCAL_SEND_SIZE,REMOTE_SEND_SIZE,REQUEST_SIZE,RESPONSE_SIZE," +
	"MEAN_LATENCY,P50_LATENCY,P90_LATENCY,P99_LATENCY"

// family is the option that keeps both ends to the address's own family.
func family(addr netip.Addr) string {
	if addr.Is4() {
		return "-4"
	}
	return "-6"
}

func (w netperf) Parse(p bench.Params, s bench.Setting, out bench.Output) ([]bench.Value, error) {
	size, test, t := p["message-size"], p["test"], w.within(p, s.Timing)
	if roundTrips(test) {
		return parseNetperf(test, t, out, "REQUEST_SIZE", size, "RESPONSE_SIZE", size)
	}
	if test == "TCP_MAERTS" {
		return parseNetperf(test, t, out, "REMOTE_SEND_SIZE", size)
	}
	return parseNetperf(test, t, out, "LOCAL_SEND_SIZE", size)
}

// within is the timing of the measured run, with the part of the warm-up that is in it. A transfer that
// may take turns has none: turns count all of a run.
func (netperf) within(p bench.Params, t bench.Timing) bench.Timing {
	if p["test"] != "TCP_STREAM" {
		t.Warmup = 0
	}
	return t
}

// parseNetperf reads a test's output, of a run that warmed up for t.Warmup; sizes are the keys of those that must have been used, and what
// they must be.
func parseNetperf(test string, t bench.Timing, out bench.Output, sizes ...string) ([]bench.Value, error) {
	if err := finished("netperf", out); err != nil {
		return nil, err
	}
	fields, err := netperfFields(out.Stdout)
	if err != nil {
		return nil, err
	}
	unit, wanted := netperfUnit(test), []struct{ metric, key string }{{"throughput", "THROUGHPUT"}}
	if roundTrips(test) {
		wanted = []struct{ metric, key string }{
			{"transactions", "THROUGHPUT"}, {"mean_latency", "MEAN_LATENCY"}, {"p99_latency", "P99_LATENCY"}}
	}
	if got, ok := fields["THROUGHPUT_UNITS"]; !ok || got != unit {
		return nil, fmt.Errorf("netperf: THROUGHPUT_UNITS is %q, not %q, in %s", got, unit, excerpt(out.Stdout))
	}
	for pair := range slices.Chunk(sizes, 2) {
		if got := fields[pair[0]]; got != pair[1] {
			return nil, fmt.Errorf("netperf: %s is %q, not %q, in %s", pair[0], got, pair[1], excerpt(out.Stdout))
		}
	}
	var values []bench.Value
	for _, q := range wanted {
		text, ok := fields[q.key]
		if !ok {
			return nil, fmt.Errorf("netperf: %s: %w in %s", q.key, errMissing, excerpt(out.Stdout))
		}
		v, err := positive(text)
		if err != nil {
			return nil, fmt.Errorf("netperf: %s: %w", q.key, err)
		}
		values = append(values, bench.Value{Metric: q.metric, Value: v})
	}
	if t.Warmup > 0 {
		v, err := netperfSince(out.Stdout, test, t, values[0].Value)
		if err != nil {
			return nil, fmt.Errorf("netperf: %w", err)
		}
		values[0].Value = v
	}
	return values, nil
}

// netperfUnit is the unit in which netperf gives a test's throughput.
func netperfUnit(test string) string {
	if roundTrips(test) {
		return "Trans/s"
	}
	return "10^6bits/s"
}

// netperfFields are the values that netperf printed, by their names.
func netperfFields(stdout []byte) (map[string]string, error) {
	fields := make(map[string]string)
	for line := range strings.Lines(string(stdout)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(key, "NETPERF_") {
			if _, twice := fields[key]; twice {
				return nil, fmt.Errorf("netperf: %s: found twice in %s", key, excerpt(stdout))
			}
			fields[key] = value
		}
	}
	return fields, nil
}
