package survey

import (
	"regexp"
	"strings"
)

// counters are what of a command's output changes by itself.
var counters = regexp.MustCompile(`\[\d+:\d+\]|^#.*|packets \d+ bytes \d+|(valid|preferred)_lft \S+`)

// Network lists links, addresses, routes and the rules of the firewall. A link's index is not part of its fact.
func (h Host) Network() []string {
	var f facts
	for kind, commands := range map[string][]string{
		"firewall": {"iptables-save", "ip6tables-save", "nft list ruleset"},
		"network":  {"ip -o addr", "ip route show table all", "ip rule", "ip netns"},
		"link":     {"ip -o link"},
	} {
		for _, command := range commands {
			for line := range h.printed(command) {
				line = strings.TrimSpace(counters.ReplaceAllString(line, ""))
				switch _, rest, _ := strings.Cut(line, ": "); {
				case line == "":
				case kind == "link":
					f.add(kind, "%s", rest)
				default:
					f.add(kind, "%s: %s", command, line)
				}
			}
		}
	}
	return f
}

// Sockets lists who listens.
func (h Host) Sockets() []string {
	var f facts
	for _, kind := range []string{"tcp", "tcp6", "udp", "udp6", "raw", "raw6"} {
		for line := range h.lines("proc/net/" + kind) {
			const listening = "0A"
			if fields := strings.Fields(line); len(fields) > 3 && fields[0] != "sl" && (fields[3] == listening || !strings.HasPrefix(kind, "tcp")) {
				f.add("socket", "%s %s", kind, fields[1])
			}
		}
	}
	for line := range h.lines("proc/net/unix") {
		if fields := strings.Fields(line); len(fields) > 7 && fields[0] != "Num" { // those with a name
			f.add("socket", "unix %s", fields[7])
		}
	}
	return f
}
