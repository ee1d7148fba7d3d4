package store_test

import (
	"bytes"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/host"
	"tare/internal/result/store"
	"tare/internal/result/store/storetest"
)

// formatPages is the text of the pages of docs/format with these names.
func formatPages(t *testing.T, names ...string) string {
	t.Helper()
	var pages strings.Builder
	for _, name := range names {
		text, err := os.ReadFile("../../../docs/format/" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		pages.Write(text)
	}
	return pages.String()
}

// jsonNames collects the JSON names of a type and of everything in it.
func jsonNames(typ reflect.Type, into map[string]bool) {
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array:
		jsonNames(typ.Elem(), into)
	case reflect.Struct:
		for i := range typ.NumField() {
			f := typ.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "-" || !f.IsExported() {
				continue
			}
			into[name] = true
			if f.Type != reflect.PointerTo(typ) { // a platform is on another
				jsonNames(f.Type, into)
			}
		}
	}
}

func TestFormatNamesEveryField(t *testing.T) {
	doc := formatPages(t, "run", "trials", "samples")
	names := map[string]bool{}
	for _, v := range []any{store.Header{}, bench.Plan{}, host.Facts{}, bench.Outcome{}, bench.Sample{}} {
		jsonNames(reflect.TypeOf(v), names)
	}
	if len(names) < 100 {
		t.Fatalf("only %d names were found", len(names))
	}
	for name := range names {
		if !strings.Contains(doc, "`"+name+"`") {
			t.Errorf("docs/format does not name %q", name)
		}
	}
}

func examples(t *testing.T, language string) []string {
	var out []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(formatPages(t, "examples"), -1) {
		out = append(out, m[1])
	}
	if len(out) == 0 {
		t.Fatalf("docs/format/examples.md has no examples in %s", language)
	}
	return out
}

func runExample(t *testing.T, dir, text, program string, args ...string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil || out.Len() == 0 || complaint.Len() > 0 {
		t.Errorf("%s\n%v\n%s%s", text, err, out.Bytes(), complaint.Bytes())
	}
	t.Logf("%s\n%s", text, out.Bytes())
}

func TestFormatExamplesForJQ(t *testing.T) {
	if _, err := exec.LookPath("jq"); err != nil {
		t.Fatal("jq is not installed: ./test installs it")
	}
	dir := t.TempDir()
	storetest.Synthetic(t, dir, storetest.Options{Blocks: 3, Seconds: 3, FailEvery: 9})
	for _, text := range examples(t, "sh") {
		runExample(t, dir, text, "sh", "-e", "-c", text)
	}
}

// TARE_PYTHON names a Python that has pandas.
func TestFormatExamplesForPandas(t *testing.T) {
	python := "/usr/bin/python3" // the one that the distribution's pandas is for
	if p := os.Getenv("TARE_PYTHON"); p != "" {
		python = p
	}
	if err := exec.Command(python, "-c", "import pandas").Run(); err != nil {
		t.Fatalf("no pandas in %s: %v; ./test installs Debian's and names its Python", python, err)
	}
	dir := t.TempDir()
	storetest.Synthetic(t, dir, storetest.Options{Blocks: 3, Seconds: 3})
	for _, text := range examples(t, "python") {
		runExample(t, dir, text, python, "-W", "error", "-c", text)
	}
}
