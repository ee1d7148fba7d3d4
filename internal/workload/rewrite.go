package workload

import (
	_ "embed"
	"fmt"
	"strings"
	"time"

	"tare/internal/bench"
)

// rewrite writes to files of the image as upgrades and installations do, twice:
// what a store that instances share has to copy, it copies the first time only.
type rewrite struct{}

//go:embed rewrite.sh
var rewriteShell []byte

//go:embed rewrite.pl
var rewritePerl []byte

// rewriteExpected is what both times take on a slow, emulated machine.
const rewriteExpected = time.Minute

func (rewrite) Name() string { return "rewrite" }

func (rewrite) Summary() string {
	return "writes to files of the image, as upgrades and installations do; the first time and again"
}

func (rewrite) Resource() string { return "disk" }

func (rewrite) Parts() []string { return nil }

func (rewrite) Programs() []string { return []string{"bash", "perl", "sync"} }

// WritesRoot implements [bench.RootWriter].
func (rewrite) WritesRoot() {}

func (rewrite) Params() []bench.Param {
	return []bench.Param{
		{Name: "kind", Kind: bench.KindWord, Default: "upgrade", Words: []string{"large", "small", "upgrade", "install"},
			Doc: "what is done: large writes 4 KiB into the image's largest file; small does so into each of many; upgrade writes each of many anew beside itself and renames " +
				"it over the old one, as dpkg does; install writes as many new ones"},
		{Name: "files", Kind: bench.KindInt, Default: "1000", Min: 1, Doc: "files of at most 256 KiB, of all kinds but large"},
	}
}

func (rewrite) Metrics(bench.Params) ([]bench.Metric, error) {
	return []bench.Metric{
		{Name: "first", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Mean, Headline: true, Doc: "until everything was written for the first time and on the disk"},
		{Name: "again", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Mean, Doc: "the same for the second time"},
		{Name: "slowdown", Unit: "times", Better: bench.LowerIsBetter, Combine: bench.Mean, Doc: "the first time by the second, which copies nothing"},
		{Name: "files", Unit: "files", Better: bench.HigherIsBetter, Combine: bench.Sum, Doc: "files that were written each time"},
		{Name: "written", Unit: "MB", Better: bench.HigherIsBetter, Combine: bench.Sum, Doc: "size of those files, in 10^6"},
	}, nil
}

func (w rewrite) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	if part != bench.SubjectPart {
		return bench.Part{}, unknownPart(w, part)
	}
	limit, err := timeout(s.Timing, rewriteExpected)
	if err != nil {
		return bench.Part{}, err
	}
	return bench.Part{
		Files: []bench.File{
			{Path: bench.ScratchDir + "/rewrite.sh", Mode: 0o755, Data: rewriteShell},
			{Path: bench.ScratchDir + "/rewrite.pl", Mode: 0o644, Data: rewritePerl},
		},
		Main:  bench.Command{Argv: []string{"bash", bench.ScratchDir + "/rewrite.sh", p["kind"], p["files"]}, Timeout: limit},
		Begin: "rewrite begins",
	}, nil
}

func (rewrite) Parse(_ bench.Params, _ bench.Setting, out bench.Output) ([]bench.Value, error) {
	if err := finished("rewrite", out); err != nil {
		return nil, err
	}
	var values []bench.Value
	for _, f := range []struct {
		label, unit, metric string
		scale               float64
	}{{"first", " s", "first", 1e3}, {"again", " s", "again", 1e3}, {"files", "", "files", 1}, {"bytes", "", "written", 1e-6}} {
		text, err := afterWord(out.Stdout, f.label)
		if err != nil {
			return nil, fmt.Errorf("rewrite: %w", err)
		}
		v, err := positive(strings.TrimSuffix(text, f.unit))
		if err != nil {
			return nil, fmt.Errorf("rewrite: %q: %w", f.label, err)
		}
		values = append(values, bench.Value{Metric: f.metric, Value: v * f.scale})
	}
	return append(values, bench.Value{Metric: "slowdown", Value: values[0].Value / values[1].Value}), nil
}

// afterWord returns what follows the word on the one line that begins with it.
func afterWord(text []byte, word string) (string, error) {
	found, value := 0, ""
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, word+" "); ok {
			found, value = found+1, strings.TrimSpace(rest)
		}
	}
	if found != 1 {
		return "", fmt.Errorf("%q: found %d times, not once, in %s", word, found, excerpt(text))
	}
	return value, nil
}
