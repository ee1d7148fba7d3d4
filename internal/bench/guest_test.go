package bench

import (
	"net/netip"
	"strings"
	"testing"
)

func TestCmdline(t *testing.T) {
	k := OwnKernel{Append: "ip={address}::{gateway}:{netmask} -- {address}/{prefix} {mac} {port}", Port: 8080}
	l := Lease{Addr: netip.MustParsePrefix("10.99.0.5/22"), Gateway: netip.MustParseAddr("10.99.0.1"), MAC: "02:00:00:00:00:05"}
	if got, want := k.Cmdline(l), "ip=10.99.0.5::10.99.0.1:255.255.252.0 -- 10.99.0.5/22 02:00:00:00:00:05 8080"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// What passes has no placeholder that is left as it is.
func FuzzCheckAppend(f *testing.F) {
	f.Add("ip={address} {port}")
	f.Add("{{port}}")
	f.Add("{adress")
	l := Lease{Addr: netip.MustParsePrefix("10.99.0.5/24"), Gateway: netip.MustParseAddr("10.99.0.1")}
	f.Fuzz(func(t *testing.T, line string) {
		if err := CheckAppend(line); err != nil {
			if !strings.Contains(err.Error(), "invalid") {
				t.Errorf("%q: %v", line, err)
			}
			return
		}
		k := OwnKernel{Append: line}
		if got := k.Cmdline(l); strings.Contains(got, "{") {
			t.Errorf("%q becomes %q", line, got)
		}
	})
}
