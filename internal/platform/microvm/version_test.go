package microvm

import (
	"strings"
	"testing"
)

func TestParseVersion(t *testing.T) {
	for _, c := range []struct {
		banner, out string
		want        Version
	}{
		{"Firecracker v", "Firecracker v1.12.0\n\n", Version{1, 12, "1.12.0"}},
		{"Firecracker v", "Firecracker v1.7.0\n\nSupported snapshot data format versions: v2.0.0\n", Version{1, 7, "1.7.0"}},
		{"Firecracker v", "2024-05-01T10:00:00.1 [anonymous-instance:main] Running Firecracker\nFirecracker v1.14.0-dev\n", Version{1, 14, "1.14.0-dev"}},
		{"cloud-hypervisor v", "cloud-hypervisor v41.0.0\n", Version{41, 0, "41.0.0"}},
		{"cloud-hypervisor v", "cloud-hypervisor v51.1-15-gabcdef-dirty\n", Version{51, 1, "51.1-15-gabcdef-dirty"}},
	} {
		if got, err := parseVersion(c.banner, c.out); got != c.want || err != nil {
			t.Errorf("%q: %+v, %v", c.out, got, err)
		}
	}
	for _, out := range []string{"", "crosvm v1.2", "Firecracker v", "Firecracker vnext", "Firecracker v1", "Firecracker v99999999999999999999.1", "Firecracker v1.99999999999999999999"} {
		if v, err := parseVersion("Firecracker v", out); err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(out, "Firecracker v")) {
			t.Errorf("%q: %+v, %v", out, v, err)
		}
	}
}

func TestAtLeast(t *testing.T) {
	for _, c := range []struct {
		v, w Version
		want bool
	}{
		{Version{1, 8, ""}, Version{1, 8, ""}, true}, {Version{1, 13, ""}, Version{1, 8, ""}, true},
		{Version{2, 0, ""}, Version{1, 13, ""}, true}, {Version{1, 7, ""}, Version{1, 8, ""}, false}, {Version{0, 25, ""}, Version{1, 8, ""}, false},
	} {
		if got := c.v.AtLeast(c.w); got != c.want {
			t.Errorf("%v at least %v: %t", c.v, c.w, got)
		}
	}
}

func FuzzParseVersion(f *testing.F) {
	f.Add("Firecracker v1.12.0\n\n")
	f.Add("cloud-hypervisor v41.0")
	f.Fuzz(func(t *testing.T, out string) {
		v, err := parseVersion("Firecracker v", out)
		if err == nil && (!strings.Contains(out, "Firecracker v"+v.Text) || v.Major < 0 || v.Minor < 0) {
			t.Errorf("%q: %+v", out, v)
		}
	})
}
