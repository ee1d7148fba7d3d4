package guest

import (
	"net/netip"
	"strings"
	"testing"
)

func TestParseNetwork(t *testing.T) {
	full := network{netip.MustParsePrefix("10.1.2.3/24"), netip.MustParseAddr("10.1.2.1")}
	for cmdline, want := range map[string]*network{
		"":                                     nil,
		"console=ttyS0 quiet tare.gw=10.1.2.1": nil,
		"quiet tare.ip=10.1.2.3/24 tare.gw=10.1.2.1 panic=-1\n": &full,
		"tare.ip=10.1.2.3/24": {addr: full.addr},
	} {
		got, err := parseNetwork(cmdline)
		if err != nil || (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%q: %+v, %v; want %+v", cmdline, got, err, want)
		}
	}
	for _, word := range []string{"tare.ip=10.1.2.3", "tare.ip=", "tare.ip=10.1.2.3/33", "tare.ip=fd00::1/64", "tare.gw=", "tare.gw=fd00::1", "tare.gw=10.1.2"} {
		if n, err := parseNetwork("quiet " + word); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q: %+v, %v", word, n, err)
		}
	}
}

func FuzzParseNetwork(f *testing.F) {
	f.Add("quiet tare.ip=10.1.2.3/24 tare.gw=10.1.2.1")
	f.Fuzz(func(t *testing.T, cmdline string) {
		n, err := parseNetwork(cmdline)
		if err == nil && n != nil && (!n.addr.Addr().Is4() || n.gateway.IsValid() && !n.gateway.Is4()) {
			t.Fatalf("%q gives %+v", cmdline, n)
		}
	})
}
