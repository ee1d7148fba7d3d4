package report

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"tare/internal/analysis"
	"tare/internal/bench"
	"tare/internal/result"
	"tare/internal/result/store"
	"tare/internal/result/store/storetest"
)

// foreign is what no page may have: an element that runs, loads or leads away,
// or an attribute that a text has ended. A tag of ours has its attributes in quotes.
var foreign = regexp.MustCompile(`(?i)<(script|img|iframe|object|embed|form|base|link|a href="[^#])|<[a-z]+[^<>"]*\son[a-z]+=`)

// FuzzFolderToHTML: whatever bytes a folder's files have, the page of it is made
// or refused with bounded work, and nothing in it is but text.
func FuzzFolderToHTML(f *testing.F) {
	good := filepath.Join(f.TempDir(), "good")
	storetest.Synthetic(f, good, storetest.Options{Platforms: []bench.PlatformRef{{Name: "native"}, {Name: "docker"}},
		Cases: []string{"cpu"}, Blocks: 3, Seconds: 2}).Close()
	names := []string{"run.json", "plan.json", "host.json", "trials.jsonl", "samples/b01-t001.jsonl"}
	var files [][]byte
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(good, name))
		if err != nil {
			f.Fatal(err)
		}
		files = append(files, text)
	}
	seed := func(edits ...string) {
		texts := make([]string, len(files))
		for i, text := range files {
			texts[i] = strings.NewReplacer(edits...).Replace(string(text))
		}
		f.Add([]byte(texts[0]), []byte(texts[1]), []byte(texts[2]), []byte(texts[3]), []byte(texts[4]))
	}
	seed()
	seed(`"level":"host"`, `"level":"x\"/><script>alert(1)</script>"`)
	seed(`"mem_used_bytes":`, `"mem_used_bytes":1.7e308,"x":`)
	seed(`"value":`, `"value":5e-324,"x":`)
	seed(`docker`, `d\"'><img src=x onerror=alert(1)>`)
	seed(`"unit": "`, `"unit": "<script>`, `"doc": "`, `"doc": "</style><script>`)
	seed(`"blocks": 3`, `"blocks": 1000000000`)
	seed(`"kind": "one"`, `"kind": "ramp"`)
	f.Fuzz(func(t *testing.T, header, plan, facts, trials, samples []byte) {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(good)); err != nil {
			t.Fatal(err)
		}
		for i, text := range [][]byte{header, plan, facts, trials, samples} {
			if err := os.WriteFile(filepath.Join(dir, names[i]), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		page := pageOf(t, dir)
		runtime.ReadMemStats(&after)
		if took, n := time.Since(began), after.TotalAlloc-before.TotalAlloc; took > 30*time.Second || n > 1<<30 {
			t.Errorf("it took %v and %d MiB", took, n>>20)
		}
		if m := foreign.FindStringIndex(page); m != nil {
			t.Errorf("%s: %q", page[m[0]:m[1]], page[max(0, m[0]-200):min(len(page), m[1]+100)])
		}
	})
}

// pageOf is the page of a folder, "" if it is refused.
func pageOf(t *testing.T, dir string) string {
	r, err := store.Open(dir)
	if err != nil {
		return ""
	}
	defer r.Close()
	found, err := analysis.Analyze(r)
	if err != nil {
		return ""
	}
	var page bytes.Buffer
	if err := HTML(&page, found); err != nil {
		t.Fatalf("a result without a page: %v", err)
	}
	for _, render := range []func(io.Writer, *result.Result) error{
		Text, Brief, JSON, CSV, GoBench, JUnit,
	} {
		if err := render(io.Discard, found); err != nil {
			t.Fatalf("a result without a report: %v", err)
		}
	}
	return page.String()
}
