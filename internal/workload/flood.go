package workload

import (
	"fmt"
	"net/netip"
	"strconv"

	"tare/internal/bench"
)

// flood makes the instance the victim of packets that come as fast as another
// machine can send them: TCP SYN, as in tesfatsion2018 section 4.4.4, or small
// UDP packets, as in sharma2016 section 4.2.4. The victim has a server; hping3
// sends from the peer, over the wire and bridge that the subject's packets take.
type flood struct{}

const (
	floodAttacker = "attacker"
	floodPort     = 9009
)

// The servers in perl. Accepted connections are closed; packets are read and dropped.
const (
	synServer = `use Socket; socket(S, PF_INET, SOCK_STREAM, 0) && setsockopt(S, SOL_SOCKET, SO_REUSEADDR, 1) && ` +
		`bind(S, sockaddr_in(shift, INADDR_ANY)) && listen(S, 128) or die "listen: $!"; while (accept(C, S)) { close C }`
	udpServer = `use Socket; socket(S, PF_INET, SOCK_DGRAM, 0) && bind(S, sockaddr_in(shift, INADDR_ANY)) or die "bind: $!"; ` +
		`while (defined recv(S, $b, 64, 0)) {}`
)

func (flood) Name() string { return "flood" }

func (flood) Summary() string {
	return "a neighbour under a flood of TCP SYN or small UDP packets from its peer, by hping3"
}

func (flood) Resource() string { return "network" }

func (flood) Parts() []string { return []string{floodAttacker} }

func (flood) Programs() []string { return []string{"perl", "hping3"} }

// Attacks: the sender does; the instance suffers.
func (flood) Attacks(part string) bool { return part == floodAttacker }

func (flood) Params() []bench.Param {
	return []bench.Param{
		{Name: "kind", Kind: bench.KindWord, Default: "syn", Words: []string{"syn", "udp"},
			Doc: "syn: TCP SYN packets to a listening port; udp: packets of one byte to an open one"},
	}
}

func (flood) Metrics(bench.Params) ([]bench.Metric, error) { return nil, nil }

func (w flood) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	port := strconv.Itoa(floodPort)
	var argv []string
	listen := 0
	switch part {
	case bench.SubjectPart:
		server := synServer
		if p["kind"] == "udp" {
			server = udpServer
		} else {
			listen = floodPort
		}
		argv = []string{"perl", "-e", server, port}
	case floodAttacker:
		victim := s.Addr[bench.SubjectPart]
		if !within(victim) {
			return bench.Part{}, fmt.Errorf("flood: %v is not an address of the run's own network: %w", victim, bench.ErrInvalid)
		}
		argv = []string{"hping3", "--quiet", "--numeric", "--flood", "--destport", port}
		if p["kind"] == "udp" {
			argv = append(argv, "--udp", "--data", "1")
		} else {
			argv = append(argv, "--syn")
		}
		argv = append(argv, victim.String())
	default:
		return bench.Part{}, unknownPart(w, part)
	}
	return bench.Part{Main: bench.Command{Argv: argv, Timeout: serviceLimit}, Service: true, Listen: listen}, nil
}

// planned is the network whose addresses a plan puts in place of those a run
// will have (RFC 5737).
var planned = netip.MustParsePrefix("192.0.2.0/24")

// within says whether an address may be flooded. All addresses of a test network are
// private ones; there is no way out of its namespace either.
func within(a netip.Addr) bool {
	return a.Is4() && (a.IsPrivate() || planned.Contains(a))
}

// Parse returns nothing: an adversary is not measured.
func (flood) Parse(bench.Params, bench.Setting, bench.Output) ([]bench.Value, error) {
	return nil, nil
}
