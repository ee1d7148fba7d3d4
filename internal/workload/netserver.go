package workload

import "tare/internal/bench"

// netserver is netperf the other way round: its server is in the instance, and a peer calls it, as a
// client calls a service. TCP_STREAM sends into the instance and TCP_MAERTS out of it; a round trip is
// a request to it and its response, of 100 and 200 bytes in felter2014 section 3.5.
type netserver struct{}

func (netserver) Name() string { return "netserver" }

func (netserver) Summary() string {
	return "throughput or round trips of a server in the instance, called by netperf from a machine beside it"
}

func (netserver) Resource() string { return "network" }

func (netserver) Parts() []string { return []string{servicePart} }

func (netserver) Programs() []string { return netperf{}.Programs() }

func (netserver) Params() []bench.Param {
	return []bench.Param{
		{Name: "test", Kind: bench.KindWord, Default: "TCP_STREAM", Words: []string{"TCP_STREAM", "TCP_MAERTS", "TCP_RR", "UDP_RR"},
			Doc: "bulk transfer into the instance, or out of it; request and response over TCP, or over UDP"},
		{Name: "message-size", Kind: bench.KindSize, Default: "16KiB", Min: 1, Doc: "bytes that a bulk transfer hands over at a time"},
		{Name: "request-size", Kind: bench.KindSize, Default: "100", Min: 1, Doc: "bytes of a request"},
		{Name: "response-size", Kind: bench.KindSize, Default: "200", Min: 1, Doc: "bytes of a response"},
	}
}

func (netserver) Metrics(p bench.Params) ([]bench.Metric, error) {
	return netperfMetrics(p["test"], "data sent to the instance, or by it"), nil
}

func (w netserver) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	addr, err := served(w, s)
	if err != nil {
		return bench.Part{}, err
	}
	switch part {
	case bench.SubjectPart:
		return netserverPart(family(addr)), nil // on all addresses: the one it is called at may be another's that passes on
	case servicePart:
		message := streamOf(p["test"], p["message-size"])
		if roundTrips(p["test"]) {
			message = []string{"-r", p["request-size"] + "," + p["response-size"]}
		}
		return netperfClient(p["test"], message, addr, s.Timing, w.within(p, s.Timing).Warmup)
	}
	return bench.Part{}, unknownPart(w, part)
}

// within is the timing of the measured run, with the part of the warm-up that is in it.
func (netserver) within(p bench.Params, t bench.Timing) bench.Timing {
	if roundTrips(p["test"]) {
		t.Warmup = 0
	}
	return t
}

func (w netserver) Parse(p bench.Params, s bench.Setting, out bench.Output) ([]bench.Value, error) {
	t := w.within(p, s.Timing)
	switch test := p["test"]; test {
	case "TCP_STREAM":
		return parseNetperf(test, t, out, "LOCAL_SEND_SIZE", p["message-size"])
	case "TCP_MAERTS":
		return parseNetperf(test, t, out, "REMOTE_SEND_SIZE", p["message-size"])
	default:
		return parseNetperf(test, t, out, "REQUEST_SIZE", p["request-size"], "RESPONSE_SIZE", p["response-size"])
	}
}

// Series is what was sent, or how many round trips were done, per second.
func (w netserver) Series(p bench.Params, s bench.Setting, out bench.Output) ([]bench.Series, error) {
	return netperfSeries(p["test"], w.within(p, s.Timing), out)
}
