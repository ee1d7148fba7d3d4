package workload

import (
	"fmt"
	"strconv"

	"tare/internal/bench"
)

// stress keeps one resource busy with stress-ng until it is killed. It measures
// nothing: it is what a neighbour does while a subject is measured. Every kind
// stays within the instance's own shape.
type stress struct{}

const (
	// hddBytes is the file each io worker writes over and over.
	hddBytes = 64 * bench.MiB
	// forkMost bounds the children of all fork workers where the shape has no bound of its own.
	forkMost = 64
)

func (stress) Name() string { return "stress" }

func (stress) Summary() string {
	return "a neighbour that keeps CPU, disk, memory or fork busy, by stress-ng"
}

func (stress) Resource() string { return "other" }

func (stress) Parts() []string { return nil }

func (stress) Programs() []string { return []string{"stress-ng"} }

func (stress) Params() []bench.Param {
	return []bench.Param{
		{Name: "kind", Kind: bench.KindWord, Default: "cpu", Words: []string{"cpu", "io", "memory", "fork"},
			Doc: "what is kept busy: cpu multiplies matrices; io writes a file past the page cache; memory writes over half of the instance's memory; fork makes and reaps processes"},
		{Name: "workers", Kind: bench.KindInt, Min: 1, Load: true,
			Doc: "processes that do so; as many as the instance has CPUs if not given"},
		{Name: "busy", Kind: bench.KindInt, Default: "100", Min: 1,
			Doc: "percent of its time that each worker of kind cpu computes; it sleeps for the rest, in turns of some milliseconds"},
	}
}

func (stress) Metrics(bench.Params) ([]bench.Metric, error) { return nil, nil }

func (w stress) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	if part != bench.SubjectPart {
		return bench.Part{}, unknownPart(w, part)
	}
	workers := int64(max(s.Shape.CPUs, 1))
	if _, given := p["workers"]; given {
		n, err := intOf(w, p, "workers")
		if err != nil {
			return bench.Part{}, err
		}
		if n < 1 {
			return bench.Part{}, &ParamError{w.Name(), "workers", tooSmall(p["workers"], "1")}
		}
		workers = n
	}
	options, err := w.options(p["kind"], workers, s.Shape)
	if err != nil {
		return bench.Part{}, err
	}
	busy, err := intOf(w, p, "busy")
	switch {
	case err != nil:
		return bench.Part{}, err
	case busy < 1 || busy > 100:
		return bench.Part{}, &ParamError{w.Name(), "busy", fmt.Errorf("%d: a percentage from 1 to 100", busy)}
	case busy < 100 && p["kind"] != "cpu":
		return bench.Part{}, &ParamError{w.Name(), "busy", fmt.Errorf("%d: only kind cpu can idle in between", busy)}
	case busy < 100:
		options = append(options, "--cpu-load", strconv.FormatInt(busy, 10))
	}
	argv := append([]string{"stress-ng", "--timeout", "0", "--temp-path", bench.ScratchDir}, options...)
	return bench.Part{Main: bench.Command{Argv: argv, Dir: bench.ScratchDir, Timeout: serviceLimit}, Service: true}, nil
}

func (w stress) options(kind string, workers int64, shape bench.Shape) ([]string, error) {
	n := strconv.FormatInt(workers, 10)
	switch kind {
	case "cpu":
		return []string{"--cpu", n, "--cpu-method", "matrixprod"}, nil
	case "io":
		if bench.Bytes(workers) > shape.Disk/2/hddBytes {
			return nil, fmt.Errorf("stress: %d files of %v are more than half of a disk of %v: %w", workers, hddBytes, shape.Disk, bench.ErrInvalid)
		}
		return []string{"--hdd", n, "--hdd-bytes", strconv.FormatInt(int64(hddBytes), 10), "--hdd-opts", "direct"}, nil
	case "memory":
		each := shape.Memory / 2 / bench.Bytes(workers)
		if each < bench.MiB {
			return nil, fmt.Errorf("stress: half of %v is less than 1 MiB for each of %d workers: %w", shape.Memory, workers, bench.ErrInvalid)
		}
		return []string{"--vm", n, "--vm-bytes", strconv.FormatInt(int64(each), 10), "--vm-keep", "--vm-method", "write64"}, nil
	case "fork":
		// A worker is two processes besides its children, and something else runs too.
		most := int64(forkMost)
		if shape.Pids > 0 {
			most = min(most, int64(shape.Pids)/2-2*workers)
		}
		if most < workers {
			return nil, fmt.Errorf("stress: %d workers that fork do not fit a limit of %d tasks: %w", workers, shape.Pids, bench.ErrInvalid)
		}
		return []string{"--fork", n, "--fork-max", strconv.FormatInt(most/workers, 10)}, nil
	}
	return nil, &ParamError{w.Name(), "kind", fmt.Errorf("%q: unknown", kind)}
}

// Parse returns nothing: a neighbour is not measured.
func (stress) Parse(bench.Params, bench.Setting, bench.Output) ([]bench.Value, error) {
	return nil, nil
}
