package workload

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strings"

	"tare/internal/bench"
)

func (w files) Parse(p bench.Params, _ bench.Setting, out bench.Output) ([]bench.Value, error) {
	p = w.asked(p)
	program := p["program"]
	if err := finished(program, out); err != nil {
		return nil, err
	}
	_, text, ok := bytes.Cut(out.Stdout, []byte(filesBegin+"\n"))
	if !ok {
		return nil, fmt.Errorf("%s: %q: %w in %s", program, filesBegin, errMissing, excerpt(out.Stdout))
	}
	read := map[string]func(bench.Params, []byte) ([]bench.Value, error){"fs_mark": fsMark, "dbench": dbench, "postmark": postmark}[program]
	values, err := read(p, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	return values, nil
}

// fsMarkColumns are those of fs_mark's table: use of the file system in percent, files so far, their
// size, files per second, overhead in us, and the least, mean and greatest time of six calls in us.
const fsMarkColumns = 5 + 6*3

// Where the means are.
const (
	fsMarkCreate = 6
	fsMarkFsync  = 12
	fsMarkSync   = 15
	fsMarkUnlink = 21
)

// fsMark reads a line for each run. All made as many files, so the time that a file takes is the mean
// of the runs' times.
func fsMark(p bench.Params, text []byte) ([]bench.Value, error) {
	type column struct {
		metric string
		at     int
	}
	wanted := []column{{"create_latency", fsMarkCreate}, {"unlink_latency", fsMarkUnlink}}
	switch p["sync"] {
	case "fsync", "later":
		wanted = append(wanted, column{"sync_latency", fsMarkFsync})
	case "sync":
		wanted = append(wanted, column{"sync_latency", fsMarkSync})
	}
	runs, perFile, sums := 0.0, 0.0, make([]float64, len(wanted))
	for line := range bytes.Lines(text) {
		columns := strings.Fields(string(line))
		if len(columns) == 0 || columns[0] == "FSUse%" {
			continue
		}
		if len(columns) != fsMarkColumns {
			return nil, fmt.Errorf("line %s: not a row of its table", excerpt(line))
		}
		if columns[2] != p["size"] {
			return nil, fmt.Errorf("line %s: files of %s bytes, not %s", excerpt(line), columns[2], p["size"])
		}
		rate, err := positive(columns[3])
		if err != nil {
			return nil, fmt.Errorf("line %s: files per second: %w", excerpt(line), err)
		}
		perFile += 1 / rate
		for i, x := range wanted {
			us, err := number(columns[x.at])
			if err != nil || us < 0 {
				return nil, fmt.Errorf("line %s: %s: %q: not a time", excerpt(line), x.metric, columns[x.at])
			}
			sums[i] += us
		}
		runs++
	}
	if runs == 0 {
		return nil, fmt.Errorf("a row of its table: %w in %s", errMissing, excerpt(text))
	}
	values := []bench.Value{{Metric: "files", Value: runs / perFile}}
	for i, x := range wanted {
		if !(sums[i] > 0) {
			return nil, fmt.Errorf("%s: less than its resolution of 1 us in each of %.0f runs", x.metric, runs)
		}
		values = append(values, bench.Value{Metric: x.metric, Value: sums[i] / runs})
	}
	return values, nil
}

var (
	dbenchThroughput = regexp.MustCompile(`(?m)^Throughput (\S+) MB/sec .*max_latency=\S+ ms$`)
	dbenchLongest    = regexp.MustCompile(`(?m)^Throughput .*max_latency=(\S+) ms$`)
)

// dbench reads the summary and the table of operations, such as " Close  11566  0.006  20.252": their
// number, and their mean and longest time in ms.
func dbench(_ bench.Params, text []byte) ([]bench.Value, error) {
	values := make([]bench.Value, 0, 3)
	for _, x := range []struct {
		metric string
		from   *regexp.Regexp
		factor float64
	}{{"throughput", dbenchThroughput, 1}, {"max_latency", dbenchLongest, 1e3}} {
		found, err := onlyGroup(x.from, x.metric, text)
		if err != nil {
			return nil, err
		}
		v, err := positive(found)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.metric, err)
		}
		values = append(values, bench.Value{Metric: x.metric, Value: v * x.factor})
	}
	_, table, ok := bytes.Cut(text, []byte(" ----------------------------------------\n"))
	if !ok {
		return nil, fmt.Errorf("the table of operations: %w in %s", errMissing, excerpt(text))
	}
	count, total := 0.0, 0.0
	for line := range bytes.Lines(table) {
		columns := strings.Fields(string(line))
		if len(columns) == 0 {
			break
		}
		if len(columns) != 4 {
			return nil, fmt.Errorf("line %s: not a row of its table", excerpt(line))
		}
		n, err := number(columns[1])
		if err != nil || n < 0 {
			return nil, fmt.Errorf("line %s: %q: not a count", excerpt(line), columns[1])
		}
		if n == 0 {
			continue // its mean is none
		}
		ms, err := number(columns[2])
		if err != nil || ms < 0 {
			return nil, fmt.Errorf("line %s: %q: not a time", excerpt(line), columns[2])
		}
		count, total = count+n, total+n*ms
	}
	if !(total > 0) || math.IsInf(total, 0) {
		return nil, fmt.Errorf("the table of operations: %v ms in %v operations: %s", total, count, excerpt(table))
	}
	return append(values, bench.Value{Metric: "mean_latency", Value: total / count * 1e3}), nil
}

var (
	postmarkDone  = regexp.MustCompile(`(?m)^transactions (\d+ \S+)$`)
	postmarkTerse = regexp.MustCompile(`(?m)^(?:pm>)*(\d+ \d+(?: \d+\.\d\d){11})$`)
)

// postmark reads how long its transactions took by the script's clock, which its own of whole
// seconds, the second number of its report, must not gainsay.
func postmark(_ bench.Params, text []byte) ([]bench.Value, error) {
	found, err := onlyGroup(postmarkDone, "transactions", text)
	if err != nil {
		return nil, err
	}
	count, seconds, _ := strings.Cut(found, " ")
	n, err := positive(count)
	if err != nil {
		return nil, fmt.Errorf("transactions: %w", err)
	}
	took, err := positive(seconds)
	if err != nil {
		return nil, fmt.Errorf("time of the transactions: %w", err)
	}
	report, err := onlyGroup(postmarkTerse, "its report", text)
	if err != nil {
		return nil, err
	}
	whole, err := number(strings.Fields(report)[1])
	if err != nil {
		return nil, fmt.Errorf("its report: %w", err)
	}
	if math.Abs(whole-took) > 1.1 {
		return nil, fmt.Errorf("its report says %v s for what took %v s: %s", whole, took, excerpt([]byte(report)))
	}
	return []bench.Value{{Metric: "transactions", Value: n / took}}, nil
}
