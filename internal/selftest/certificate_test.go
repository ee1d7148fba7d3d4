package selftest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/host"
)

func found(p Part, size int, complete bool) *Finding {
	return &Finding{Part: p, Size: size, Unit: "comparisons", Complete: complete, Data: size,
		Claims: []Claim{{"a claim", "1 of 200", Yes}}, Tables: []Table{{Title: "T", Head: []string{"x"}, Rows: [][]string{{"a<b"}}}}}
}

func TestKeepKeepsTheLarger(t *testing.T) {
	here, there := host.Facts{Hostname: "h", Kernel: "6.1"}, host.Facts{Hostname: "h", Kernel: "6.2"}
	for _, c := range []struct {
		name     string
		old, new *Finding
		version  string
		host     host.Facts
		force    bool
		want     string
	}{
		{"the first", nil, found(PartAA, 5, false), "1", here, false, "5"},
		{"larger", found(PartAA, 5, true), found(PartAA, 6, true), "1", here, false, "6"},
		{"as large", found(PartAA, 5, true), found(PartAA, 5, true), "1", here, false, "5"},
		{"smaller", found(PartAA, 5, true), found(PartAA, 4, true), "1", here, false, "kept"},
		{"smaller by force", found(PartAA, 5, true), found(PartAA, 4, true), "1", here, true, "4"},
		{"interrupted", found(PartAA, 5, true), found(PartAA, 9, false), "1", here, false, "kept"},
		{"complete after interrupted", found(PartAA, 9, false), found(PartAA, 5, true), "1", here, false, "5"},
		{"interrupted twice, shorter", found(PartAA, 9, false), found(PartAA, 5, false), "1", here, false, "kept"},
		{"smaller of another version", found(PartAA, 5, true), found(PartAA, 4, true), "2", here, false, "4"},
		{"smaller on another host", found(PartAA, 5, true), found(PartAA, 4, true), "1", there, false, "4"},
	} {
		var cert *Certificate
		if c.old != nil {
			cert, _, _ = cert.Keep(c.old, Origin{Tare: "1", Date: "2026-01-02T03:04:05Z"}, here, false)
		}
		got, kept, err := cert.Keep(c.new, Origin{Tare: c.version}, c.host, c.force)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Sections) != 1 || got.Host.Kernel != c.host.Kernel {
			t.Errorf("%s: %+v", c.name, got)
			continue
		}
		switch data := string(got.Section(PartAA).Data); {
		case c.want == "kept" && (data == "4" || kept == "" || !strings.Contains(kept, "2026-01-02")):
			t.Errorf("%s: %s, %q", c.name, data, kept)
		case c.want != "kept" && (data != c.want || kept != ""):
			t.Errorf("%s: %s, want %s, %q", c.name, data, c.want, kept)
		}
	}
}

func TestCertificateIsCitedOnItsHostOnly(t *testing.T) {
	dir := t.TempDir()
	none, err := Read(dir)
	if none != nil || err != nil {
		t.Fatalf("from nowhere: %v, %v", none, err)
	}
	here := host.Facts{Hostname: "a<b", Kernel: "6.1"}
	if none.Cited(&here) != nil {
		t.Error("nothing was cited")
	}
	w, _, err := none.Keep(found(PartStop, 3, true), Origin{Tare: "1", Date: "2026-01-02T03:04:05Z"}, here, false)
	if err != nil {
		t.Fatal(err)
	}
	aa := AA{Mistakes: Mistakes{Excludes: proportion(1, 60)}}
	w, _, err = w.Keep(aa.Finding(true), Origin{Tare: "1", Date: "2026-01-03T03:04:05Z", Command: []string{"tare", "selftest", "aa"}}, here, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(dir); err != nil {
		t.Fatal(err)
	}
	c, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	cited := c.Cited(&here)
	if cited == nil || len(cited.Claims) != 3 || cited.Claims[0].Part != "aa" || cited.Claims[2].Part != "stop" {
		t.Fatalf("%+v", cited)
	}
	if got := cited.Claims[0]; got.Found != "1 of 60 (0.0-8.9 %)" || got.RestsOn != "60 comparisons, fewer than 200" || got.Held != "open" {
		t.Errorf("%+v", got)
	}
	if c.Section(PartAA).Complete {
		t.Error("60 comparisons passed for complete")
	}
	if c.Cited(&host.Facts{Hostname: "a<b", Kernel: "6.2"}) != nil {
		t.Error("cited on another host")
	}
	html, err := os.ReadFile(filepath.Join(dir, "certificate.html"))
	if err != nil || !strings.Contains(string(html), "1 of 200") || strings.Contains(string(html), "a<b") {
		t.Errorf("the page: %v\n%s", err, html)
	}
	for format, known := range map[string]bool{"tare-selftest/1": true, "x/9": false} {
		if err := os.WriteFile(filepath.Join(dir, "certificate.json"), []byte(`{"format":"`+format+`"}`), 0o644); err != nil {
			t.Fatal(err)
		}
		if c, err := Read(dir); c != nil || (err == nil) != known {
			t.Errorf("%s: %v, %v", format, c, err)
		}
	}
}

func TestHeldOnlyByTheWholeInterval(t *testing.T) {
	for _, c := range []struct {
		k, n                     int
		atMost, atLeast, nominal Held
	}{
		{1, 200, Yes, No, Yes}, {7, 200, Open, No, Yes}, {30, 200, No, No, No}, {20, 20, No, Open, No}, {60, 60, No, Yes, No}, {0, 0, Open, Open, Open},
		{7, 199, Open, No, Open},
	} {
		p := proportion(c.k, c.n)
		if got := AtMost(p, 0.05); got != c.atMost {
			t.Errorf("%v at most 5 %%: %s, want %s", p, got, c.atMost)
		}
		if got := Nominal(p, 0.05, 200); got != c.nominal {
			t.Errorf("%v nominally 5 %%: %s, want %s", p, got, c.nominal)
		}
		if got := AtLeast(p, 0.9); got != c.atLeast {
			t.Errorf("%v at least 90 %%: %s, want %s", p, got, c.atLeast)
		}
	}
}
