package workload

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
)

// stream is STREAM as HPC Challenge 1.5 runs it, in one process: the memory
// benchmark of tesfatsion2018 section 3.1.2, with arrays of at least four times
// the last-level cache.
//
// hpcc runs its tests in a fixed order, all sized by the one matrix of
// hpccinf.txt, and goes on with the next when one gets no memory. Those before
// STREAM would take minutes, so hpcc runs under a filter that lets it map arrays
// of STREAM's and nothing of theirs ([streamOnly]). The markers open the window
// when STREAM begins and end the run when it is over. The section read is StarSTREAM, which with one process is
// the same as SingleSTREAM; the latter
// runs second and keeps the best times of the first, so its figures would belong
// to a stretch longer than its own.
//
// STREAM repeats each kernel ten times whatever the timing of the experiment.
type stream struct{}

const (
	streamBegin = "Begin of StarSTREAM section."
	streamEnd   = "End of StarSTREAM section."
	// leastFactor is STREAM's own rule for the size of an array, in caches.
	leastFactor = 4
	filterFile  = "mapping-limit.bpf"
	// mostElements is where hpcc stops to enlarge the arrays (2^30).
	mostElements = 1 << 30
)

func (stream) Name() string { return "stream" }

func (stream) Summary() string { return "memory bandwidth of four vector kernels, by STREAM in hpcc" }

func (stream) Resource() string { return "memory" }

func (stream) Parts() []string { return nil }

func (stream) Programs() []string { return []string{"hpcc", "ln", "setpriv"} }

func (stream) Params() []bench.Param {
	return []bench.Param{
		{Name: "factor", Kind: bench.KindFloat, Default: "4", Min: leastFactor,
			Doc: "size of each array in last-level caches of the host"},
	}
}

func (stream) Metrics(bench.Params) ([]bench.Metric, error) {
	kernel := func(name, does string) bench.Metric {
		return bench.Metric{Name: name, Unit: "GB/s", Better: bench.HigherIsBetter, Combine: bench.Sum,
			Headline: name == "triad", Doc: "best of nine runs of " + does}
	}
	return []bench.Metric{
		kernel("copy", "c = a"), kernel("scale", "b = s c"), kernel("add", "c = a + b"), kernel("triad", "a = b + s c"),
	}, nil
}

// arraySize is the size that each array of a workload of hpcc's must have.
func arraySize(w bench.Workload, p bench.Params, s bench.Setting) (bench.Bytes, error) {
	if s.LLC <= 0 {
		return 0, fmt.Errorf("%s: the size of the last-level cache is not known: %w", w.Name(), bench.ErrInvalid)
	}
	factor, err := floatOf(w, p, "factor")
	if err != nil {
		return 0, err
	}
	if factor < leastFactor {
		return 0, &ParamError{w.Name(), "factor", tooSmall(p["factor"], strconv.Itoa(leastFactor))}
	}
	least := math.Ceil(factor * float64(s.LLC))
	if least > 8*mostElements {
		return 0, &ParamError{w.Name(), "factor", fmt.Errorf("arrays of %g bytes are more than hpcc's most, %v", least, bench.Bytes(8*mostElements))}
	}
	return bench.Bytes(least), nil
}

// order is the smallest matrix order N for which hpcc makes arrays of the size:
// it fills the N*N doubles of the matrix with three arrays.
func order(array bench.Bytes) int64 {
	elements := (int64(array) + 7) / 8
	n := int64(math.Sqrt(3 * float64(elements)))
	for n*n/3 < elements {
		n++
	}
	return n
}

// need is the memory hpcc takes for a matrix of order n: the matrix and, as
// measured, about 32 MiB of its own, with room for the instance's system.
func need(n int64) bench.Bytes {
	matrix := bench.Bytes(8 * n * n)
	return matrix + matrix/16 + 96*bench.MiB
}

// streamOnly is the filter under which a process of hpcc gets memory for STREAM's arrays of
// n*n/3 words by the processes and for no other test that comes before: RandomAccess needs a table of
// the largest power of two of words that fits the matrix, at least n*n/2 by the processes; DGEMM matrices of the
// largest square within an array, d(d+1) words of it being the most there are (tstdgemm.c).
// The C library tries a refused block again with its padding, which could make DGEMM's as long as STREAM's: it
// is told to pad nothing (mallopt(3), M_TOP_PAD).
func streamOnly(n int64, processes int) ([]byte, error) {
	share := n * n / int64(processes) // of the matrix, in words
	words := share / 3
	d := int64(math.Sqrt(float64(words)))
	for d*(d+1) > words {
		d--
	}
	return mappingLimit(bench.Bytes(share*10/3), bench.Bytes(8*d*d), bench.Bytes(8*words), libraryMaps...)
}

// libraryMaps are what OpenBLAS maps before hpcc begins, and asks for again for ever if it cannot: a
// buffer of 128 MiB (other builds: 32 or 64) and a page, which with malloc's own word makes two pages
// more. No table or matrix of hpcc's has such a length: a table is a power of two and a page, and no
// matrix is as near to one.
var libraryMaps = []bench.Bytes{32*bench.MiB + 8*bench.KiB, 64*bench.MiB + 8*bench.KiB, 128*bench.MiB + 8*bench.KiB}

// Memory implements [bench.Sized].
func (w stream) Memory(p bench.Params, s bench.Setting) (bench.Bytes, error) {
	array, err := arraySize(w, p, s)
	if err != nil {
		return 0, err
	}
	return need(order(array)), nil
}

func (w stream) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	if part != bench.SubjectPart {
		return bench.Part{}, unknownPart(w, part)
	}
	array, err := arraySize(w, p, s)
	if err != nil {
		return bench.Part{}, err
	}
	n := order(array)
	if s.Shape.Memory < need(n) {
		return bench.Part{}, fmt.Errorf("stream: arrays of %v, for a last-level cache of %v, need %v of memory and the instance has %v: %w%w",
			array, s.LLC, need(n), s.Shape.Memory, bench.ErrInvalid,
			bench.Hint(fmt.Sprintf("give the instance at least %v", need(n))))
	}
	filter, err := streamOnly(n, 1)
	if err != nil {
		return bench.Part{}, fmt.Errorf("stream: %w", err)
	}
	return hpccRun{order: n, rows: 1, cols: 1, filter: filter, begin: streamBegin, end: streamEnd,
		expected: expectedRun(n), emulated: hpccEmulated}.part(s)
}

// expectedRun is how long hpcc with a matrix of order n takes until STREAM is
// over: the arrays are touched a first time and gone through a hundred times, at
// 300 MB of matrix a second as measured, with 6 GB, on a shared core. Emulation is up to 23 times slower.
func expectedRun(n int64) time.Duration {
	return time.Duration(float64(8*n*n) / 300e6 * float64(time.Second))
}

// hpccInput is hpccinf.txt for one grid of processes and one matrix of order n. hpcc reads
// it by line number: first HPL's 31 lines, a separator, then PTRANS's sizes.
func hpccInput(n int64, rows, cols int) []byte {
	var b bytes.Buffer
	for _, line := range []string{
		"Written by Tare: one matrix, on one grid of processes, which sizes the",
		"test that is read",
		"HPL.out", "8",
		"1", strconv.FormatInt(n, 10), // problem sizes
		"1", strconv.Itoa(hplBlock), // block sizes
		"0",                                         // process mapping
		"1", strconv.Itoa(rows), strconv.Itoa(cols), // process grids
		"16.0",   // threshold of the residual
		"1", "2", // panel factorisation
		"1", "4", // recursive stopping criterion
		"1", "2", // panels in recursion
		"1", "1", // recursive panel factorisation
		"1", "1", // broadcast
		"1", "1", // look-ahead depth
		"2", "64", // swapping
		"0", "0", "1", // L1 form, U form, equilibration
		"8", // alignment in doubles
		"-",
		"0", "0", // further sizes for PTRANS
		"0", "0", // further block sizes for PTRANS
	} {
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func (w stream) Parse(p bench.Params, s bench.Setting, out bench.Output) ([]bench.Value, error) {
	least, err := arraySize(w, p, s)
	if err != nil {
		return nil, err
	}
	section, err := hpccSection(out, streamBegin, streamEnd)
	if err != nil {
		return nil, err
	}
	return streamValues(section, least, 1)
}

// streamValues reads STREAM's section, of processes whose arrays are to be of a size together. The
// table is the first process's.
func streamValues(section []byte, least bench.Bytes, processes int) ([]bench.Value, error) {
	var elements int64
	if _, err := fmt.Sscanf(lineWith(section, "Array size ="), "Array size = %d,", &elements); err != nil {
		return nil, fmt.Errorf("hpcc: array size: %w in %s", errMissing, excerpt(section))
	}
	if elements < 0 || elements > mostElements || bench.Bytes(8*elements) < (least-8*bench.Bytes(processes))/bench.Bytes(processes) {
		return nil, fmt.Errorf("hpcc: %d elements of 8 bytes, in each of %d, are less than %v: the figures would be the cache's",
			elements, processes, least)
	}
	if !bytes.Contains(section, []byte("Solution Validates:")) {
		return nil, fmt.Errorf("hpcc: STREAM found its result to be wrong: %s", excerpt(section))
	}
	if err := nodesInError(section); err != nil {
		return nil, err
	}
	metrics, err := stream{}.Metrics(nil)
	if err != nil {
		return nil, err
	}
	var values []bench.Value
	for _, m := range metrics {
		label := strings.ToUpper(m.Name[:1]) + m.Name[1:]
		rate, err := streamRate(section, label)
		if err == nil && processes > 1 {
			rate, err = average(section, label+" GB/s")
			rate *= float64(processes)
		}
		if err != nil {
			return nil, err
		}
		values = append(values, bench.Value{Metric: m.Name, Value: rate})
	}
	return values, nil
}

// streamRate reads a row of STREAM's table.
func streamRate(section []byte, label string) (float64, error) {
	text, err := afterLabel(section, label)
	if err != nil {
		return 0, fmt.Errorf("hpcc: %w", err)
	}
	columns := strings.Fields(text) // best rate in GB/s, then average, best and worst time in seconds
	if len(columns) != 4 {
		return 0, fmt.Errorf("hpcc: %s: %q has not four columns", label, text)
	}
	rate, err := positive(columns[0])
	if err != nil {
		return 0, fmt.Errorf("hpcc: %s: %w", label, err)
	}
	return rate, nil
}

// hpccSection cuts the report down to a section. That the run was killed
// after it is intended, so the exit status says nothing.
func hpccSection(out bench.Output, begin, end string) ([]byte, error) {
	if out.TimedOut {
		return nil, finished("hpcc", out)
	}
	_, rest, ok := bytes.Cut(out.Stdout, []byte(begin))
	if !ok {
		return nil, fmt.Errorf("hpcc: %q: %w, %s", begin, errMissing, lastWords(out))
	}
	section, _, ok := bytes.Cut(rest, []byte(end))
	if !ok {
		return nil, fmt.Errorf("hpcc: %q: %w, %s", end, errMissing, lastWords(out))
	}
	return section, nil
}

// lineWith returns the first line that begins with prefix, or "".
func lineWith(text []byte, prefix string) string {
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte(prefix)) {
			return string(line)
		}
	}
	return ""
}
