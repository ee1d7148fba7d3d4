package workload

import (
	_ "embed"
	"time"

	"tare/internal/bench"
)

// rewrite writes in place to many small files of the image, twice.
type rewrite struct{}

//go:embed rewrite.sh
var rewriteShell []byte

//go:embed rewrite.pl
var rewritePerl []byte

// rewriteExpected is what both times take on a slow, emulated machine.
const rewriteExpected = time.Minute

func (rewrite) Name() string { return "rewrite" }

func (rewrite) Summary() string {
	return "the first 4 KiB of many small files of the image, written in place; the first time and again"
}

func (rewrite) Resource() string { return "disk" }

func (rewrite) Parts() []string { return nil }

func (rewrite) Programs() []string { return []string{"bash", "perl", "sync"} }

// WritesRoot implements [bench.RootWriter].
func (rewrite) WritesRoot() {}

func (rewrite) Params() []bench.Param {
	return []bench.Param{{Name: "files", Kind: bench.KindInt, Default: "1000", Min: 1, Doc: "files of at most 256 KiB"}}
}

func (rewrite) Metrics(bench.Params) ([]bench.Metric, error) { return twiceMetrics, nil }

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
		Main:  bench.Command{Argv: []string{"bash", bench.ScratchDir + "/rewrite.sh", p["files"]}, Timeout: limit},
		Begin: "rewrite begins",
	}, nil
}

func (w rewrite) Parse(_ bench.Params, _ bench.Setting, out bench.Output) ([]bench.Value, error) {
	return parseTwice(w.Name(), out)
}
