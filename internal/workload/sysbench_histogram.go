package workload

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tare/internal/bench"
)

// sysbench counts times in 1024 bins whose middles are spread evenly in
// logarithm from 1 us to 100 s (sb_logger.c, OPER_LOG_*); the first and the last
// take what is beyond. It prints the middle in ms with three decimals, so that
// below 50 us several bins have one name: those are taken as one.
const (
	sysbenchGrid = "sysbench, 1024 from 1 us to 100 s (1.8 %, below 50 us 1 us)"
	sysbenchBins = 1024
	sysbenchLow  = 1e-3 // ms
	sysbenchHigh = 1e5  // ms
	// sysbenchDigit is the last one of the least and greatest latency printed, in ns.
	sysbenchDigit = 0.01e6
)

const sysbenchTitle = "Latency histogram (values are in milliseconds)"

// Histograms reads the times of single searches, of all threads.
func (sysbenchCPU) Histograms(_ bench.Params, _ bench.Setting, out bench.Output) ([]bench.Histogram, error) {
	h, err := sysbenchHistogram(out.Stdout)
	if err != nil {
		return nil, fmt.Errorf("sysbench: %w", err)
	}
	return []bench.Histogram{h}, nil
}

func sysbenchHistogram(stdout []byte) (bench.Histogram, error) {
	h := bench.Histogram{Name: "latency", Grid: sysbenchGrid}
	_, rest, ok := bytes.Cut(stdout, []byte(sysbenchTitle+"\n"))
	if !ok {
		return h, fmt.Errorf("%q: %w in %s", sysbenchTitle, errMissing, excerpt(stdout))
	}
	for line := range bytes.Lines(rest) {
		text := strings.TrimRight(string(line), "\n")
		if strings.TrimSpace(text) == "" {
			break
		}
		if len(h.Bins) == 0 && strings.HasPrefix(strings.TrimSpace(text), "value ") {
			continue
		}
		b, err := sysbenchBin(text)
		if err != nil {
			return h, err
		}
		h.Bins = withBin(h.Bins, b)
	}
	for label, into := range map[string]*[2]int64{"min": &h.Min, "max": &h.Max} {
		text, err := afterLabel(rest, label)
		if err != nil {
			return h, err
		}
		if *into, err = printed(label, text, sysbenchDigit); err != nil {
			return h, err
		}
	}
	if k := len(h.Bins) - 1; k >= 0 && h.Bins[k].High == sysbenchEdge(sysbenchBins) {
		h.Bins[k].High = max(h.Bins[k].High, h.Max[1])
	}
	if warm, _ := sysbenchReports(stdout); warm != nil && len(h.Bins) > 0 { // the shortest or longest may not be in the bins
		first, last := h.Bins[0], h.Bins[len(h.Bins)-1]
		if h.Min[1] < first.Low || h.Min[0] > first.High {
			h.Min = [2]int64{first.Low, first.High}
		}
		if h.Max[1] < last.Low || h.Max[0] > last.High {
			h.Max = [2]int64{last.Low, last.High}
		}
	}
	return h, h.Check()
}

// sysbenchBin reads a line such as "0.189 |****** 15975".
func sysbenchBin(line string) (bench.Bin, error) {
	name, rest, ok := strings.Cut(line, "|")
	fields := strings.Fields(rest)
	if !ok || len(fields) == 0 || len(fields) > 2 || len(fields) == 2 && strings.Trim(fields[0], "*") != "" {
		return bench.Bin{}, fmt.Errorf("histogram: line %q: not a bin", line)
	}
	count, err := strconv.ParseInt(fields[len(fields)-1], 10, 64)
	if err != nil || count <= 0 {
		return bench.Bin{}, fmt.Errorf("histogram: line %q: %q is not a count", line, fields[len(fields)-1])
	}
	low, high, err := sysbenchEdges(strings.TrimSpace(name))
	if err != nil {
		return bench.Bin{}, fmt.Errorf("histogram: line %q: %w", line, err)
	}
	return bench.Bin{Low: low, High: high, Count: count}, nil
}

// sysbenchEdges finds the edges of all bins that sysbench prints as text.
func sysbenchEdges(text string) (low, high int64, err error) {
	ms, err := positive(text)
	if err != nil {
		return 0, 0, err
	}
	near := int(math.Log(ms/sysbenchLow) * sysbenchStep)
	first, last := -1, -1
	// Names repeat for at most 42 bins: from 0.5 to 1.5 us.
	for i := max(0, near-42); i < min(sysbenchBins, near+43); i++ {
		if strconv.FormatFloat(sysbenchLow*math.Exp(float64(i)/sysbenchStep), 'f', 3, 64) == text {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return 0, 0, fmt.Errorf("%q: not the middle of a bin of sysbench's", text)
	}
	return sysbenchEdge(first), sysbenchEdge(last + 1), nil
}

// sysbenchStep is the number of bins for a factor of e.
var sysbenchStep = (sysbenchBins - 1) / math.Log(sysbenchHigh/sysbenchLow)

// sysbenchEdge is where bin i begins, in ns; the first begins at 0.
func sysbenchEdge(i int) int64 {
	if i == 0 {
		return 0
	}
	return int64(math.Round(1e6 * sysbenchLow * math.Exp((float64(i)-0.5)/sysbenchStep)))
}
