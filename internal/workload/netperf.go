package workload

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
)

// netperf talks to a netserver on the other end: the network benchmark of
// tesfatsion2018 section 3.1.4. TCP_STREAM sends from the instance to the peer
// in messages of the size; TCP_RR sends a message and waits for one as large.
// The receiving size of the stream is left to netperf, so that a small message
// burdens the instance and not the peer.
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
		{Name: "test", Kind: bench.KindWord, Default: "TCP_STREAM", Words: []string{"TCP_STREAM", "TCP_RR"},
			Doc: "one-way bulk transfer out of the instance, or request and response"},
		{Name: "message-size", Kind: bench.KindSize, Default: "1KiB", Min: 1,
			Doc: "bytes handed over at a time; request and response alike"},
	}
}

func (netperf) Metrics(p bench.Params) ([]bench.Metric, error) {
	if p["test"] == "TCP_RR" {
		return []bench.Metric{
			{Name: "transactions", Unit: "transactions/s", Better: bench.HigherIsBetter, Combine: bench.Sum,
				Doc: "round trips finished per second"},
			{Name: "mean_latency", Unit: "us", Better: bench.LowerIsBetter, Combine: bench.Mean, Headline: true,
				Doc: "mean time of a round trip"},
			{Name: "p99_latency", Unit: "us", Better: bench.LowerIsBetter, Combine: bench.Max,
				Doc: "99th percentile of the time of a round trip"},
		}, nil
	}
	return []bench.Metric{
		{Name: "throughput", Unit: "Mbit/s", Better: bench.HigherIsBetter, Combine: bench.Sum, Headline: true,
			Doc: "data sent to the peer, in millions of bits per second"},
	}, nil
}

func (w netperf) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	addr, ok := s.Addr[netperfServer]
	if !ok || !addr.IsValid() {
		return bench.Part{}, fmt.Errorf("netperf: no address of its server: %w", bench.ErrInvalid)
	}
	measure, err := measured(s.Timing)
	if err != nil {
		return bench.Part{}, err
	}
	switch part {
	case netperfServer:
		return bench.Part{
			Main: bench.Command{
				Argv:    []string{"netserver", "-D", family(addr), "-L", addr.String(), "-p", strconv.Itoa(netperfPort)},
				Timeout: serviceLimit,
			},
			Service: true,
			Listen:  netperfPort,
		}, nil
	case bench.SubjectPart:
		main, err := w.client(p, s.Timing, addr, measure)
		if err != nil {
			return bench.Part{}, err
		}
		steps := bench.Part{Main: netperfInterim(main, measure)}
		if s.Timing.Warmup > 0 {
			warm, err := w.client(p, s.Timing, addr, s.Timing.Warmup)
			if err != nil {
				return bench.Part{}, err
			}
			steps.Warm = []bench.Command{warm}
		}
		return steps, nil
	}
	return bench.Part{}, unknownPart(w, part)
}

func (netperf) client(p bench.Params, t bench.Timing, server netip.Addr, length time.Duration) (bench.Command, error) {
	limit, err := timeout(t, length)
	if err != nil {
		return bench.Command{}, err
	}
	size := p["message-size"]
	message := []string{"-m", size}
	if p["test"] == "TCP_RR" {
		message = []string{"-r", size + "," + size}
	}
	argv := append([]string{"netperf", family(server), "-H", server.String(), "-p", strconv.Itoa(netperfPort),
		"-t", p["test"], "-l", wholeSeconds(length), "-P", "0", "--"}, message...)
	return bench.Command{
		Argv: append(argv, "-k", "THROUGHPUT,THROUGHPUT_UNITS,ELAPSED_TIME,LOCAL_SEND_SIZE,REQUEST_SIZE,RESPONSE_SIZE,"+
			"MEAN_LATENCY,P50_LATENCY,P90_LATENCY,P99_LATENCY"),
		Timeout: limit,
	}, nil
}

// family is the option that keeps both ends to the address's own family.
func family(addr netip.Addr) string {
	if addr.Is4() {
		return "-4"
	}
	return "-6"
}

func (w netperf) Parse(p bench.Params, _ bench.Setting, out bench.Output) ([]bench.Value, error) {
	if err := finished("netperf", out); err != nil {
		return nil, err
	}
	fields, err := netperfFields(out.Stdout)
	if err != nil {
		return nil, err
	}
	// What is read, the unit it must be in, and the sizes that must have been used.
	unit, sizes := "10^6bits/s", []string{"LOCAL_SEND_SIZE"}
	wanted := []struct{ metric, key string }{{"throughput", "THROUGHPUT"}}
	if p["test"] == "TCP_RR" {
		unit, sizes = "Trans/s", []string{"REQUEST_SIZE", "RESPONSE_SIZE"}
		wanted = []struct{ metric, key string }{
			{"transactions", "THROUGHPUT"}, {"mean_latency", "MEAN_LATENCY"}, {"p99_latency", "P99_LATENCY"}}
	}
	if got, ok := fields["THROUGHPUT_UNITS"]; !ok || got != unit {
		return nil, fmt.Errorf("netperf: THROUGHPUT_UNITS is %q, not %q, in %s", got, unit, excerpt(out.Stdout))
	}
	for _, key := range sizes {
		if fields[key] != p["message-size"] {
			return nil, fmt.Errorf("netperf: %s is %q, not %q, in %s", key, fields[key], p["message-size"], excerpt(out.Stdout))
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
	return values, nil
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
