package selftest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/host"
)

func TestCertificateIsCitedOnItsHostOnly(t *testing.T) {
	dir := t.TempDir()
	if c, err := Read(dir); c != nil || err != nil {
		t.Fatalf("from nowhere: %v, %v", c, err)
	}
	here := host.Facts{Hostname: "a<b", Kernel: "6.1"}
	w := Certificate{Date: "2026-01-02T03:04:05Z", Host: here, AA: &AA{Different: proportion(1, 200)}}
	if err := w.Write(dir); err != nil {
		t.Fatal(err)
	}
	c, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Citation(&here); got != "self-test of 2026-01-02 on this host: 1 of 200 (0.0-2.8 %) identical pairs called different" {
		t.Error(got)
	}
	if got := c.Citation(&host.Facts{Hostname: "a<b", Kernel: "6.2"}); !strings.HasPrefix(got, "no self-test") {
		t.Error(got)
	}
	html, err := os.ReadFile(filepath.Join(dir, "certificate.html"))
	if err != nil || !strings.Contains(string(html), "1 of 200") || strings.Contains(string(html), "a<b") {
		t.Errorf("the page: %v\n%s", err, html)
	}
	if err := os.WriteFile(filepath.Join(dir, "certificate.json"), []byte("{\"format\":\"x/9\"}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err == nil {
		t.Error("another format was read")
	}
}
