package workload

import (
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
)

// bonnie is bonnie++ as a subject: one large file in sequence, and then many small ones. The papers
// have it as an adversary only, which [bomb] is.
type bonnie struct{}

const (
	// bonnieThousand is what bonnie++ counts files in.
	bonnieThousand = 1024
	// bonnieLarge is the least file that is not over before bonnie++ can time it on most disks.
	bonnieLarge = 2 * bench.GiB
)

func (bonnie) Name() string { return "bonnie" }

func (bonnie) Summary() string {
	return "a file larger than memory, written, rewritten and read in sequence, and many empty ones, by bonnie++"
}

func (bonnie) Resource() string { return "disk" }

func (bonnie) Parts() []string { return nil }

func (bonnie) Programs() []string { return []string{"bonnie++"} }

func (bonnie) Params() []bench.Param {
	return []bench.Param{
		{Name: "size", Kind: bench.KindSize, Min: 16 * float64(bench.MiB),
			Doc: "size of the large file; twice the instance's memory if not given, so that little of it is read from memory, but at least 2 GiB"},
		{Name: "files", Kind: bench.KindInt, Default: "64", Min: 0, Max: 4096, Doc: "small files in thousands of 1024; 0 for none"},
		{Name: "stat", Kind: bench.KindWord, Default: "no", Words: []string{"yes", "no"},
			Doc: "whether to report how fast the small files are looked up: bonnie++ gives no rate of what takes less than half a second, so it wants some hundred thousand files"},
	}
}

func (w bonnie) Metrics(p bench.Params) ([]bench.Metric, error) {
	var metrics []bench.Metric
	for _, c := range bonnieColumns(p) {
		metrics = append(metrics, c.Metric)
	}
	return metrics, nil
}

// bonnieColumn is a column of its CSV and the metric it is.
type bonnieColumn struct {
	bench.Metric
	at     int
	factor float64
}

// bonnieColumns are those that are read, by the format that begins with 1.98.
func bonnieColumns(p bench.Params) []bonnieColumn {
	rate := func(name, unit, doc string, at int, factor float64) bonnieColumn {
		return bonnieColumn{bench.Metric{Name: name, Unit: unit, Better: bench.HigherIsBetter, Combine: bench.Sum, Doc: doc}, at, factor}
	}
	const kib = 1024 / 1e6 // MB
	columns := []bonnieColumn{
		rate("write", "MB/s", "data of the large file written per second in blocks of 8 KiB, through the page cache, in millions of bytes", 11, kib),
		rate("rewrite", "MB/s", "the same of reading a block, changing it and writing it back", 13, kib),
		rate("read", "MB/s", "the same of reading", 17, kib),
	}
	columns[0].Headline = true
	if p["files"] != "0" {
		columns = append(columns, rate("creates", "files/s", "small files made per second, in the order of their names", 26, 1))
		if p["stat"] == "yes" {
			columns = append(columns, rate("stats", "files/s", "the same of looking them up", 28, 1))
		}
		columns = append(columns, rate("deletes", "files/s", "the same of deleting them", 30, 1))
	}
	return columns
}

// size is that of the large file in MiB.
func (w bonnie) size(p bench.Params, shape bench.Shape) (int64, error) {
	size := int64(max(2*shape.Memory, bonnieLarge))
	if _, given := p["size"]; given {
		var err error
		if size, err = intOf(w, p, "size"); err != nil {
			return 0, err
		}
	}
	const mib = int64(bench.MiB)
	size = (size + mib - 1) / mib
	// A twentieth is left to the file system's own structures and the small files.
	if room := int64(shape.Disk-shape.Disk/20) / mib; size > room {
		return 0, &ParamError{w.Name(), "size", fmt.Errorf("a file of %d MiB does not fit a disk of %v%w", size, shape.Disk,
			bench.Hint("give the instance a disk of two and a half times its memory, or less memory; a smaller size reads from memory"))}
	}
	return size, nil
}

func (w bonnie) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	if part != bench.SubjectPart {
		return bench.Part{}, unknownPart(w, part)
	}
	files, err := intOf(w, p, "files")
	if err != nil {
		return bench.Part{}, err
	}
	if p["stat"] == "yes" && files == 0 {
		return bench.Part{}, &ParamError{w.Name(), "stat", errors.New("there are no files to look up with files: 0")}
	}
	size, err := w.size(p, s.Shape)
	if err != nil {
		return bench.Part{}, err
	}
	limit, err := timeout(s.Timing, w.Estimate(p, s))
	if err != nil {
		return bench.Part{}, err
	}
	if s.Timing.Deadline == 0 {
		limit += time.Duration(size+files) * time.Second // four times 4 MiB/s and some thousand files/s are very slow
	}
	// Of the memory that it is told of it wants a file of twice as much. It seeks once, since it gives no
	// rate of what takes less than half a second, and more of a fixed number are a minute on a slow disk.
	argv := []string{"bonnie++", "-d", bench.ScratchDir, "-u", "root", "-q", "-f", "-n", p["files"],
		"-s", strconv.FormatInt(size, 10) + ":8k:1:1", "-r", strconv.FormatInt(size/2, 10)}
	return bench.Part{Main: bench.Command{Argv: argv, Dir: bench.ScratchDir, Timeout: limit}}, nil
}

// Estimate is for an ordinary disk, over which the large file passes four times.
func (w bonnie) Estimate(p bench.Params, s bench.Setting) time.Duration {
	size, err := w.size(p, s.Shape)
	if err != nil {
		return 0
	}
	files, err := intOf(w, p, "files")
	if err != nil {
		return 0
	}
	expected := 4*float64(size)*float64(bench.MiB)/400e6 + 4*float64(files*bonnieThousand)/20e3 + 2
	return time.Duration(expected * float64(time.Second))
}

// bonnieFormat begins its CSV, which has so many columns.
const (
	bonnieFormat  = "1.98"
	bonnieFields  = 50
	bonnieNumber  = 21 // the column with the thousands of small files
	bonnieTooFast = "+++++"
)

func (w bonnie) Parse(p bench.Params, _ bench.Setting, out bench.Output) ([]bench.Value, error) {
	if err := finished("bonnie++", out); err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(strings.NewReader(string(out.Stdout))).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("bonnie++: %w: %s", err, excerpt(out.Stdout))
	}
	if len(rows) != 1 || len(rows[0]) != bonnieFields || rows[0][0] != bonnieFormat {
		return nil, fmt.Errorf("bonnie++: not one row of %d columns in format %s: %s", bonnieFields, bonnieFormat, excerpt(out.Stdout))
	}
	row := rows[0]
	if got := row[bonnieNumber]; got != p["files"] && !(got == "" && p["files"] == "0") {
		return nil, fmt.Errorf("bonnie++: %q thousand files, not %s: %s", got, p["files"], excerpt(out.Stdout))
	}
	var values []bench.Value
	for _, c := range bonnieColumns(p) {
		if row[c.at] == bonnieTooFast {
			return nil, fmt.Errorf("bonnie++: %s: %q: it gives no rate of what takes less than half a second%w", c.Name, row[c.at],
				bench.Hint("ask for a larger size, or for more files"))
		}
		v, err := positive(row[c.at])
		if err != nil {
			return nil, fmt.Errorf("bonnie++: %s: %w", c.Name, err)
		}
		values = append(values, bench.Value{Metric: c.Name, Value: v * c.factor})
	}
	return values, nil
}
