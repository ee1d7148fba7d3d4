package report

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"tare/internal/result"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got; -update writes it anew):\n%s", path, d)
	}
}

func TestText(t *testing.T) {
	r := synthetic(t)
	for name, write := range map[string]func(io.Writer, *result.Result) error{"brief.txt": Brief, "all.txt": Text} {
		var b bytes.Buffer
		if err := write(&b, r); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.String())
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSuffix(line, "\n")
			if strings.TrimRight(line, " \t") != line {
				t.Errorf("%s: trailing blanks: %q", name, line)
			}
			if n := utf8.RuneCountInString(line); n > 140 {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
	}
}

// People read 11 770 and p < 0.0005, not 1.177e+04 and 2.6e-07.
func TestNoExponentIsShown(t *testing.T) {
	r := synthetic(t)
	for _, c := range r.Cases {
		for _, row := range c.Rows {
			for i := range row.Points {
				row.Points[i].Value *= 11770
			}
			if p := 2.6e-7; row.Effect != nil {
				row.Effect.P, row.Effect.Holm, row.Effect.Equivalence = &p, &p, &p
			}
		}
	}
	exponent := regexp.MustCompile(`\d[eE][+-]\d+`)
	for name, write := range map[string]func(io.Writer, *result.Result) error{"brief": Brief, "text": Text, "markdown": Markdown, "html": HTML} {
		var b bytes.Buffer
		if err := write(&b, r); err != nil {
			t.Fatal(err)
		}
		if at := exponent.FindIndex(b.Bytes()); at != nil {
			t.Errorf("%s: %s", name, b.Bytes()[max(0, at[0]-60):min(b.Len(), at[1]+20)])
		}
	}
}

func TestCSV(t *testing.T) {
	r := synthetic(t)
	r.Cases = r.Cases[len(r.Cases)-1:]
	var b bytes.Buffer
	if err := CSV(&b, r); err != nil {
		t.Fatal(err)
	}
	golden(t, "startup.csv", b.String())
}

var (
	tag      = regexp.MustCompile(`<(/?)(header|main|footer|section|h[1-6]|table|details|summary|figure|svg|dl|ul)\b([^>]*)>`)
	identity = regexp.MustCompile(`\b(?:id|class)="[^"]*"`)
)

// The outline is every structural element with its id and class, by depth.
func TestOutlineOfThePage(t *testing.T) {
	page := renderHTML(t, synthetic(t))
	_, page, _ = strings.Cut(page, "<body>")
	var b strings.Builder
	depth := 0
	for _, m := range tag.FindAllStringSubmatch(page, -1) {
		if m[1] == "/" {
			depth--
			continue
		}
		b.WriteString(strings.Repeat(" ", depth) + strings.Join(append([]string{m[2]}, identity.FindAllString(m[3], -1)...), " ") + "\n")
		depth++
	}
	if depth != 0 {
		t.Errorf("elements left open: %d", depth)
	}
	golden(t, "outline.txt", b.String())
}

func renderHTML(t *testing.T, r *result.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
