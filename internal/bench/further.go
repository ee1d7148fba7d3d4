package bench

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"regexp"
	"strings"
)

// LocalHost is the host that Tare runs on, as an actor's host.
const LocalHost = "local"

// FurtherHost is another machine, on which peers run.
type FurtherHost struct {
	// Name is what the user's ssh knows it by.
	Name string `json:"name"`
	// Reach is the address at which it finds the subjects, with the length of the network's prefix.
	Reach netip.Prefix `json:"reach"`
	// Config is the configuration file that ssh reads instead of the user's own; "" for that.
	Config string `json:"config,omitempty"`
}

// Away says that the actor runs on a further host.
func (a Actor) Away() bool { return a.Host != LocalHost && a.Host != "" }

var hostName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Check is an error for a host that nothing may be asked of.
func (h FurtherHost) Check() error {
	switch {
	case !hostName.MatchString(h.Name) || h.Name == LocalHost:
		return fmt.Errorf("%q is not the name of a further host: %w%w", h.Name, ErrInvalid, Hint("letters, digits, - _ and ., at most 64, as Host in the configuration of ssh"))
	case h.Config != "" && (!filepath.IsAbs(h.Config) || strings.ContainsAny(h.Config, "\n\x00")):
		return fmt.Errorf("%q is not the full path of a configuration of ssh: %w", h.Config, ErrInvalid)
	}
	return CheckReach(h.Reach)
}

// CheckReach is an error for an address at which no subject may be found.
func CheckReach(p netip.Prefix) error {
	switch a := p.Addr(); {
	case !p.IsValid() || !a.Is4() || p.Bits() > 30 || p.Bits() < 8:
		return fmt.Errorf("%q is not an address with a prefix length: %w%w", p, ErrInvalid, Hint("such as 10.0.0.7/24: a free address of a network that both hosts are on"))
	case !a.IsPrivate():
		return fmt.Errorf("%v is not a private address: %w%w", a, ErrInvalid, Hint("servers under test are shown to no public network: take one of 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16"))
	case a == p.Masked().Addr() || !p.Contains(a.Next()):
		return fmt.Errorf("%v is the address of the network, or of all in it: %w%w", p, ErrInvalid, Hint("name a free address of a host there"))
	}
	return nil
}
