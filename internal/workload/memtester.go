package workload

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"tare/internal/bench"
)

// memtester writes and reads memory in many patterns: the memory neighbour of tesfatsion2018 table 6.
// A neighbour's program runs again and again.
type memtester struct{}

// memtesterRate is how much of memory is tested in a second by an ordinary machine.
const memtesterRate = 5 * bench.MiB

// memtesterScript takes from memtester what it may lock memory by. Some platforms grant it and some do
// not, and one that is granted a little only tests so much.
const memtesterScript = `ulimit -l 0 && exec setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock memtester "$@"`

func (memtester) Name() string { return "memtester" }

func (memtester) Summary() string {
	return "memory written and read in sixteen patterns, by memtester"
}

func (memtester) Resource() string { return "memory" }

func (memtester) Parts() []string { return nil }

// Family implements [bench.Familied].
func (memtester) Family() string { return "memtester" }

func (memtester) Programs() []string { return []string{"memtester", "setpriv", "sh"} }

func (memtester) Params() []bench.Param {
	return []bench.Param{
		{Name: "size", Kind: bench.KindSize, Default: "16MiB", Min: float64(bench.MiB), Doc: "memory that is tested, in whole MiB; 16 MiB take some four seconds"},
		{Name: "loops", Kind: bench.KindInt, Default: "1", Min: 1, Max: 400, Doc: "how often all patterns are passed through"},
	}
}

func (memtester) Metrics(bench.Params) ([]bench.Metric, error) {
	return []bench.Metric{{Name: "rate", Unit: "MiB/s", Better: bench.HigherIsBetter, Combine: bench.Sum, Headline: true,
		Doc: "memory that is tested by all patterns per second; a fault that is found fails the launch"}}, nil
}

// asked are size in bytes and loops.
func (w memtester) asked(p bench.Params) (size bench.Bytes, loops int64, err error) {
	n, err := intOf(w, p, "size")
	if err != nil {
		return 0, 0, err
	}
	if n%int64(bench.MiB) != 0 {
		return 0, 0, &ParamError{w.Name(), "size", fmt.Errorf("%v: not whole MiB", bench.Bytes(n))}
	}
	loops, err = intOf(w, p, "loops")
	return bench.Bytes(n), loops, err
}

func (w memtester) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	if part != bench.SubjectPart {
		return bench.Part{}, unknownPart(w, part)
	}
	size, loops, err := w.asked(p)
	if err != nil {
		return bench.Part{}, err
	}
	if size > s.Shape.Memory-s.Shape.Memory/4 {
		return bench.Part{}, &ParamError{w.Name(), "size", fmt.Errorf("%v are more than three quarters of the instance's memory of %v", size, s.Shape.Memory)}
	}
	limit, err := timeout(s.Timing, 4*w.Estimate(p, s))
	if err != nil {
		return bench.Part{}, err
	}
	argv := []string{"sh", "-c", memtesterScript, "sh", fmt.Sprintf("%dM", size/bench.MiB), fmt.Sprint(loops)}
	return bench.Part{Main: bench.Command{Argv: argv, Timeout: limit}}, nil
}

// Estimate is the time of all loops.
func (w memtester) Estimate(p bench.Params, _ bench.Setting) time.Duration {
	size, loops, err := w.asked(p)
	if err != nil {
		return 0
	}
	return time.Duration(float64(size) * float64(loops) / float64(memtesterRate) * float64(time.Second))
}

// memtesterFaults are what the bits of its exit status say.
var memtesterFaults = []string{"memory was not to be had, or the call was wrong", "an address is stuck", "a pattern was not read as it was written"}

var (
	memtesterGot  = regexp.MustCompile(`(?m)^got +\d+MB \((\d+) bytes\)`)
	memtesterLoop = regexp.MustCompile(`(?m)^Loop (\d+/\d+):$`)
)

func (w memtester) Parse(p bench.Params, _ bench.Setting, out bench.Output) ([]bench.Value, error) {
	if out.Exit > 0 && out.Exit < 8 && out.Signal == "" && !out.TimedOut {
		var why []string
		for bit, fault := range memtesterFaults {
			if out.Exit&(1<<bit) != 0 {
				why = append(why, fault)
			}
		}
		return nil, fmt.Errorf("memtester: exit status %d: %s: %s", out.Exit, strings.Join(why, ", "), lastWords(out))
	}
	if err := finished("memtester", out); err != nil {
		return nil, err
	}
	size, loops, err := w.asked(p)
	if err != nil {
		return nil, err
	}
	got := memtesterGot.FindAllSubmatch(out.Stdout, -1) // once more after it was not allowed to lock
	if len(got) == 0 {
		return nil, fmt.Errorf("memtester: the memory it got: %w in %s", errMissing, excerpt(out.Stdout))
	}
	if last := string(got[len(got)-1][1]); last != fmt.Sprint(int64(size)) {
		return nil, fmt.Errorf("memtester: it tested %s bytes, not %d", last, size)
	}
	begun := memtesterLoop.FindAllSubmatch(out.Stdout, -1)
	if n := int64(len(begun)); n != loops || string(begun[n-1][1]) != fmt.Sprintf("%d/%d", loops, loops) || !strings.HasSuffix(string(out.Stdout), "\nDone.\n") {
		return nil, fmt.Errorf("memtester: %d loops of %d: %s", n, loops, lastWords(out))
	}
	if out.Wall <= 0 {
		return nil, fmt.Errorf("memtester: it took %v", out.Wall)
	}
	return []bench.Value{{Metric: "rate", Value: float64(size/bench.MiB) * float64(loops) / out.Wall.Seconds()}}, nil
}
