// Package spectest has a small vocabulary for the tests of spec and plan. It has only names and no
// programs.
package spectest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"tare/internal/bench"
	"tare/internal/spec"
)

// Vocabulary returns five platforms and six workloads.
func Vocabulary() spec.Vocabulary {
	return spec.Vocabulary{
		Platforms: []spec.PlatformWord{
			{Name: "native"},
			{Name: "docker", Options: []bench.Option{
				{Name: "net", Values: []string{"bridge", "host"}, Default: "bridge"},
				{Name: "storage", Values: []string{"layer", "volume"}, Default: "layer"},
			}, On: []string{"kvm", "qemu-tcg", "kvm@qemu-tcg"}},
			{Name: "lxc"},
			{Name: "kvm", On: []string{"qemu-tcg"}},
			{Name: "qemu-tcg", Options: []bench.Option{{Name: "cache", Values: []string{"none", "writeback"}, Default: "none"}, bench.GuestChoice()}},
		},
		Workloads: []bench.Workload{
			Counter{Work{Word: "spin", Known: []bench.Param{
				{Name: "threads", Kind: bench.KindInt, Default: "1", Min: 1, Load: true},
				{Name: "limit", Kind: bench.KindInt, Default: "10000", Min: 1},
			}}},
			Work{Word: "scan", Known: []bench.Param{{Name: "repeats", Kind: bench.KindInt, Default: "3", Min: 1}}},
			Counter{Work{Word: "talk", Others: []string{"server"}, Known: []bench.Param{
				{Name: "test", Kind: bench.KindWord, Words: []string{"stream", "rr"}, Default: "stream"},
				{Name: "message", Kind: bench.KindSize, Default: "16384", Min: 1, Load: true},
			}}},
			Server{Work{Word: "serve", Others: []string{"load"}, Known: []bench.Param{{Name: "port", Kind: bench.KindInt, Default: "8080"}, {Name: "prepare", Kind: bench.KindInt, Default: "0"},
				{Name: "server", Kind: bench.KindString, Default: "true"}}}},
			Filler{Work{Word: "fill", Known: []bench.Param{{Name: "array", Kind: bench.KindSize, Default: "1MiB", Min: 1}}}},
			Cluster{Work{Word: "sort", Others: []string{"helper", "worker"}, Known: []bench.Param{{Name: "records", Kind: bench.KindInt, Default: "10", Min: 1}}}},
			Work{Word: "own", Known: []bench.Param{
				{Name: "argv", Kind: bench.KindJSON, Required: true},
				{Name: "wait", Kind: bench.KindDuration, Default: "0s"},
			}},
		},
		Fill:   Fill,
		Checks: []string{"image", "O_DIRECT"},
	}
}

// Work is a workload that is only a name with parameters.
type Work struct {
	Word   string
	Known  []bench.Param
	Others []string
}

func (w Work) Name() string          { return w.Word }
func (w Work) Summary() string       { return "for tests" }
func (w Work) Resource() string      { return "other" }
func (w Work) Params() []bench.Param { return w.Known }
func (w Work) Parts() []string       { return w.Others }
func (w Work) Programs() []string    { return []string{"true"} }

func (w Work) Metrics(bench.Params) ([]bench.Metric, error) {
	return []bench.Metric{{Name: "rate", Unit: "1/s", Better: bench.HigherIsBetter, Combine: bench.Sum, Headline: true}}, nil
}

// Steps refuses more threads than CPUs, and a part whose server has no address.
func (w Work) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	if n, err := strconv.Atoi(p["threads"]); err == nil && n > s.Shape.CPUs {
		return bench.Part{}, &ParamError{Param: "threads", Text: fmt.Sprintf("%d threads on %d CPUs", n, s.Shape.CPUs)}
	}
	for _, other := range w.Others {
		if !s.Addr[other].IsValid() {
			return bench.Part{}, fmt.Errorf("no address for %s: %w", other, bench.ErrInvalid)
		}
	}
	return bench.Part{Main: bench.Command{Argv: []string{"true"}}, Service: part == "server"}, nil
}

func (w Work) Parse(bench.Params, bench.Setting, bench.Output) ([]bench.Value, error) {
	return nil, fmt.Errorf("%s never ran", w.Word)
}

// Filler is a Work that knows how much memory its array needs.
type Filler struct{ Work }

// Memory implements [bench.Sized].
func (Filler) Memory(p bench.Params, _ bench.Setting) (bench.Bytes, error) {
	return bench.ParseBytes(p["array"])
}

// Cluster is a Work with members, and with a helper that a peer runs.
type Cluster struct{ Work }

// Members implements [bench.Clustered].
func (Cluster) Members() string { return "worker" }

// Counter is a Work that counts what it does, but for streams.
type Counter struct{ Work }

// Countless implements [bench.Counter].
func (Counter) Countless(p bench.Params) error {
	if p["test"] == "stream" {
		return &ParamError{Param: "test", Text: "a stream does not count"}
	}
	return nil
}

// Counted implements [bench.Counter].
func (c Counter) Counted(bench.Params, bench.Output) (float64, time.Duration, error) {
	return 0, 0, fmt.Errorf("%s never ran", c.Word)
}

// Server is a Work whose main part is a service, prepared or not, and with a server or not.
type Server struct{ Work }

// Steps says which port it listens on.
func (w Server) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	steps, err := w.Work.Steps(part, p, s)
	if part != bench.SubjectPart || err != nil {
		return steps, err
	}
	steps.Service = true
	if p["server"] == "none" {
		steps.Main.Argv = nil
	}
	if steps.Listen, err = strconv.Atoi(p["port"]); p["prepare"] != "0" {
		steps.Prepare = []bench.Command{steps.Main}
	}
	return steps, err
}

// ParamError is about one parameter.
type ParamError struct{ Param, Text string }

func (e *ParamError) Error() string     { return e.Param + ": " + e.Text }
func (e *ParamError) ParamName() string { return e.Param }
func (e *ParamError) Unwrap() error     { return bench.ErrInvalid }

// Fill checks kinds and bounds as far as the tests need them.
func Fill(w bench.Workload, given bench.Params) (bench.Params, error) {
	out := maps.Clone(given)
	var faults []error
	for _, p := range w.Params() {
		text, said := given[p.Name]
		switch {
		case !said && p.Required:
			faults = append(faults, &ParamError{p.Name, "is required"})
			continue
		case !said:
			text = p.Default
		}
		var value float64
		var err error
		switch p.Kind {
		case bench.KindInt:
			var n int
			n, err = strconv.Atoi(text)
			value = float64(n)
		case bench.KindSize:
			var b bench.Bytes
			b, err = bench.ParseBytes(text)
			value, text = float64(b), strconv.FormatInt(int64(b), 10)
		case bench.KindDuration:
			var t time.Duration
			t, err = time.ParseDuration(text)
			text = t.String()
		case bench.KindWord:
			if !slices.Contains(p.Words, text) {
				err = fmt.Errorf("%q is none of %v", text, p.Words)
			}
		}
		if err != nil {
			faults = append(faults, &ParamError{p.Name, err.Error()})
		} else if value < p.Min {
			faults = append(faults, &ParamError{p.Name, "too small"})
		}
		out[p.Name] = text
	}
	return out, errors.Join(faults...)
}
