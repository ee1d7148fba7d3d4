package workload

import (
	"bytes"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
)

// jvm is a business load in the heap of a Java virtual machine, of Tare's own (Warehouses.java): a
// stand-in for SPECjbb, which is not free, with the transactions of TPC-C.
type jvm struct{}

//go:embed Warehouses.java
var warehouses []byte

const (
	jvmBegin = "window begins"
	// jvmCompile is what javac takes on a slow, emulated machine.
	jvmCompile = 5 * time.Minute
	// warehouseHeap is room for the data of a warehouse and for a collector to work; jvmHeap is for the
	// catalogue and the run-time's own.
	warehouseHeap = 16 * bench.MiB
	jvmHeap       = 16 * bench.MiB
	// jvmNeeds is room for what a machine takes beside its heap, and for javac before it.
	jvmNeeds = 256 * bench.MiB
)

func (jvm) Name() string { return "jvm" }

func (jvm) Summary() string {
	return "business transactions on objects in the heap of a Java virtual machine"
}

func (jvm) Resource() string { return "cpu" }

func (jvm) Parts() []string { return nil }

// Family implements [bench.Familied].
func (jvm) Family() string { return "jvm" }

func (jvm) Programs() []string { return []string{"java", "javac"} }

func (jvm) Params() []bench.Param {
	return []bench.Param{
		{Name: "warehouses", Kind: bench.KindInt, Min: 1, Max: 1024, Load: true,
			Doc: "warehouses, each with a thread that does one transaction after the other; as many as the instance has CPUs if not given"},
		{Name: "heap", Kind: bench.KindSize, Default: "256MiB", Min: 32 << 20, Doc: "memory for objects (-Xms and -Xmx), a quarter of it for young ones (-Xmn)"},
		{Name: "collector", Kind: bench.KindWord, Default: "parallel", Words: []string{"serial", "parallel", "g1"},
			Doc: "what collects garbage (-XX:+UseSerialGC, ...)"},
	}
}

func (jvm) Metrics(bench.Params) ([]bench.Metric, error) {
	return []bench.Metric{
		{Name: "transactions", Unit: "transactions/s", Better: bench.HigherIsBetter, Combine: bench.Sum, Headline: true, Doc: "finished per second, of all kinds and warehouses"},
		{Name: "mean_latency", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Mean, Doc: "mean time of a transaction"},
		{Name: "p99_latency", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Merge, Doc: "99th percentile of the time of a transaction",
			Histogram: "latency", Quantile: 0.99},
		{Name: "gc_time", Unit: "%", Better: bench.LowerIsBetter, Combine: bench.Mean, Doc: "part of the window in which the garbage collector was at work, by its own clock"},
	}, nil
}

// Memory implements [bench.Sized].
func (w jvm) Memory(p bench.Params, _ bench.Setting) (bench.Bytes, error) {
	heap, err := intOf(w, p, "heap")
	return bench.Bytes(heap) + jvmNeeds, err
}

func (w jvm) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	if part != bench.SubjectPart {
		return bench.Part{}, unknownPart(w, part)
	}
	measure, err := measured(s.Timing)
	if err != nil {
		return bench.Part{}, err
	}
	n, err := perCPU(w, p, s, "warehouses")
	if err != nil {
		return bench.Part{}, err
	}
	heap, err := intOf(w, p, "heap")
	if err != nil {
		return bench.Part{}, err
	}
	if least := jvmHeap + bench.Bytes(n)*warehouseHeap; bench.Bytes(heap) < least {
		return bench.Part{}, &ParamError{w.Name(), "heap", fmt.Errorf("%v: %d warehouses need at least %v", bench.Bytes(heap), n, least)}
	}
	if need, _ := w.Memory(p, s); s.Shape.Memory < need {
		return bench.Part{}, fmt.Errorf("jvm: a heap of %v needs %v of memory and the instance has %v: %w%w", bench.Bytes(heap), need,
			s.Shape.Memory, bench.ErrInvalid, bench.Hint(fmt.Sprintf("give the instance at least %v, or the heap less", need)))
	}
	limit, err := timeout(s.Timing, s.Timing.Warmup+measure)
	if err != nil {
		return bench.Part{}, err
	}
	milliseconds := func(d time.Duration) string { return strconv.FormatInt(max(1, d.Milliseconds()), 10) }
	// What Java would choose by what it takes the instance for is said: platforms show it in different ways.
	machine := []string{"-XX:ActiveProcessorCount=" + strconv.Itoa(max(s.Shape.CPUs, 1)), "-XX:-UsePerfData"}
	collector := map[string]string{"serial": "Serial", "parallel": "Parallel", "g1": "G1"}[p["collector"]]
	java := append([]string{"java", "-Xms" + p["heap"], "-Xmx" + p["heap"], "-Xmn" + strconv.FormatInt(heap/4, 10),
		"-XX:+AlwaysPreTouch", "-XX:+Use" + collector + "GC"}, machine...)
	compile := []string{"javac"}
	for _, option := range append([]string{"-Xmx128m"}, machine...) {
		compile = append(compile, "-J"+option)
	}
	return bench.Part{
		Files:   []bench.File{{Path: bench.ScratchDir + "/Warehouses.java", Mode: 0o644, Data: warehouses}},
		Prepare: []bench.Command{{Argv: append(compile, "-d", bench.ScratchDir, bench.ScratchDir+"/Warehouses.java"), Timeout: jvmCompile}},
		Main: bench.Command{Argv: append(java, "-cp", bench.ScratchDir, "Warehouses", strconv.FormatInt(n, 10),
			milliseconds(s.Timing.Warmup), milliseconds(measure), milliseconds(seriesStep(measure))), Timeout: limit},
		Begin: jvmBegin,
	}, nil
}

func (w jvm) Parse(_ bench.Params, s bench.Setting, out bench.Output) ([]bench.Value, error) {
	values, err := w.values(s, out)
	if err != nil {
		return nil, fmt.Errorf("jvm: %w", err)
	}
	return values, nil
}

func (w jvm) values(s bench.Setting, out bench.Output) ([]bench.Value, error) {
	if err := finished("java", out); err != nil {
		return nil, err
	}
	said := map[string]float64{}
	for label, unit := range map[string]string{"seconds": "", "transactions": "", "sum": "", "collections": "", "collecting": " ms"} {
		text, err := afterWord(out.Stdout, label)
		if err != nil {
			return nil, err
		}
		if said[label], err = number(strings.TrimSuffix(text, unit)); err != nil {
			return nil, fmt.Errorf("%s: %w", label, err)
		}
	}
	books, err := afterWord(out.Stdout, "books")
	switch {
	case err != nil:
		return nil, err
	case books != "balance":
		return nil, fmt.Errorf("the result is wrong: %s", excerpt([]byte(books)))
	case said["transactions"] <= 0 || said["seconds"] <= 0 || said["sum"] <= 0:
		return nil, fmt.Errorf("%v transactions in %v s: nothing was done in the window", said["transactions"], said["seconds"])
	case said["collecting"] <= 0:
		return nil, fmt.Errorf("no garbage was collected in %v s: longer, or with a smaller heap, there would be%w", said["seconds"],
			bench.Hint("measure longer, or give the heap less"))
	case said["collecting"] > 1000*said["seconds"]+1:
		return nil, fmt.Errorf("garbage was collected for %v ms of %v s", said["collecting"], said["seconds"])
	}
	h, err := jvmHistogram(out.Stdout)
	if err != nil {
		return nil, err
	}
	if n := float64(h.Count()); n != said["transactions"] {
		return nil, fmt.Errorf("%v transactions in the bins, %v in all", n, said["transactions"])
	}
	values := []bench.Value{
		{Metric: "transactions", Value: said["transactions"] / said["seconds"]},
		{Metric: "mean_latency", Value: said["sum"] / said["transactions"] / 1e6},
		{Metric: "p99_latency", Value: h.Quantile(0.99).Mid() / 1e6},
		{Metric: "gc_time", Value: said["collecting"] / said["seconds"] / 10},
	}
	for _, v := range values {
		if err := bench.CheckQuantity(v.Value); err != nil || v.Value <= 0 {
			return nil, fmt.Errorf("%s of %v cannot be", v.Metric, v.Value)
		}
	}
	return values, nil
}

// Histograms reads the times of single transactions, of all warehouses.
func (jvm) Histograms(_ bench.Params, _ bench.Setting, out bench.Output) ([]bench.Histogram, error) {
	h, err := jvmHistogram(out.Stdout)
	if err != nil {
		return nil, fmt.Errorf("jvm: %w", err)
	}
	return []bench.Histogram{h}, nil
}

// jvmHistogram reads lines such as "bin 2048 2064 311": from, to, and how many.
func jvmHistogram(stdout []byte) (bench.Histogram, error) {
	h := bench.Histogram{Name: "latency", Grid: "Warehouses, 128 for each power of two (0.8 %)"}
	for label, into := range map[string]*[2]int64{"least": &h.Min, "most": &h.Max} {
		text, err := afterWord(stdout, label)
		if err != nil {
			return h, err
		}
		ns, err := strconv.ParseInt(text, 10, 64)
		if err != nil || ns < 0 {
			return h, fmt.Errorf("%s: %q is not a time", label, text)
		}
		*into = [2]int64{ns, ns}
	}
	for line := range bytes.Lines(stdout) {
		var b bench.Bin
		if !bytes.HasPrefix(line, []byte("bin ")) {
			continue
		}
		numbers := strings.Fields(string(line))[1:]
		if len(numbers) != 3 {
			return h, fmt.Errorf("histogram: line %q: not a bin", line)
		}
		for i, into := range []*int64{&b.Low, &b.High, &b.Count} {
			var err error
			if *into, err = strconv.ParseInt(numbers[i], 10, 64); err != nil {
				return h, fmt.Errorf("histogram: line %q: %q is not a whole number", line, numbers[i])
			}
		}
		h.Bins = append(h.Bins, b)
	}
	return h, h.Check()
}

// Series is how many transactions, of all warehouses, were done per second. A step is as long as it
// was by Java's clock, and reaches to where the next begins.
func (jvm) Series(_ bench.Params, s bench.Setting, out bench.Output) ([]bench.Series, error) {
	var spells []spell
	var before [2]float64 // nanoseconds and transactions
	for line := range bytes.Lines(out.Stdout) {
		rest, ok := strings.CutPrefix(string(line), "step ")
		if !ok {
			continue
		}
		fields := strings.Fields(rest)
		if len(fields) != 2 {
			return nil, fmt.Errorf("jvm: series: line %q: not a step", line)
		}
		var now [2]float64
		for i := range now {
			var err error
			if now[i], err = number(fields[i]); err != nil {
				return nil, fmt.Errorf("jvm: series: %w", err)
			}
		}
		if now[0] <= before[0] {
			return nil, fmt.Errorf("jvm: series: a step that ends at %v ns follows one that ends at %v", now[0], before[0])
		}
		x := spell{before[0] / 1e9, now[0] / 1e9, (now[1] - before[1]) / (now[0] - before[0]) * 1e9}
		spells, before = append(spells, x), now
	}
	return seriesOf("transactions", spells, seriesStep(s.Timing.Measure), s.Timing.Measure)
}
