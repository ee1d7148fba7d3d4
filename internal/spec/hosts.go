package spec

import (
	"net/netip"
	"path/filepath"

	"tare/internal/bench"
)

var hostKeys = []string{"reach", "config"}

// hosts reads the further hosts that peers may run on.
func (d *decoder) hosts(n *node, e *Experiment) {
	if n == nil {
		return
	}
	if n.kind != mapping {
		d.fail(n.place, "hosts are written as a mapping, found %s%w", n.kindName(), bench.Hint("such as: hosts: {load1: {reach: 10.0.0.7/24}}"))
		return
	}
	for _, entry := range n.entries {
		h := bench.FurtherHost{Name: entry.key}
		at := entry.place
		f := d.fields(entry.value, "host "+h.Name, hostKeys)
		if r := f["reach"]; d.scalar(r, "an address such as 10.0.0.7/24") {
			at = r.place
			h.Reach, _ = netip.ParsePrefix(r.text) // else it is none, which Check says
			if !h.Reach.IsValid() {
				d.fail(at, "reach: %q is not an address with the length of its network's prefix%w", r.text, bench.Hint("such as 10.0.0.7/24: a free address of a network that both hosts are on"))
				d.known = append(d.known, h.Name)
				continue
			}
		} else if r == nil && entry.value.kind == mapping {
			d.fail(at, "host %s needs the address at which it finds the subjects%w", h.Name, bench.Hint("reach: 10.0.0.7/24, a free address of a network that both hosts are on"))
			d.known = append(d.known, h.Name)
			continue
		}
		if c := f["config"]; c != nil {
			if d.text(c, &h.Config); h.Config != "" {
				path, err := filepath.Abs(h.Config)
				if err != nil {
					d.fail(c.place, "config: %w", err)
				}
				h.Config = path
			}
		}
		d.known = append(d.known, h.Name)
		if !h.Reach.IsValid() {
			continue // said already
		}
		if err := h.Check(); err != nil {
			d.fail(at, "%w", err)
			continue
		}
		e.Hosts = append(e.Hosts, h)
		e.Places["hosts."+h.Name] = entry.place
	}
}

// host reads where an actor runs.
func (d *decoder) host(n *node, a *Actor) {
	if n == nil || !d.scalar(n, "the name of a host") {
		return
	}
	for _, name := range d.known {
		if n.text != name {
			continue
		}
		if a.Role != bench.Peer {
			d.fail(n.place, "a %s runs on this host: further ones are for peers, which load what is measured here%w", a.Role, bench.Hint("write host: local, or leave it out"))
			return
		}
		a.Host = name
		return
	}
	switch {
	case n.text == bench.LocalHost:
		a.Host = bench.LocalHost
	case len(d.known) == 0:
		d.fail(n.place, "unknown host %q%w", n.text, bench.Hint("name it beside scenes, with the address at which it finds the subjects: hosts: {"+n.text+": {reach: 10.0.0.7/24}}"))
	default:
		d.fail(n.place, "%w", bench.UnknownWord("host", n.text, append([]string{bench.LocalHost}, d.known...)))
	}
}
