package workload

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
)

// hpcc is one test of HPC Challenge 1.5 by name, in one or several processes: Linpack, random
// updates of memory and STREAM, of felter2014 sections 3.2 to 3.4. As [stream] it goes through a
// filter to the one test, and is killed when that is over.
type hpcc struct{}

const (
	hplBegin, hplEnd         = "Begin of HPL section.", "End of HPL section."
	updatesBegin, updatesEnd = "Begin of StarRandomAccess section.", "End of StarRandomAccess section."
	// hplBlock is the order of the blocks in which HPL works.
	hplBlock = 80
	// hplColumns is the fewest columns of a process with which its matrix can be told from a table of
	// RandomAccess's of the same size: HPL has a row more of them, two pages and a half at least.
	hplColumns = 1280
	// processNeeds is what a process takes beside its share of the data, by guess.
	processNeeds = 64 * bench.MiB
	// mostProcesses bounds what an instance is asked to start.
	mostProcesses = 256
)

// The rates that the estimates and deadlines of a process suppose, on an ordinary CPU; emulation is up
// to two hundred times slower at HPL, whose vectors it does one number at a time.
const (
	hplRate      = 10e9 // floating-point operations per second
	hplEmulated  = 200
	updateRate   = 6e6 // updates per second, of two runs and two checks
	hpccEmulated = 23
)

func (hpcc) Name() string { return "hpcc" }

func (hpcc) Summary() string {
	return "Linpack, random updates of memory or STREAM, in several processes, by HPC Challenge"
}

func (hpcc) Resource() string { return "cpu" }

func (hpcc) Parts() []string { return nil }

func (hpcc) Programs() []string { return []string{"hpcc", "mpirun", "blas", "ln", "setpriv"} }

func (hpcc) Params() []bench.Param {
	return []bench.Param{
		{Name: "test", Kind: bench.KindWord, Default: "hpl", Words: []string{"hpl", "randomaccess", "stream"},
			Doc: "hpl solves a dense system of equations; randomaccess updates words of a table in random order; stream is the workload of that name, in several processes"},
		{Name: "processes", Kind: bench.KindInt, Min: 1, Max: mostProcesses, Load: true,
			Doc: "processes of MPI, each with one thread; as many as the instance has CPUs if not given"},
		{Name: "share", Kind: bench.KindFloat, Default: "15", Min: 1, Max: 80, Doc: "size of hpl's matrix in percent of the instance's memory"},
		{Name: "factor", Kind: bench.KindFloat, Default: "4", Min: leastFactor,
			Doc: "size of randomaccess's tables, and of each of stream's arrays, of all processes together, in last-level caches of the host"},
		{Name: "huge-pages", Kind: bench.KindWord, Default: "no", Words: []string{"yes", "no"},
			Doc: "whether arrays are asked to be on huge pages, by madvise; the instance's kernel may grant it (transparent huge pages: madvise or always)"},
		{Name: "core", Kind: bench.KindString, Default: "auto",
			Doc: "the CPU for which OpenBLAS takes its routines, such as Haswell (OPENBLAS_CORETYPE); auto lets it choose. A launch that ran with another fails"},
	}
}

func (hpcc) Metrics(p bench.Params) ([]bench.Metric, error) {
	switch p["test"] {
	case "randomaccess":
		return []bench.Metric{{Name: "updates", Unit: "GUP/s", Better: bench.HigherIsBetter, Combine: bench.Sum, Headline: true,
			Doc: "updates of random words of memory, in 10^9 a second, of all processes"}}, nil
	case "stream":
		return stream{}.Metrics(nil)
	}
	return []bench.Metric{{Name: "flops", Unit: "GFLOP/s", Better: bench.HigherIsBetter, Combine: bench.Sum, Headline: true,
		Doc: "floating-point operations, in 10^9 a second, of all processes: 2/3 N^3 + 3/2 N^2 of them for N equations"}}, nil
}

// hpccRun is how hpcc is run for one test.
type hpccRun struct {
	order      int64 // of the matrix that sizes everything
	words      int64 // of a process's table of RandomAccess
	rows, cols int   // the grid of processes
	filter     []byte
	begin, end string
	need       bench.Bytes
	expected   time.Duration
	emulated   int
	core       string // "" for any
	huge       bool   // pages
}

func (r hpccRun) processes() int { return r.rows * r.cols }

// grid puts processes in a grid as nearly square as it can be, with fewer rows, as HPL recommends.
func grid(processes int) (rows, cols int) {
	rows = int(math.Sqrt(float64(processes)))
	for processes%rows != 0 {
		rows--
	}
	return rows, processes / rows
}

// run works out the run.
func (w hpcc) run(p bench.Params, s bench.Setting) (r hpccRun, err error) {
	given, err := perCPU(w, p, s, "processes")
	if err != nil {
		return r, err
	}
	n := min(int(given), mostProcesses)
	r.rows, r.cols = grid(n)
	r.huge = p["huge-pages"] == "yes"
	if p["core"] != "auto" {
		r.core = p["core"]
		if !coreName.MatchString(r.core) {
			return r, &ParamError{w.Name(), "core", fmt.Errorf("%q: not the name of a CPU, as OpenBLAS has them", r.core)}
		}
	}
	if p["test"] == "hpl" {
		return r, w.hpl(p, s, &r)
	}
	least, err := arraySize(w, p, s)
	if err != nil {
		return r, err
	}
	if p["test"] == "stream" {
		r.order, r.begin, r.end = order(least), streamBegin, streamEnd
		r.expected, r.emulated = expectedRun(r.order), hpccEmulated
		r.filter, err = streamOnly(r.order, n)
	} else {
		for r.words = 1; r.words*8*int64(n) < int64(least); r.words *= 2 { // a power of two
		}
		r.order = int64(math.Ceil(math.Sqrt(float64(r.words * int64(n)))))
		r.begin, r.end = updatesBegin, updatesEnd
		r.expected, r.emulated = time.Duration(float64(4*r.words)/updateRate*float64(time.Second)), hpccEmulated
	}
	r.need = need(r.order) + bench.Bytes(n-1)*processNeeds
	return r, err
}

// hpl sizes the matrix by the instance's memory. Its order is so that all processes have as many
// blocks. The filter refuses what other tests ask for, which is up to the matrix's share of a process.
// HPL asks for that with a row more (HPL_pdtest.c), and for panels that are far smaller.
func (w hpcc) hpl(p bench.Params, s bench.Setting, r *hpccRun) (err error) {
	share, err := floatOf(w, p, "share")
	if err != nil {
		return err
	}
	n, step := int64(r.processes()), int64(hplBlock*r.cols)
	for step%int64(hplBlock*r.rows) != 0 {
		step += int64(hplBlock * r.cols)
	}
	r.order = int64(math.Sqrt(share/100*float64(s.Shape.Memory)/8)) / step * step
	if r.order/int64(r.cols) < hplColumns {
		return fmt.Errorf("hpcc: a matrix of %v %% of %v has %d columns for each of %d: at least %d%w: %w", p["share"], s.Shape.Memory,
			r.order/int64(r.cols), r.cols, hplColumns, bench.Hint("give the instance more memory, the matrix a larger share, or take fewer processes"), bench.ErrInvalid)
	}
	rows, cols := r.order/int64(r.rows), r.order/int64(r.cols) // of a process
	local, row := 8*rows*cols, 8*cols
	panel := 8 * hplBlock * (rows + cols + 2*hplBlock) // HPL_pdpanel_init.c
	r.filter, err = mappingLimit(bench.Bytes(local+local/8)+bench.MiB, bench.Bytes(max(local/16, 2*panel)), bench.Bytes(local+row/2), libraryMaps...)
	flops := 2. / 3 * math.Pow(float64(r.order), 3) / float64(n)
	r.begin, r.end = hplBegin, hplEnd
	r.expected, r.emulated = time.Duration(flops/hplRate*float64(time.Second)), hplEmulated
	r.need = need(r.order) + bench.Bytes(n-1)*processNeeds
	return err
}

// Memory implements [bench.Sized]. What hpl takes is a share of what there is.
func (w hpcc) Memory(p bench.Params, s bench.Setting) (bench.Bytes, error) {
	if p["test"] == "hpl" {
		return 0, nil
	}
	r, err := w.run(p, s)
	return r.need, err
}

func (w hpcc) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	if part != bench.SubjectPart {
		return bench.Part{}, unknownPart(w, part)
	}
	r, err := w.run(p, s)
	if err != nil {
		return bench.Part{}, err
	}
	if s.Shape.Memory < r.need {
		return bench.Part{}, fmt.Errorf("hpcc: %s in %d processes needs %v of memory and the instance has %v: %w%w", p["test"], r.processes(),
			r.need, s.Shape.Memory, bench.ErrInvalid, bench.Hint(fmt.Sprintf("give the instance at least %v", r.need)))
	}
	return r.part(s)
}

// part is what an instance does for the run.
func (r hpccRun) part(s bench.Setting) (bench.Part, error) {
	limit, err := timeout(s.Timing, r.expected)
	if err != nil {
		return bench.Part{}, err
	}
	if s.Timing.Deadline == 0 {
		limit = time.Duration(r.emulated)*r.expected + slack
	}
	env := map[string]string{
		"OMPI_ALLOW_RUN_AS_ROOT":         "1",
		"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
		"OMPI_MCA_pml":                   "ob1",
		"OMPI_MCA_btl":                   "self", // no search for networks
		"OMP_NUM_THREADS":                "1",
		"OPENBLAS_NUM_THREADS":           "1",
		"OPENBLAS_VERBOSE":               "2", // says which routines it takes
		"MALLOC_TOP_PAD_":                "0", // see streamOnly
		"MALLOC_ARENA_MAX":               "1", // a second one would have room for DGEMM in its heap
	}
	if r.core != "" {
		env["OPENBLAS_CORETYPE"] = r.core
	}
	if r.huge {
		env["GLIBC_TUNABLES"] = "glibc.malloc.hugetlb=1" // what malloc maps is advised with MADV_HUGEPAGE
	}
	var argv []string
	if n := r.processes(); n == 1 {
		env["OMPI_MCA_plm"] = "isolated" // no launcher: a process on its own
	} else {
		env["OMPI_MCA_btl"] = "self,sm"
		env["PMIX_MCA_gds"] = "hash" // how processes are told what they start with: by shared memory (gds/shmem2) it fails in gVisor
		argv = []string{"mpirun", "-n", strconv.Itoa(n), "--oversubscribe", "--bind-to", "none"}
	}
	files := []bench.File{{Path: bench.ScratchDir + "/hpccinf.txt", Mode: 0o644, Data: hpccInput(r.order, r.rows, r.cols)}}
	if r.filter != nil {
		files = append(files, bench.File{Path: bench.ScratchDir + "/" + filterFile, Mode: 0o644, Data: r.filter})
		argv = append(argv, "setpriv", "--no-new-privs", "--seccomp-filter", filterFile)
	}
	return bench.Part{
		Files: files,
		// hpcc appends its report to a file, closing it after each line; this makes the file its standard output.
		Prepare: []bench.Command{{Argv: []string{"ln", "-sf", "/dev/stdout", "hpccoutf.txt"}, Dir: bench.ScratchDir, Timeout: slack}},
		Main:    bench.Command{Argv: append(argv, "hpcc"), Dir: bench.ScratchDir, Env: env, Timeout: limit},
		Begin:   r.begin,
		End:     r.end,
	}, nil
}

// coreName is how OpenBLAS calls a CPU.
var coreName = regexp.MustCompile(`^[A-Za-z0-9_]{2,24}$`)

// blasCore is what every process printed that it takes.
var blasCore = regexp.MustCompile(`(?m)^Core: (\S+)\r?$`)

// sameCore is an error unless all processes took the routines of one CPU, and that which was asked for.
func (r hpccRun) sameCore(out bench.Output) error {
	var cores []string
	for _, text := range [][]byte{out.Stdout, out.Stderr} {
		for _, m := range blasCore.FindAllSubmatch(text, -1) {
			cores = append(cores, string(m[1]))
		}
	}
	slices.Sort(cores)
	cores = slices.Compact(cores)
	switch {
	case len(cores) == 0:
		return fmt.Errorf("hpcc: which routines OpenBLAS took is %w: is the BLAS another? %s", errMissing, lastWords(out))
	case len(cores) > 1:
		return fmt.Errorf("hpcc: OpenBLAS took the routines of several CPUs, %s", strings.Join(cores, " and "))
	case r.core != "" && !strings.EqualFold(cores[0], r.core):
		return fmt.Errorf("hpcc: OpenBLAS took its routines for %s, not %s", cores[0], r.core)
	}
	return nil
}

func (w hpcc) Parse(p bench.Params, s bench.Setting, out bench.Output) ([]bench.Value, error) {
	r, err := w.run(p, s)
	if err != nil {
		return nil, err
	}
	section, err := hpccSection(out, r.begin, r.end)
	if err != nil {
		return nil, err
	}
	switch p["test"] {
	case "stream":
		least, err := arraySize(w, p, s)
		if err != nil {
			return nil, err
		}
		return streamValues(section, least, r.processes())
	case "randomaccess":
		return r.updates(section)
	}
	if err := r.sameCore(out); err != nil {
		return nil, err
	}
	return r.flops(section)
}

// nodesInError is an error unless hpcc says that no process failed.
func nodesInError(section []byte) error {
	text, err := afterWord(section, "Node(s) with error")
	if err == nil && text != "0" {
		err = fmt.Errorf("%q processes failed", text)
	}
	if err != nil {
		return fmt.Errorf("hpcc: %w", err)
	}
	return nil
}

var (
	// hplRow is the row of HPL's table: the variant, N, NB, P, Q, seconds and GFLOP/s.
	hplRow = regexp.MustCompile(`(?m)^W[RC]\S+ +(\d+) +(\d+) +(\d+) +(\d+) +(\S+) +(\S+)\s*$`)
	// hplResidual says whether the solution is one.
	hplResidual = regexp.MustCompile(`(?m)^\|\|Ax-b\|\|_oo/.*= +(\S+) \.\.\.\.\.\. (\S+)\s*$`)
	updateCheck = regexp.MustCompile(`(?m)^Found (\d+) errors in (\d+) locations \((\w+)\)\.\s*$`)
)

// flops reads HPL's table and its check.
func (r hpccRun) flops(section []byte) ([]bench.Value, error) {
	rows, checks := hplRow.FindAllSubmatch(section, -1), hplResidual.FindAllSubmatch(section, -1)
	if len(rows) != 1 || len(checks) != 1 {
		return nil, fmt.Errorf("hpcc: %d results of HPL and %d checks, not one of each, in %s", len(rows), len(checks), excerpt(section))
	}
	if string(checks[0][2]) != "PASSED" {
		return nil, fmt.Errorf("hpcc: HPL found its result to be wrong: %s", strings.TrimSpace(string(checks[0][0])))
	}
	got := bytes.Join(rows[0][1:5], []byte(" "))
	if want := fmt.Sprint(r.order, hplBlock, r.rows, r.cols); string(got) != want {
		return nil, fmt.Errorf("hpcc: HPL solved N, NB, P and Q of %s, not %s", got, want)
	}
	rate, err := positive(string(rows[0][6]))
	if err != nil {
		return nil, fmt.Errorf("hpcc: HPL: %w", err)
	}
	return []bench.Value{{Metric: "flops", Value: rate}}, nil
}

// updates reads RandomAccess's rate and the check of the first process's table.
func (r hpccRun) updates(section []byte) ([]bench.Value, error) {
	if err := nodesInError(section); err != nil {
		return nil, err
	}
	checks := updateCheck.FindAllSubmatch(section, -1)
	if len(checks) != 1 {
		return nil, fmt.Errorf("hpcc: %d checks of RandomAccess, not one, in %s", len(checks), excerpt(section))
	}
	if string(checks[0][3]) != "passed" {
		return nil, fmt.Errorf("hpcc: RandomAccess found its result to be wrong: %s", strings.TrimSpace(string(checks[0][0])))
	}
	if want := strconv.FormatInt(r.words, 10); string(checks[0][2]) != want {
		return nil, fmt.Errorf("hpcc: tables of %s words, not %s", checks[0][2], want)
	}
	rate, err := average(section, "GUP/s")
	if err != nil {
		return nil, err
	}
	return []bench.Value{{Metric: "updates", Value: rate * float64(r.processes())}}, nil
}

// average is what hpcc says of the mean process.
func average(section []byte, label string) (float64, error) {
	text, err := afterWord(section, "Average "+label)
	if err != nil {
		return 0, fmt.Errorf("hpcc: %w", err)
	}
	v, err := positive(text)
	if err != nil {
		return 0, fmt.Errorf("hpcc: %s: %w", label, err)
	}
	return v, nil
}
