package workload

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
)

// redis serves keys from memory to redis-benchmark on a peer: felter2014 section 3.7. It is a closed
// loop: a client asks again when it was answered.
type redis struct{}

//go:embed redis.pl
var redisScript []byte

const (
	redisPort  = 6379
	redisBegin = "redis begins"
)

func (redis) Name() string { return "redis" }

func (redis) Summary() string {
	return "a Redis server in the instance, asked by redis-benchmark from a machine beside it"
}

func (redis) Resource() string { return "network" }

func (redis) Parts() []string { return []string{servicePart} }

// Family implements [bench.Familied].
func (redis) Family() string { return "redis" }

func (redis) Programs() []string { return []string{"redis-server", "redis-benchmark", "perl"} }

func (redis) Params() []bench.Param {
	return []bench.Param{
		{Name: "command", Kind: bench.KindWord, Default: "get", Words: []string{"get", "set"}, Doc: "what the clients ask for"},
		{Name: "clients", Kind: bench.KindInt, Default: "50", Min: 1, Load: true, Doc: "connections, each with requests in flight"},
		{Name: "pipeline", Kind: bench.KindInt, Default: "1", Min: 1, Doc: "requests in flight of a connection"},
		{Name: "value-size", Kind: bench.KindSize, Default: "64", Min: 1, Doc: "bytes of a value"},
		{Name: "keys", Kind: bench.KindInt, Default: "1000", Min: 1, Doc: "keys, of which requests take any"},
		{Name: "persistence", Kind: bench.KindWord, Default: "none", Words: []string{"none", "everysec", "always"},
			Doc: "whether writes go to a file in the scratch space, and how often that is synced"},
	}
}

func (redis) Metrics(bench.Params) ([]bench.Metric, error) {
	return []bench.Metric{
		{Name: "requests", Unit: "requests/s", Better: bench.HigherIsBetter, Combine: bench.Sum, Headline: true, Doc: "answered per second, to all clients"},
		{Name: "mean_latency", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Mean, Doc: "mean time from request to answer"},
		{Name: "p95_latency", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Max, Doc: "95th percentile from request to answer"},
		{Name: "p99_latency", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Max, Doc: "99th percentile from request to answer"},
	}, nil
}

func (w redis) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	addr, err := served(w, s)
	if err != nil {
		return bench.Part{}, err
	}
	switch part {
	case bench.SubjectPart:
		return bench.Part{Main: redisServer(p["persistence"]), Service: true, Listen: redisPort, Ready: serverReady}, nil
	case servicePart:
		measure, err := measured(s.Timing)
		if err != nil {
			return bench.Part{}, err
		}
		// It counts requests and no time: how many it takes is found out in the warm-up.
		limit, err := timeout(s.Timing, 4*(s.Timing.Warmup+measure))
		if err != nil {
			return bench.Part{}, err
		}
		argv := []string{"perl", bench.ScratchDir + "/redis.pl", seconds(s.Timing.Warmup), seconds(measure), p["keys"],
			"redis-benchmark", "-h", addr.String(), "-p", strconv.Itoa(redisPort), "-c", p["clients"], "-P", p["pipeline"], "-d", p["value-size"],
			"-r", p["keys"], "--threads", strconv.Itoa(s.Shape.CPUs), "--precision", "3", "--csv", "-t", p["command"]}
		return bench.Part{
			Files: []bench.File{{Path: bench.ScratchDir + "/redis.pl", Mode: 0o644, Data: redisScript}},
			Main:  bench.Command{Argv: argv, Timeout: limit},
			Begin: redisBegin,
		}, nil
	}
	return bench.Part{}, unknownPart(w, part)
}

// redisServer starts the server, which writes to a file as often as said.
func redisServer(persistence string) bench.Command {
	argv := []string{"redis-server", "--port", strconv.Itoa(redisPort), "--bind", "0.0.0.0", "--protected-mode", "no", "--daemonize", "no",
		"--dir", bench.ScratchDir, "--save", "", "--appendonly"}
	if persistence == "none" {
		argv = append(argv, "no")
	} else {
		argv = append(argv, "yes", "--appendfsync", persistence)
	}
	return bench.Command{Argv: argv, Timeout: serviceLimit}
}

// serverReady is how long the server of an application may take until it accepts, in an emulated machine, too.
const serverReady = time.Minute

// seconds writes d in seconds.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

// redisColumns are the columns that are read of redis-benchmark's table, and their metrics.
var redisColumns = []struct{ metric, column string }{
	{"requests", "rps"}, {"mean_latency", "avg_latency_ms"}, {"p95_latency", "p95_latency_ms"}, {"p99_latency", "p99_latency_ms"},
}

func (redis) Parse(p bench.Params, _ bench.Setting, out bench.Output) ([]bench.Value, error) {
	if err := finished("redis-benchmark", out); err != nil {
		return nil, err
	}
	_, table, ok := strings.Cut(string(out.Stdout), redisBegin+"\n")
	if !ok {
		return nil, fmt.Errorf("redis-benchmark: %q: %w in %s", redisBegin, errMissing, excerpt(out.Stdout))
	}
	rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("redis-benchmark: %w: %s", err, excerpt([]byte(table)))
	}
	if len(rows) != 2 || !strings.EqualFold(rows[1][0], p["command"]) {
		return nil, fmt.Errorf("redis-benchmark: not one row of %q: %s", p["command"], excerpt([]byte(table)))
	}
	var values []bench.Value
	for _, c := range redisColumns {
		i := slices.Index(rows[0], c.column)
		if i < 0 {
			return nil, fmt.Errorf("redis-benchmark: column %q: %w in %s", c.column, errMissing, excerpt([]byte(table)))
		}
		v, err := positive(rows[1][i])
		if err != nil {
			return nil, fmt.Errorf("redis-benchmark: %s: %w", c.column, err)
		}
		values = append(values, bench.Value{Metric: c.metric, Value: v})
	}
	return values, nil
}
