package bench

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

// Further hosts have names that are no options of ssh, and reach subjects at private addresses alone.
func TestFurtherHosts(t *testing.T) {
	good := FurtherHost{Name: "load1.lab", Reach: netip.MustParsePrefix("10.0.0.7/24"), Config: "/etc/ssh-own"}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*FurtherHost){
		"not the name":                 func(h *FurtherHost) { h.Name = "-oProxyCommand=reboot" },
		`"local" is not the name`:      func(h *FurtherHost) { h.Name = LocalHost },
		"a@b":                          func(h *FurtherHost) { h.Name = "a@b" },
		"full path":                    func(h *FurtherHost) { h.Config = "own" },
		"not a private":                func(h *FurtherHost) { h.Reach = netip.MustParsePrefix("8.8.8.8/24") },
		"prefix length":                func(h *FurtherHost) { h.Reach = netip.Prefix{} },
		"fd00::1/64":                   func(h *FurtherHost) { h.Reach = netip.MustParsePrefix("fd00::1/64") },
		"10.0.0.7/32":                  func(h *FurtherHost) { h.Reach = netip.MustParsePrefix("10.0.0.7/32") },
		"10.0.0.0/24 is the address":   func(h *FurtherHost) { h.Reach = netip.MustParsePrefix("10.0.0.0/24") },
		"10.0.0.255/24 is the address": func(h *FurtherHost) { h.Reach = netip.MustParsePrefix("10.0.0.255/24") },
	} {
		h := good
		change(&h)
		if err := h.Check(); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", h, err, want)
		}
	}
}
