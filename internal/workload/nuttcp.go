package workload

import (
	"bytes"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"tare/internal/bench"
)

// nuttcp sends over one TCP connection in one direction, as in felter2014 section 3.5. Its server is on
// a machine beside the instance or in the instance, and its client at the other end. The client opens
// both connections (-F), so that an instance that cannot be called may receive, too.
type nuttcp struct{}

const (
	nuttcpPeer = "peer"
	nuttcpPort = 5000 // its own, for control; data go to 5101
)

func (nuttcp) Name() string { return "nuttcp" }

func (nuttcp) Summary() string {
	return "TCP throughput out of the instance or into it, by nuttcp, with the server at either end"
}

func (nuttcp) Resource() string { return "network" }

func (nuttcp) Parts() []string { return []string{nuttcpPeer} }

// Family implements [bench.Familied].
func (nuttcp) Family() string { return "nuttcp" }

func (nuttcp) Programs() []string { return []string{"nuttcp", "sh", "cat"} }

func (nuttcp) Params() []bench.Param {
	return []bench.Param{
		{Name: "direction", Kind: bench.KindWord, Default: "out", Words: []string{"out", "in"}, Doc: "whether data leave the instance or come into it"},
		{Name: "server", Kind: bench.KindWord, Default: "outside", Words: []string{"outside", "inside"},
			Doc: "where the server is; the client, which opens the connection and is read, is at the other end"},
		{Name: "message-size", Kind: bench.KindSize, Default: "64KiB", Min: 1, Max: float64(64 * bench.MiB), Doc: "bytes that both ends hand over at a time"},
	}
}

func (nuttcp) Metrics(bench.Params) ([]bench.Metric, error) {
	return []bench.Metric{{Name: "throughput", Unit: "Mbit/s", Better: bench.HigherIsBetter, Combine: bench.Sum, Headline: true,
		Doc: "data that the receiver got, in millions of bits per second"}}, nil
}

func (w nuttcp) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	if part != bench.SubjectPart && part != nuttcpPeer {
		return bench.Part{}, unknownPart(w, part)
	}
	inside := p["server"] == "inside"
	addr, err := served(w, s)
	if !inside {
		if addr = s.Addr[nuttcpPeer]; !addr.IsValid() {
			return bench.Part{}, fmt.Errorf("nuttcp: no address of its server: %w", bench.ErrInvalid)
		}
	} else if err != nil {
		return bench.Part{}, err
	}
	if (part == bench.SubjectPart) == inside {
		return bench.Part{
			Main: bench.Command{Argv: []string{"nuttcp", "-S", "--nofork", family(addr), "-P", strconv.Itoa(nuttcpPort)}, Timeout: serviceLimit},
			// On all addresses: the one it is called at may be another's that passes on.
			Service: true, Listen: nuttcpPort, Further: true,
		}, nil
	}
	way := []string{"-t"}
	switch {
	case inside && p["direction"] == "out":
		way = []string{"-r"}
	case !inside && p["direction"] == "in":
		way = []string{"-r", "-F"}
	}
	return nuttcpClient(way, p["message-size"], addr, s.Timing)
}

// nuttcpClient warms up on the connection that is then measured, and has the receiver tell what it got.
func nuttcpClient(way []string, size string, server netip.Addr, t bench.Timing) (bench.Part, error) {
	measure, err := measured(t)
	if err != nil {
		return bench.Part{}, err
	}
	limit, err := timeout(t, t.Warmup+measure)
	if err != nil {
		return bench.Part{}, err
	}
	argv := slices.Concat([]string{"nuttcp"}, way, []string{family(server), "-P", strconv.Itoa(nuttcpPort), "-l", size,
		"-T", seconds(t.Warmup + measure), "-i", seconds(seriesStep(measure)), "-fparse", server.String()})
	return bench.Part{Main: shownAtEnd(bench.Command{Argv: argv, Timeout: limit}), Ramp: t.Warmup}, nil
}

func (nuttcp) Parse(_ bench.Params, s bench.Setting, out bench.Output) ([]bench.Value, error) {
	if err := finished("nuttcp", out); err != nil {
		return nil, err
	}
	all, err := nuttcpSpells(out.Stdout)
	if err != nil {
		return nil, fmt.Errorf("nuttcp: %w", err)
	}
	rate, err := meanSince(all, s.Timing)
	if err != nil {
		return nil, fmt.Errorf("nuttcp: %w", err)
	}
	return []bench.Value{{Metric: "throughput", Value: rate}}, nil
}

// Series is what the receiver got per second.
func (nuttcp) Series(_ bench.Params, s bench.Setting, out bench.Output) ([]bench.Series, error) {
	all, err := nuttcpSpells(out.Stdout)
	if err != nil {
		return nil, fmt.Errorf("nuttcp: %w", err)
	}
	return seriesSince("throughput", all, s.Timing)
}

// nuttcpMbit is a MiB, as nuttcp counts, in millions of bits.
const nuttcpMbit = 8 * 1 << 20 / 1e6

// nuttcpSpells reads a line for each interval, and one for all of the run, whose end no interval tells.
func nuttcpSpells(stdout []byte) ([]spell, error) {
	var spells []spell
	var end, got float64 // in s, and millions of bits, up to the last interval
	var total bool
	for line := range bytes.Lines(stdout) {
		fields := strings.Fields(string(line))
		// Where the kernel does not tell what is left to send, as gVisor's, it does not wait for that.
		if len(fields) == 0 || bytes.HasSuffix(bytes.TrimSpace(line), []byte(": couldn't get SIOCOUTQ value")) {
			continue
		}
		bad := func(format string, a ...any) error {
			return fmt.Errorf("line %q: %w", strings.TrimSpace(string(line)), fmt.Errorf(format, a...))
		}
		if total {
			return nil, bad("it follows that of the whole run")
		}
		all := map[string]string{}
		for _, f := range fields {
			key, value, _ := strings.Cut(f, "=")
			all[key] = value
		}
		took, isInterval := all["real_sec"]
		if !isInterval {
			took, total = all["real_seconds"]
			if !total {
				return nil, bad("not of an interval, nor of the whole run")
			}
		}
		var v [3]float64
		for i, text := range []string{took, all["megabytes"], all["rate_Mbps"]} {
			n, err := number(text)
			if err != nil || n < 0 || n > 1e12 {
				return nil, bad("%q: not a time, an amount or a rate", text)
			}
			v[i] = n
		}
		// The time has two decimals, and is also what was got by the rate.
		length, mbit := v[0], v[1]*nuttcpMbit
		if v[2] > 0 {
			length = mbit / v[2]
		}
		if !(math.Abs(length-v[0]) <= 0.01+length/1000) {
			return nil, bad("%.4g s by the rate and not %s", length, took)
		}
		if total {
			length, mbit = length-end, mbit-got
		}
		switch {
		case mbit < -nuttcpMbit || length < -shortSpell:
			return nil, bad("the intervals before have more than that")
		case length < shortSpell && total:
			continue
		case !(length > 0):
			return nil, bad("an interval of no time")
		}
		mbit = max(0, mbit)
		spells = append(spells, spell{end, end + length, mbit / length})
		end, got = end+length, got+mbit
	}
	if !total {
		return nil, fmt.Errorf("the line of the whole run: %w in %s", errMissing, excerpt(stdout))
	}
	return spells, nil
}

// shortSpell is how many seconds the last interval must have to be told from none.
const shortSpell = 0.002
