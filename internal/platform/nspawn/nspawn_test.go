package nspawn

import (
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/launch/launchtest"
	"tare/internal/platform/platformtest"
)

func TestConformance(t *testing.T) { platformtest.Run(t, New(), platformtest.Options{}) }

func TestConformanceUserns(t *testing.T) {
	platformtest.Run(t, New(), platformtest.Options{Options: map[string]string{"userns": "yes"}})
}

func TestVariants(t *testing.T) {
	launchtest.Variants(t, New(), []map[string]string{
		{"net": "veth"}, {"net": "host"}, {"net": "none"}, {"userns": "yes"},
	}, nil)
}

func TestCrash(t *testing.T) {
	if _, err := New().Check(t.Context()); err != nil {
		t.Skip(err)
	}
	launchtest.Crash(t, "nspawncrash", func(string) bench.Platform { return New() }, []launchtest.Moment{
		{Step: "start"}, {Step: "start", After: 10 * time.Millisecond}, {Step: "start", After: 40 * time.Millisecond},
		{Step: "start", After: 70 * time.Millisecond}, {Step: "greeted"}, {Step: "close"}, {Step: "close", After: 10 * time.Millisecond},
	})
}

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]string{
		"systemd 252 (252.39-1~deb12u2)\n+PAM +AUDIT\n": "252.39-1~deb12u2",
		"systemd 257 (257.7-1)\n":                       "257.7-1",
		"":                                              "", "bash 5\n": "", "systemd 252": "", "systemd x (y)": "",
	} {
		if got, err := parseVersion(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
}

func FuzzParseVersion(f *testing.F) {
	f.Add("systemd 252 (252.39-1~deb12u2)\n")
	f.Add("systemd 252 ()")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := parseVersion(text)
		if (err == nil) == (v == "") || !strings.Contains(text, v) {
			t.Errorf("%q: %q, %v", text, v, err)
		}
	})
}
