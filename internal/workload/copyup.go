package workload

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
)

// copyUp writes one block into an existing file, again and again: the study of
// tesfatsion2018 table 5, whose first write to a file of the image's layer took as long as
// copying the whole file. The block is the one that was there, so the file stays as it is.
// A file system in layers copies it all the same, when it is opened for writing.
type copyUp struct{}

// copyUpWrites is how often the block is written: a first and a second time, and
// the later ones, of which the median is taken.
const copyUpWrites = 7

// copyUpFile is the image's largest file, some 40 MB, which no program of a measurement has open.
const copyUpFile = "/usr/lib/*/openblas-pthread/libopenblasp*.so"

// The scripts are given "image" or "scratch". EPOCHREALTIME is bash's clock in microseconds.
const (
	copyUpFind    = `set -e; for f in ` + copyUpFile + `; do :; done; `
	copyUpPrepare = copyUpFind + `if [ "$1" = scratch ]; then cp "$f" /scratch/file; f=/scratch/file; fi; sync; cat "$f" > /dev/null`
	copyUpMain    = copyUpFind + `[ "$1" = image ] || f=/scratch/file; ` +
		`for n in $(seq "$2"); do a=${EPOCHREALTIME/[.,]/}; dd if="$f" of="$f" bs=4096 count=1 conv=notrunc,fsync status=none; ` +
		`b=${EPOCHREALTIME/[.,]/}; echo "write $((b-a))"; done`
)

func (copyUp) Name() string { return "copyup" }

func (copyUp) Summary() string {
	return "the first write to an existing file, of the image or of the scratch space, and those after it"
}

func (copyUp) Resource() string { return "disk" }

func (copyUp) Parts() []string { return nil }

// WritesRoot implements [bench.RootWriter].
func (copyUp) WritesRoot() {}

// Programs is empty: a shell and dd are in every image.
func (copyUp) Programs() []string { return nil }

func (copyUp) Params() []bench.Param {
	return []bench.Param{{Name: "file", Kind: bench.KindWord, Default: "image", Words: []string{"image", "scratch"},
		Doc: "whose file: the image's, 40 MB, or a copy of it in /scratch"}}
}

func (copyUp) Metrics(bench.Params) ([]bench.Metric, error) {
	metric := func(name, doc string) bench.Metric {
		return bench.Metric{Name: name, Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Mean, Doc: doc}
	}
	list := []bench.Metric{
		metric("first", "writing 4 KiB to the file for the first time, until they are on the disk; with the start of a program that does it"),
		metric("second", "the same again"),
		metric("later", "the same from the third time on, the median"),
	}
	list[0].Headline = true
	return append(list, bench.Metric{Name: "penalty", Unit: "x", Better: bench.LowerIsBetter, Combine: bench.Mean,
		Doc: "how many times as long the first write takes as a later one"}), nil
}

func (w copyUp) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	if part != bench.SubjectPart {
		return bench.Part{}, unknownPart(w, part)
	}
	limit, err := timeout(s.Timing, time.Minute)
	if err != nil {
		return bench.Part{}, err
	}
	script := func(text string, more ...string) bench.Command {
		return bench.Command{Argv: append([]string{"bash", "-c", text, w.Name(), p["file"]}, more...), Timeout: limit}
	}
	return bench.Part{Prepare: []bench.Command{script(copyUpPrepare)}, Main: script(copyUpMain, strconv.Itoa(copyUpWrites))}, nil
}

func (w copyUp) Parse(_ bench.Params, _ bench.Setting, out bench.Output) ([]bench.Value, error) {
	if err := finished(w.Name(), out); err != nil {
		return nil, err
	}
	var times []float64 // milliseconds
	for lines := bufio.NewScanner(bytes.NewReader(out.Stdout)); lines.Scan(); {
		text, isWrite := strings.CutPrefix(lines.Text(), "write ")
		if !isWrite {
			continue
		}
		us, err := strconv.ParseInt(text, 10, 64)
		if err != nil || us <= 0 {
			return nil, fmt.Errorf("copyup: %q: not a positive number of microseconds", lines.Text())
		}
		times = append(times, float64(us)/1000)
	}
	if len(times) != copyUpWrites {
		return nil, fmt.Errorf("copyup: %d writes of %d: %s", len(times), copyUpWrites, lastWords(out))
	}
	rest := slices.Sorted(slices.Values(times[2:]))
	later := rest[len(rest)/2]
	return []bench.Value{{Metric: "first", Value: times[0]}, {Metric: "second", Value: times[1]},
		{Metric: "later", Value: later}, {Metric: "penalty", Value: times[0] / later}}, nil
}
