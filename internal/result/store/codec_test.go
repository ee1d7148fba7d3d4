package store

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/bench"
)

func sampleGen() *rapid.Generator[bench.Sample] {
	return rapid.Custom(func(t *rapid.T) bench.Sample {
		return bench.Sample{
			At: rapid.Int64().Draw(t, "at"), Late: rapid.Int64().Draw(t, "late"),
			Took: rapid.Int64Range(0, 1e9).Draw(t, "took"), CPU: rapid.Int64Range(0, 1e9).Draw(t, "cpu"),
			Level: bench.Level(rapid.SampledFrom([]string{"guest", "layer", "host", "a<b", "é", "\xff", ""}).Draw(t, "level")),
			Actor: rapid.OneOf(rapid.Just(""), rapid.Just("subject-2"), rapid.String()).Draw(t, "actor"),
			Meter: rapid.OneOf(rapid.Just("proc"), rapid.String()).Draw(t, "meter"),
			Guest: rapid.Int64Range(-3, 3).Draw(t, "guest"),
			Values: rapid.MapOf(rapid.OneOf(rapid.StringMatching(`[a-z_]{1,12}`), rapid.String()),
				rapid.OneOf(rapid.Float64(), rapid.Float64Range(0, 1e7), rapid.Just(1e-7), rapid.Just(1e21),
					rapid.Map(rapid.Int64(), func(i int64) float64 { return float64(i) }))).Draw(t, "values"),
		}
	})
}

func encodeOne(t rapid.TB, s bench.Sample) []byte {
	b, err := new(encoder).append(nil, &s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEncodingIsThatOfEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := sampleGen().Draw(t, "sample")
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := encodeOne(t, s); !bytes.Equal(got, want) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	})
}

func TestDecodingGivesBackWhatWasEncoded(t *testing.T) {
	d := newDecoder()
	var got bench.Sample
	rapid.Check(t, func(t *rapid.T) {
		s := sampleGen().Draw(t, "sample")
		line := encodeOne(t, s)
		var want bench.Sample
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		if err := d.decode(line, &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v\nwant %+v", got, want)
		}
		for k, v := range s.Values { // keys that are not UTF-8 come back changed
			if w, ok := got.Values[k]; ok && math.Float64bits(w) != math.Float64bits(v) {
				t.Fatalf("%q: %v came back as %v", k, v, w)
			}
		}
	})
}

// Lines of sources that take turns, and whose columns come and go, read as each for itself does.
func TestLinesOfKnownSourcesReadAsOthers(t *testing.T) {
	check := func(s *bench.Sample) error { return s.Check() }
	rapid.Check(t, func(t *rapid.T) {
		h := &heads{decoder: newDecoder(), check: check}
		sources := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) bench.Sample {
			return bench.Sample{Level: rapid.SampledFrom([]bench.Level{bench.Host, bench.Guest, "x"}).Draw(t, "level"),
				Actor: rapid.SampledFrom([]string{"", "a", "é"}).Draw(t, "actor"), Meter: rapid.SampledFrom([]string{"proc", "procs", ""}).Draw(t, "meter")}
		}), 1, 4).Draw(t, "sources")
		known := 0
		for range rapid.IntRange(1, 30).Draw(t, "lines") {
			s := rapid.SampledFrom(sources).Draw(t, "source")
			s.At, s.Guest = rapid.Int64Range(-5, 1<<61).Draw(t, "at"), rapid.Int64Range(0, 1).Draw(t, "guest")
			s.Values = map[string]float64{}
			for _, c := range []string{"a_s", "mem_b", "c"} {
				if rapid.IntRange(0, 9).Draw(t, "has") > 0 {
					s.Values[c] = rapid.SampledFrom([]float64{0, 1, 2.5, -1, 1e7, 1e16, 1e19}).Draw(t, "value")
				}
			}
			line := encodeOne(t, s)
			if rapid.IntRange(0, 9).Draw(t, "other form") == 0 {
				line = append([]byte(" "), line...)
			}
			var want, got bench.Sample
			if err := json.Unmarshal(line, &want); err != nil {
				t.Fatal(err)
			}
			wantErr, gotErr := want.Check(), h.read(line, &got)
			if (wantErr == nil) != (gotErr == nil) || wantErr == nil && !reflect.DeepEqual(got, want) {
				t.Fatalf("%s:\ngot  %+v, %v\nwant %+v, %v", line, got, gotErr, want, wantErr)
			}
			if known = max(known, len(h.known)); known > len(sources) {
				t.Fatalf("%d heads of %d sources", known, len(sources))
			}
		}
	})
}

func TestNaNIsAbsentAndInfinityRefused(t *testing.T) {
	s := bench.Sample{Level: bench.Host, Meter: "proc", Values: map[string]float64{"a": math.NaN(), "b": 1}}
	if got := string(encodeOne(t, s)); !strings.HasSuffix(got, `"values":{"b":1}}`) {
		t.Error(got)
	}
	if got := string(encodeOne(t, bench.Sample{})); !strings.HasSuffix(got, `"values":{}}`) {
		t.Error(got)
	}
	s.Values["a"] = math.Inf(-1)
	if _, err := new(encoder).append(nil, &s); err == nil || !strings.Contains(err.Error(), "column a is infinite") {
		t.Errorf("infinity: %v", err)
	}
}

// The direct reader must accept nothing that encoding/json refuses, and read
// what both accept alike.
func FuzzDecode(f *testing.F) {
	f.Add(`{"at":1,"late":2,"took":3,"cpu":4,"level":"host","meter":"proc","values":{"cpu_busy_s":1.5,"x":-0,"y":1e-7}}`)
	f.Add(`{"at":-1,"late":2,"took":3,"cpu":4,"level":"guest","actor":"subject","meter":"agent","guest":9,"values":{}}`)
	f.Add(`{"at":01,"late":2,"took":3,"cpu":4,"level":"host","meter":"proc","values":{"a":01}}`)
	f.Add(`{"at":9223372036854775808,"late":2,"took":3,"cpu":4,"level":"host","meter":"proc","values":{"a":1e999}}`)
	f.Add(`{"at":1,"late":2,"took":3,"cpu":4,"level":"host","meter":"proc","values":{"a":1,"a":2,}}`)
	f.Add(`{"meter":"proc","values":null}`)
	f.Add(`{"at":1,"late":2,"took":3,"cpu":4,"level":"h","meter":"p","values":{"a":123456789012345.67,"b":0.000000000000001}} `)
	d := newDecoder()
	h := &heads{decoder: newDecoder(), check: func(*bench.Sample) error { return nil }}
	f.Fuzz(func(t *testing.T, line string) {
		var got, want bench.Sample
		for range 2 { // the second time its source is known
			var known bench.Sample
			wantErr := d.decode([]byte(line), &got)
			if gotErr := h.read([]byte(line), &known); gotErr == nil && (wantErr != nil || !reflect.DeepEqual(known, got)) {
				t.Fatalf("by its head: %+v, else %+v, %v", known, got, wantErr)
			}
		}
		gotErr := d.decode([]byte(line), &got)
		wantErr := json.Unmarshal([]byte(line), &want)
		if (gotErr == nil) != (wantErr == nil) {
			t.Fatalf("direct: %v, encoding/json: %v", gotErr, wantErr)
		}
		if want.Values == nil {
			want.Values = map[string]float64{}
		}
		if gotErr == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v\nwant %+v", got, want)
		}
	})
}

var hostLine = []byte(`{"at":1000000000000,"late":31543,"took":260000,"cpu":234000,"level":"host","meter":"proc","values":{"cpu_busy_s":1234.567891,"cpu_guest_s":0,"cpu_idle_s":98765.4321,"cpu_iowait_s":12.25,"cpu_irq_s":0,"cpu_nice_s":0.01,"cpu_softirq_s":3.14,"cpu_steal_s":40.12,"cpu_system_s":150.88,"cpu_user_s":1083.68,"disk_read_bytes":70123456789,"disk_read_ops":17119984,"disk_write_bytes":40960000,"disk_write_ops":10000,"mem_cache_bytes":4000000000,"mem_used_bytes":900000000,"net_rx_bytes":5000000,"net_rx_packets":50000,"net_tx_bytes":5000000,"net_tx_packets":50000,"psi_cpu_some_s":0.05,"psi_io_some_s":0.02,"psi_memory_some_s":0}}`)

func BenchmarkDecode(b *testing.B) {
	d := newDecoder()
	var s bench.Sample
	b.SetBytes(int64(len(hostLine)))
	b.ReportAllocs()
	for b.Loop() {
		if err := d.decode(hostLine, &s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeEncodingJSON(b *testing.B) {
	b.SetBytes(int64(len(hostLine)))
	for b.Loop() {
		var s bench.Sample
		if err := json.Unmarshal(hostLine, &s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	var s bench.Sample
	if err := json.Unmarshal(hostLine, &s); err != nil {
		b.Fatal(err)
	}
	var e encoder
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = e.append(buf[:0], &s); err != nil {
			b.Fatal(err)
		}
	}
}
