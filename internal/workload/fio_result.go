package workload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"tare/internal/bench"
)

// fioReport is what is read of fio's json+ report.
type fioReport struct {
	Jobs []fioJob `json:"jobs"`
}

type fioJob struct {
	Error   int               `json:"error"`
	Options map[string]string `json:"job options"`
	Read    fioDirection      `json:"read"`
	Write   fioDirection      `json:"write"`
}

type fioDirection struct {
	Bytes   float64    `json:"bw_bytes"` // per second
	IOPS    float64    `json:"iops"`
	Total   int64      `json:"total_ios"`
	Runtime int64      `json:"runtime"` // in milliseconds, without the ramp
	Latency fioLatency `json:"clat_ns"`
}

// fioLatency is in nanoseconds.
type fioLatency struct {
	N          int64              `json:"N"`
	Min        int64              `json:"min"`
	Max        int64              `json:"max"`
	Percentile map[string]float64 `json:"percentile"`
	Bins       map[string]int64   `json:"bins"` // counts by the middle of the bin
}

// fioPart is one direction of an access pattern.
type fioPart struct {
	name   string // "read" or "write"
	prefix string // of its metrics and its histogram: "read_" of a mixed load, else nothing
	from   fioDirection
}

// parts are the directions that the access pattern has.
func (j fioJob) parts(rw string) []fioPart {
	var out []fioPart
	for _, d := range []struct {
		name  string
		modes []string
		from  fioDirection
	}{{"read", []string{"read", "randread", "randrw"}, j.Read}, {"write", []string{"write", "randwrite", "randrw"}, j.Write}} {
		if !slices.Contains(d.modes, rw) {
			continue
		}
		part := fioPart{name: d.name, from: d.from}
		if rw == "randrw" {
			part.prefix = d.name + "_"
		}
		out = append(out, part)
	}
	return out
}

func (w fio) Parse(p bench.Params, _ bench.Setting, out bench.Output) ([]bench.Value, error) {
	if err := finished("fio", out); err != nil {
		return nil, err
	}
	job, err := fioResult(out.Stdout)
	if err != nil {
		return nil, fmt.Errorf("fio: %w", err)
	}
	if job.Error != 0 {
		return nil, fmt.Errorf("fio: error %d: %s", job.Error, lastWords(out))
	}
	direct, engine := way(p)
	for option, want := range map[string]string{"direct": direct, "ioengine": engine} {
		if got := job.Options[option]; got != want {
			return nil, fmt.Errorf("fio: it ran with %s=%q, not %q", option, got, want)
		}
	}
	var values []bench.Value
	var iops, moved float64
	for _, part := range job.parts(p["rw"]) {
		got, err := part.from.values(part.prefix, part.prefix != "")
		if err != nil {
			return nil, fmt.Errorf("fio: %ss: %w", part.name, err)
		}
		values = append(values, got...)
		iops += part.from.IOPS
		moved += part.from.Bytes
	}
	total := []bench.Value{{Metric: "iops", Value: iops}, {Metric: "bandwidth", Value: moved / 1e6}}
	return append(total, values...), nil
}

// fioResult finds the report in what fio printed: notes may stand before it.
func fioResult(stdout []byte) (fioJob, error) {
	start := bytes.IndexByte(stdout, '{')
	if start < 0 {
		return fioJob{}, fmt.Errorf("no report in %s", excerpt(stdout))
	}
	var report fioReport
	if err := json.NewDecoder(bytes.NewReader(stdout[start:])).Decode(&report); err != nil {
		return fioJob{}, fmt.Errorf("report: %w in %s", err, excerpt(stdout[start:]))
	}
	if len(report.Jobs) != 1 {
		return fioJob{}, fmt.Errorf("report: %d groups of jobs, not 1, in %s", len(report.Jobs), excerpt(stdout[start:]))
	}
	return report.Jobs[0], nil
}

// values are the direction's latencies and, if rates is set, its rates too.
func (d fioDirection) values(prefix string, rates bool) ([]bench.Value, error) {
	if d.Total <= 0 || !(d.IOPS > 0) || !(d.Bytes > 0) {
		return nil, fmt.Errorf("none finished (%d in all, %v per second, %v bytes per second)", d.Total, d.IOPS, d.Bytes)
	}
	var values []bench.Value
	if rates {
		values = append(values, bench.Value{Metric: prefix + "iops", Value: d.IOPS},
			bench.Value{Metric: prefix + "bandwidth", Value: d.Bytes / 1e6})
	}
	for _, q := range []struct{ key, metric string }{{"95.000000", "p95_latency"}, {"99.000000", "p99_latency"}} {
		ns, ok := d.Latency.Percentile[q.key]
		if !ok {
			return nil, fmt.Errorf("percentile %s: %w among %v", q.key, errMissing, d.Latency.Percentile)
		}
		if !(ns > 0) || math.IsInf(ns, 0) {
			return nil, fmt.Errorf("percentile %s: %v ns is not above zero", q.key, ns)
		}
		values = append(values, bench.Value{Metric: prefix + q.metric, Value: ns / 1e3})
	}
	return values, nil
}
