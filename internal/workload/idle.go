package workload

import (
	"strconv"
	"time"

	"tare/internal/bench"
)

// idle does nothing for as long as is measured: what an instance costs by being
// there. It measures nothing by itself; the meters do.
type idle struct{}

func (idle) Name() string { return "idle" }

func (idle) Summary() string {
	return "nothing, by sleep: what an instance draws and uses by being there"
}

func (idle) Resource() string { return "other" }

func (idle) Parts() []string { return nil }

func (idle) Programs() []string { return []string{"sleep"} }

func (idle) Params() []bench.Param { return nil }

func (idle) Metrics(bench.Params) ([]bench.Metric, error) { return nil, nil }

func (w idle) Steps(part string, _ bench.Params, s bench.Setting) (bench.Part, error) {
	if part != bench.SubjectPart {
		return bench.Part{}, unknownPart(w, part)
	}
	measure, err := measured(s.Timing)
	if err != nil {
		return bench.Part{}, err
	}
	main, err := sleep(s.Timing, measure)
	if err != nil {
		return bench.Part{}, err
	}
	steps := bench.Part{Main: main}
	if s.Timing.Warmup > 0 {
		warm, err := sleep(s.Timing, s.Timing.Warmup)
		if err != nil {
			return bench.Part{}, err
		}
		steps.Warm = []bench.Command{warm}
	}
	return steps, nil
}

func sleep(t bench.Timing, d time.Duration) (bench.Command, error) {
	limit, err := timeout(t, d)
	if err != nil {
		return bench.Command{}, err
	}
	return bench.Command{Argv: []string{"sleep", strconv.FormatFloat(d.Seconds(), 'f', -1, 64)}, Timeout: limit}, nil
}

// Parse returns nothing: sleep says nothing.
func (idle) Parse(_ bench.Params, _ bench.Setting, out bench.Output) ([]bench.Value, error) {
	return nil, finished("sleep", out)
}
