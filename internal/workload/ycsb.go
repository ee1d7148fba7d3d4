package workload

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"tare/internal/bench"
)

// ycsb is a Redis server under YCSB's core workloads from a peer, in a closed loop: sharma2016 section
// 3.1, there workload A.
type ycsb struct{}

//go:embed ycsb/Redis.java
var ycsbBinding []byte

const (
	ycsbJars  = "/usr/share/ycsb/*"
	ycsbDir   = bench.ScratchDir + "/ycsb"
	ycsbBegin = "ycsb begins"
)

// ycsbOperation is a kind of YCSB's, and the word for it in metrics.
type ycsbOperation struct{ kind, word, doc string }

var (
	ycsbRead   = ycsbOperation{"READ", "read", "read of a record"}
	ycsbUpdate = ycsbOperation{"UPDATE", "update", "update of a field"}
	ycsbInsert = ycsbOperation{"INSERT", "insert", "insertion of a record"}
	ycsbScan   = ycsbOperation{"SCAN", "scan", "scan of 1 to 100 records"}
	ycsbModify = ycsbOperation{"READ-MODIFY-WRITE", "modify", "read of a record with the update that follows"}
)

// ycsbMixes are YCSB's workloads a to f, as its files of these names define them, and the load before them.
var ycsbMixes = map[string]struct {
	// does are the operations of its mix, the one whose latency comes first in front. Those of workload
	// f are told apart by what follows a read.
	does       []ycsbOperation
	properties []string
}{
	"a":    {[]ycsbOperation{ycsbRead, ycsbUpdate}, []string{"readproportion=0.5", "updateproportion=0.5"}},
	"b":    {[]ycsbOperation{ycsbRead, ycsbUpdate}, []string{"readproportion=0.95", "updateproportion=0.05"}},
	"c":    {[]ycsbOperation{ycsbRead}, []string{"readproportion=1", "updateproportion=0"}},
	"d":    {[]ycsbOperation{ycsbRead, ycsbInsert}, []string{"readproportion=0.95", "updateproportion=0", "insertproportion=0.05", "requestdistribution=latest"}},
	"e":    {[]ycsbOperation{ycsbScan, ycsbInsert}, []string{"readproportion=0", "updateproportion=0", "scanproportion=0.95", "insertproportion=0.05", "maxscanlength=100", "scanlengthdistribution=uniform"}},
	"f":    {[]ycsbOperation{ycsbRead, ycsbModify}, []string{"readproportion=0.5", "updateproportion=0", "readmodifywriteproportion=0.5"}},
	"load": {[]ycsbOperation{ycsbInsert}, nil},
}

func (ycsb) Name() string { return "ycsb" }

func (ycsb) Summary() string {
	return "a Redis server in the instance, under a core workload of YCSB from a machine beside it"
}

func (ycsb) Resource() string { return "network" }

func (ycsb) Parts() []string { return []string{servicePart} }

// Family implements [bench.Familied].
func (ycsb) Family() string { return "ycsb" }

func (ycsb) Programs() []string { return []string{"redis-server", "java", "javac"} }

func (ycsb) Params() []bench.Param {
	return []bench.Param{
		{Name: "workload", Kind: bench.KindWord, Default: "a", Words: []string{"a", "b", "c", "d", "e", "f", "load"},
			Doc: "by YCSB's name: a half updates, b 5 % updates, c reads, d reads of the latest and 5 % insertions, e scans and 5 % insertions, f half read-modify-write; load inserts"},
		{Name: "threads", Kind: bench.KindInt, Default: "4", Min: 1, Max: 4096, Load: true, Doc: "clients, each with one operation at a time"},
		{Name: "records", Kind: bench.KindInt, Default: "10000", Min: 1, Max: 100e6, Doc: "records of 1 KB, of ten fields, that are there before; load begins with none"},
		webErrors("operations"),
	}
}

func (ycsb) Metrics(p bench.Params) ([]bench.Metric, error) {
	metrics := []bench.Metric{{Name: "operations", Unit: "operations/s", Better: bench.HigherIsBetter, Combine: bench.Sum, Headline: true, Doc: "finished per second, by all clients"}}
	for _, o := range ycsbMixes[p["workload"]].does {
		metrics = append(metrics,
			bench.Metric{Name: o.word + "_mean_latency", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Mean, Doc: "mean time of a " + o.doc},
			bench.Metric{Name: o.word + "_p95_latency", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Max, Doc: "95th percentile of it"},
			bench.Metric{Name: o.word + "_p99_latency", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Max, Doc: "99th percentile of it"})
	}
	return metrics, nil
}

func (w ycsb) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	addr, err := served(w, s)
	if err != nil {
		return bench.Part{}, err
	}
	switch part {
	case bench.SubjectPart:
		return bench.Part{Main: redisServer("none"), Service: true, Listen: redisPort, Ready: serverReady}, nil
	case servicePart:
		measure, err := measured(s.Timing)
		if err != nil {
			return bench.Part{}, err
		}
		length := s.Timing.Warmup + measure
		limit, err := timeout(s.Timing, length)
		if err != nil {
			return bench.Part{}, err
		}
		client := func(warm time.Duration, there, verb string, properties ...string) bench.Command {
			argv := []string{"java", "-cp", ycsbJars + ":" + ycsbDir, "site.ycsb.Client", verb, "-db", "Redis", "-threads", p["threads"]}
			for _, property := range append([]string{"workload=site.ycsb.workloads.CoreWorkload", "redis.host=" + addr.String(), "redis.port=" + strconv.Itoa(redisPort),
				"warm=" + strconv.FormatInt(warm.Milliseconds(), 10), "there=" + there, "requestdistribution=zipfian",
				"exporter=site.ycsb.measurements.exporter.JSONArrayMeasurementsExporter"}, properties...) {
				argv = append(argv, "-p", property)
			}
			return bench.Command{Argv: argv, Timeout: limit}
		}
		binding := ycsbDir + "/Redis.java"
		steps := bench.Part{
			Files:   []bench.File{{Path: binding, Mode: 0o644, Data: ycsbBinding}},
			Prepare: []bench.Command{{Argv: []string{"javac", "-cp", ycsbJars, "-d", ycsbDir, binding}, Timeout: slack}},
			Begin:   ycsbBegin,
		}
		end := "maxexecutiontime=" + wholeSeconds(length)
		if p["workload"] == "load" {
			steps.Main = client(s.Timing.Warmup, "0", "-load", end, "recordcount="+strconv.Itoa(ycsbNoEnd), "operationcount=0")
			return steps, nil
		}
		records := "recordcount=" + p["records"]
		steps.Prepare = append(steps.Prepare, client(0, "0", "-load", records, "operationcount=0"))
		// By this number YCSB guesses how many records will be there at the end, and draws from these,
		// again and again until one is there already.
		operations := "operationcount=" + strconv.Itoa(ycsbNoEnd)
		if p["workload"] == "e" {
			operations = "operationcount=" + strconv.FormatInt(20_000*int64(length/time.Second+1), 10)
		}
		steps.Main = client(s.Timing.Warmup, p["records"], "-t", append([]string{end, records, operations}, ycsbMixes[p["workload"]].properties...)...)
		return steps, nil
	}
	return bench.Part{}, unknownPart(w, part)
}

// ycsbNoEnd is more operations than anyone waits for.
const ycsbNoEnd = 2_000_000_000

func (w ycsb) Parse(p bench.Params, _ bench.Setting, out bench.Output) ([]bench.Value, error) {
	if err := finished("ycsb", out); err != nil {
		return nil, err
	}
	values, err := w.values(p, out.Stdout)
	if err != nil {
		return nil, fmt.Errorf("ycsb: %w", err)
	}
	return values, nil
}

// ycsbMeasurement is an element of what YCSB prints, such as
// {"metric": "READ", "measurement": "95thPercentileLatency(us)", "value": 322}.
type ycsbMeasurement struct {
	Metric      string `json:"metric"`
	Measurement string `json:"measurement"`
	// Value is a number, or "NaN" of what was never done.
	Value json.RawMessage `json:"value"`
}

func (w ycsb) values(p bench.Params, stdout []byte) ([]bench.Value, error) {
	share, err := floatOf(w, p, "errors")
	if err != nil {
		return nil, err
	}
	text, err := afterLabel(stdout, "measured us")
	if err != nil {
		return nil, err
	}
	us, err := positive(text)
	if err != nil {
		return nil, fmt.Errorf("measured us: %w", err)
	}
	_, list, _ := bytes.Cut(stdout, []byte("measured us: "+text+"\n"))
	var all []ycsbMeasurement
	if err := json.Unmarshal(list, &all); err != nil {
		return nil, fmt.Errorf("%w: %s", err, excerpt(list))
	}
	find := func(kind, measurement string) (float64, error) {
		i := slices.IndexFunc(all, func(m ycsbMeasurement) bool { return m.Metric == kind && m.Measurement == measurement })
		if i < 0 {
			return 0, fmt.Errorf("%s of %s: %w in %s", measurement, kind, errMissing, excerpt(list))
		}
		v, err := positive(string(all[i].Value))
		if err != nil {
			err = fmt.Errorf("%s of %s: %w", measurement, kind, err)
		}
		return v, err
	}
	done, failed := 0.0, 0.0
	values := []bench.Value{{Metric: "operations"}}
	var faults []error
	for _, o := range ycsbMixes[p["workload"]].does {
		if n, err := find(o.kind+"-FAILED", "Operations"); err == nil { // what never failed is not listed
			failed += n
		}
		n, err := find(o.kind, "Operations")
		if o != ycsbModify { // the read that it begins with is counted
			done += n
		}
		faults = append(faults, err)
		for _, m := range []struct{ metric, measurement string }{
			{"_mean_latency", "AverageLatency(us)"}, {"_p95_latency", "95thPercentileLatency(us)"}, {"_p99_latency", "99thPercentileLatency(us)"}} {
			v, err := find(o.kind, m.measurement)
			faults = append(faults, err)
			values = append(values, bench.Value{Metric: o.word + m.metric, Value: v / 1000})
		}
	}
	if 100*failed > share*(done+failed) {
		return nil, fmt.Errorf("%.0f of %.0f operations failed, more than %g %%%w", failed, done+failed, share, bench.Hint("errors: 100 lets any fail"))
	}
	if i := slices.IndexFunc(faults, func(err error) bool { return err != nil }); i >= 0 {
		return nil, faults[i]
	}
	values[0].Value = done / (us / 1e6)
	return values, nil
}
