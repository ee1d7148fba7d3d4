package analysis

import (
	"bytes"
	"os"
	"runtime/debug"
	"strconv"
	"testing"

	"tare/internal/bench"
	"tare/internal/result/store/storetest"
)

// BenchmarkAnalyzeMillion analyses a run of about a million samples, and
// prints the peak resident memory it took. The goal is 5 s and 500 MB of ten million.
func BenchmarkAnalyzeMillion(b *testing.B) {
	r := storetest.Synthetic(b, b.TempDir(), storetest.Options{Blocks: 3, Seconds: 2550, Seed: 1})
	var samples int
	debug.FreeOSMemory()                                                          // of making the run
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // resets VmHWM
		b.Fatal(err)
	}
	for b.Loop() {
		result, err := Analyze(r)
		if err != nil {
			b.Fatal(err)
		}
		samples = 0
		for _, l := range result.Observer.Levels {
			samples += l.Samples
		}
	}
	b.ReportMetric(float64(samples), "samples")
	b.ReportMetric(peakMB(b), "peak-MB")
}

func peakMB(b *testing.B) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := bytes.Cut(text, []byte("VmHWM:"))
	kb, err := strconv.ParseFloat(string(bytes.Fields(rest)[0]), 64)
	if err != nil {
		b.Fatal(err)
	}
	return kb * 1024 / float64(bench.MiB)
}
