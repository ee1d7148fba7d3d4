package workload

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"testing"

	"tare/internal/bench"
)

func TestFioHistograms(t *testing.T) {
	w := fio{}
	type want struct {
		name     string
		count    int64
		min, max int64
		p99      [2]int64 // the edges of the bin whose middle fio prints
	}
	for _, c := range []struct {
		file, rw string
		want     []want
	}{
		{"fio-read.json", "read", []want{{"latency", 33248, 641, 2550417, [2]int64{43520, 44032}}}},
		{"fio-randread.json", "randread", []want{{"latency", 32977, 621, 2496717, [2]int64{44032, 44544}}}},
		{"fio-randwrite.json", "randwrite", []want{{"latency", 23125, 631, 10131861, [2]int64{237568, 239616}}}},
		{"fio-randrw.json", "randrw", []want{{"read_latency", 13367, 650, 960604, [2]int64{56832, 57344}}, {"write_latency", 13296, 621, 2895162, [2]int64{60928, 61440}}}},
		{"fio-two-jobs.json", "randrw", []want{{"read_latency", 22389, 561, 5270927, [2]int64{104448, 105472}}, {"write_latency", 22301, 541, 5710108, [2]int64{385024, 389120}}}},
	} {
		t.Run(c.file, func(t *testing.T) {
			hs, err := w.Histograms(fill(t, w, bench.Params{"rw": c.rw}), setting(), bench.Output{Stdout: captured(t, c.file)})
			if err != nil || len(hs) != len(c.want) {
				t.Fatalf("%d histograms, %v", len(hs), err)
			}
			for i, want := range c.want {
				h := hs[i]
				p99, longest := h.Quantile(0.99), h.Quantile(1)
				if h.Name != want.name || h.Count() != want.count || h.Min[0] != want.min || longest.Low != want.max || longest.High != want.max {
					t.Errorf("%s of %d from %v to %+v, want %+v", h.Name, h.Count(), h.Min, longest, want)
				}
				if p99.Low != want.p99[0] || p99.High != want.p99[1] {
					t.Errorf("%s: p99 %+v, want %v", h.Name, p99, want.p99)
				}
			}
		})
	}
}

func TestFioHistogramsRefuse(t *testing.T) {
	w := fio{}
	good := captured(t, "fio-read.json")
	change := func(old, new string) []byte {
		if !bytes.Contains(good, []byte(old)) {
			t.Fatalf("no %q in the capture", old)
		}
		return bytes.ReplaceAll(good, []byte(old), []byte(new))
	}
	for says, stdout := range map[string][]byte{
		`"bins": not found`:                change(`"bins" : {`, `"binz" : {`),
		`bin "645": not the middle`:        change(`"644" :`, `"645" :`),
		`bin "x644": not a time`:           change(`"644" :`, `"x644" :`),
		`bin "644.5": not a time`:          change(`"644" :`, `"644.5" :`),
		"requests in the bins, 33249 in":   change(`"N" : 33248`, `"N" : 33249`),
		"percentile 99 between":            change(`"99.000000" : 43776`, `"99.000000" : 50000`),
		"cannot be":                        change(`"644" : 1`, `"644" : -1`),
		"not the middle of a bin of fio's": change(`"644" :`, `"9223372036854775807" :`),
	} {
		_, err := w.Histograms(fill(t, w, bench.Params{"rw": "read"}), setting(), bench.Output{Stdout: stdout})
		wantError(t, err, says)
	}
}

func TestFioBinsTile(t *testing.T) {
	end := int64(0)
	for n := 0; end < fioTop; n++ {
		width := int64(1)
		if end >= fioExact {
			for width<<(fioBits+1) <= end {
				width *= 2
			}
		}
		low, high, err := fioBin(strconv.FormatInt(end+width/2, 10))
		if err != nil || low != end || high != end+width {
			t.Fatalf("bin %d: [%d, %d), %v, want [%d, %d)", n, low, high, err, end, end+width)
		}
		end = high
	}
}

func TestSysbenchHistogram(t *testing.T) {
	w := sysbenchCPU{}
	hs, err := w.Histograms(fill(t, w, nil), setting(), bench.Output{Stdout: captured(t, "sysbench.txt")})
	if err != nil || len(hs) != 1 {
		t.Fatalf("%d histograms, %v", len(hs), err)
	}
	h := hs[0]
	if h.Count() != 20874 || h.Bins[0] != (bench.Bin{Low: 183624, High: 186960, Count: 368}) {
		t.Errorf("%d events, first bin %+v", h.Count(), h.Bins[0])
	}
	// The bin that sysbench prints as 0.203: a width of 1.8 %.
	if p95 := h.Quantile(0.95); p95.Low != 200923 || p95.High != 204574 {
		t.Errorf("p95 %+v", p95)
	}
	for _, b := range h.Bins {
		if width := float64(b.High-b.Low) / float64(b.Low); width > 0.0183 {
			t.Errorf("bin %+v is %.4f wide", b, width)
		}
	}
}

// Below 50 us bins share their name: they become one, and none is lost.
func TestSysbenchHistogramOfShortEvents(t *testing.T) {
	h, err := sysbenchHistogram(captured(t, "sysbench-short.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if h.Count() != 9837592 || h.Bins[0].Low != 0 || h.Bins[0].High != 1500 {
		t.Errorf("%d events, first bin %+v", h.Count(), h.Bins[0])
	}
}

func TestSysbenchBinsTile(t *testing.T) {
	end := int64(0)
	for i := range sysbenchBins {
		text := sysbenchText(i)
		low, high, err := sysbenchEdges(text)
		if err != nil {
			t.Fatalf("bin %d, %s: %v", i, text, err)
		}
		if high == end {
			continue // it has the name of the bin before
		}
		if low != end || high <= low {
			t.Fatalf("bin %d, %s: [%d, %d) after %d", i, text, low, high, end)
		}
		end = high
	}
}

func TestSysbenchHistogramRefuses(t *testing.T) {
	good := captured(t, "sysbench.txt")
	change := func(old, new string) []byte {
		if !bytes.Contains(good, []byte(old)) {
			t.Fatalf("no %q in the capture", old)
		}
		return bytes.Replace(good, []byte(old), []byte(new), 1)
	}
	for says, stdout := range map[string][]byte{
		"histogram (values are in milliseconds)\": not found": change("Latency histogram", "Histogram"),
		`"0.188": not the middle of a bin`:                    change("0.189", "0.188"),
		`"x.189": not a number`:                               change("0.189", "x.189"),
		`"many" is not a count`:                               change(" 10737\n", " many\n"),
		"not a bin":                                           change("0.189 |", "0.189 :"),
		"events in the bins, 20874 in all":                    change(" 10737\n", " 10736\n"),
		"percentile 95 between":                               change("95th percentile:                        0.20", "95th percentile:                        0.30"),
		"longest request":                                     change("max:                                    ", "max:                                    9"),
	} {
		_, err := sysbenchCPU{}.Parse(fill(t, sysbenchCPU{}, nil), unwarmed(), bench.Output{Stdout: stdout})
		wantError(t, err, says)
	}
}

func FuzzFioHistograms(f *testing.F) {
	for _, rw := range []string{"read", "randread", "randwrite", "randrw"} {
		f.Add(rw, captured(f, "fio-"+rw+".json"))
	}
	f.Fuzz(func(t *testing.T, rw string, stdout []byte) {
		hs, err := fio{}.Histograms(bench.Params{"rw": rw}, setting(), bench.Output{Stdout: stdout})
		checkHistograms(t, hs, err)
	})
}

func FuzzSysbenchHistogram(f *testing.F) {
	for _, name := range []string{"sysbench.txt", "sysbench-short.txt", "sysbench-badoption.txt"} {
		f.Add(captured(f, name))
	}
	f.Fuzz(func(t *testing.T, stdout []byte) {
		h, err := sysbenchHistogram(stdout)
		checkHistograms(t, []bench.Histogram{h}, err)
	})
}

// checkHistograms fails unless what was read without an error can be merged with itself.
func checkHistograms(t *testing.T, hs []bench.Histogram, err error) {
	t.Helper()
	if err != nil {
		if strings.TrimSpace(err.Error()) == "" {
			t.Error("an error that says nothing")
		}
		return
	}
	for _, h := range hs {
		n := h.Count()
		if n > 1<<61 {
			continue
		}
		if twice, err := bench.MergeHistograms(h, h); err != nil || twice.Count() != 2*n {
			t.Errorf("merged with itself: %d of %d requests, %v", twice.Count(), 2*n, err)
		}
	}
}

// sysbenchText is how sysbench prints the middle of its bin i.
func sysbenchText(i int) string {
	return strconv.FormatFloat(sysbenchLow*math.Exp(float64(i)/sysbenchStep), 'f', 3, 64)
}

// A program names the last bin by its middle, though the longest request lies below it.
func TestAgreesBeyondTheLongest(t *testing.T) {
	h := bench.Histogram{Name: "latency", Min: [2]int64{100, 100}, Max: [2]int64{1990, 1990},
		Bins: []bench.Bin{{Low: 90, High: 110, Count: 8}, {Low: 1980, High: 2020, Count: 2}}}
	if err := agrees(h, 0.95, 2000, 0); err != nil {
		t.Error(err)
	}
	for _, said := range []float64{80, 1500, 2021} {
		if agrees(h, 0.95, said, 0) == nil {
			t.Errorf("%v agrees", said)
		}
	}
}
