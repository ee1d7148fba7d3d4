package workload

import (
	"errors"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
)

// captured is what a program really printed; see testdata/README.md.
func captured(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// setting is that of the machine the captures were made on.
func setting() bench.Setting {
	return bench.Setting{
		Timing: bench.Timing{Warmup: 2 * time.Second, Measure: 5 * time.Second},
		Shape:  bench.Shape{CPUs: 2, Memory: bench.GiB, Disk: 2 * bench.GiB},
		LLC:    32 * bench.MiB,
		Addr:   map[string]netip.Addr{nuttcpPeer: netip.MustParseAddr("10.99.0.4"), "server": netip.MustParseAddr("10.99.0.2"), bench.SubjectPart: netip.MustParseAddr("10.99.0.3")},
	}
}

func fill(t testing.TB, w bench.Workload, given bench.Params) bench.Params {
	t.Helper()
	p, err := Fill(w, given)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// checkValues fails unless the values are exactly those the workload lists, finite and above zero.
func checkValues(t testing.TB, w bench.Workload, p bench.Params, values []bench.Value) {
	t.Helper()
	metrics, err := w.Metrics(p)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]int)
	for _, v := range values {
		got[v.Metric]++
		if math.IsNaN(v.Value) || math.IsInf(v.Value, 0) {
			t.Errorf("%s is %v", v.Metric, v.Value)
		}
		if v.Value <= 0 && w.Name() != "command" && w.Name() != "service" {
			t.Errorf("%s is %v, not above zero", v.Metric, v.Value)
		}
	}
	for _, m := range metrics {
		if got[m.Name] != 1 {
			t.Errorf("%s is reported %d times", m.Name, got[m.Name])
		}
	}
	if len(values) != len(metrics) {
		t.Errorf("%d values for %d metrics", len(values), len(metrics))
	}
}

func value(t *testing.T, values []bench.Value, metric string) float64 {
	t.Helper()
	for _, v := range values {
		if v.Metric == metric {
			return v.Value
		}
	}
	t.Fatalf("no %s among %v", metric, values)
	return 0
}

// wantError fails unless err says every one of the texts.
func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one with %q", texts)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q does not say %q", err, text)
		}
	}
}

// someParams are given parameters that are enough for each workload.
func someParams(w bench.Workload) bench.Params {
	switch w.Name() {
	case "command":
		return bench.Params{"argv": `["/bin/true"]`}
	case "service":
		return bench.Params{"server": `["/bin/serve"]`, "load": `["/bin/load"]`, "port": "8080"}
	case "bonnie":
		return bench.Params{"size": "1GiB"}
	case "bomb":
		return bench.Params{"kind": "fork"}
	}
	return nil
}

func TestEveryWorkload(t *testing.T) {
	names := make(map[string]bool)
	for _, w := range All() {
		t.Run(w.Name(), func(t *testing.T) {
			if names[w.Name()] {
				t.Errorf("the name is taken")
			}
			names[w.Name()] = true
			if w.Summary() == "" {
				t.Error("no summary")
			}
			if !slices.Contains(bench.Resources, w.Resource()) {
				t.Errorf("resource %q", w.Resource())
			}
			for _, param := range w.Params() {
				if param.Doc == "" {
					t.Errorf("parameter %s: no doc", param.Name)
				}
			}
			p := fill(t, w, someParams(w))
			metrics, err := w.Metrics(p)
			if err != nil {
				t.Fatal(err)
			}
			headlines := 0
			for _, m := range metrics {
				if m.Headline {
					headlines++
				}
				if m.Unit == "" || m.Doc == "" || m.Combine == "" {
					t.Errorf("metric %+v is not fully described", m)
				}
			}
			if len(metrics) > 0 && headlines != 1 {
				t.Errorf("%d headlines among %v", headlines, metrics)
			}
			serves, loads := false, false
			for _, part := range append(w.Parts(), bench.SubjectPart) {
				steps, err := w.Steps(part, p, setting())
				if err != nil {
					t.Fatalf("%s: %v", part, err)
				}
				commands := append(append([]bench.Command{steps.Main}, steps.Prepare...), steps.Warm...)
				for _, c := range commands {
					if len(c.Argv) == 0 || c.Timeout <= 0 {
						t.Errorf("%s: %+v has no program or no timeout", part, c)
					}
				}
				serves = serves || steps.Service && part == bench.SubjectPart
				loads = loads || !steps.Service && part != bench.SubjectPart
			}
			if serves && !loads && len(metrics) > 0 {
				t.Error("its main part is a service, whose output nobody parses, nothing loads it, and it has metrics")
			}
			_, err = w.Steps("mian", p, setting())
			if !errors.Is(err, bench.ErrInvalid) || bench.HintOf(err) == "" {
				t.Errorf("unknown part: %v", err)
			}
		})
	}
}

func TestFind(t *testing.T) {
	w, err := Find("fio")
	if err != nil || w.Name() != "fio" {
		t.Fatalf("%v, %v", w, err)
	}
	_, err = Find("netprf")
	if !errors.Is(err, bench.ErrInvalid) {
		t.Errorf("%v is not ErrInvalid", err)
	}
	if !strings.Contains(err.Error(), `did you mean "netperf"?`) {
		t.Errorf("%v does not name the nearest", err)
	}
	_, err = Find("zzzzzzzzzz")
	if hint := bench.HintOf(err); !strings.Contains(hint, "sysbench-cpu, stream, hpcc, working-set") {
		t.Errorf("hint %q does not list the workloads", hint)
	}
}

// timed is the part of a workload that works for the measured time.
func timed(t *testing.T, w bench.Workload) string {
	t.Helper()
	if steps, err := w.Steps(bench.SubjectPart, fill(t, w, someParams(w)), setting()); err == nil && steps.Service {
		return w.Parts()[0]
	}
	return bench.SubjectPart
}

func TestDeadlineTooShort(t *testing.T) {
	s := setting()
	for name, short := range map[string]time.Duration{"sysbench-cpu": 5 * time.Second, "stream": time.Second, "fio": 5 * time.Second, "netperf": 5 * time.Second, "netserver": 5 * time.Second} {
		s.Timing.Deadline = short
		w, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Steps(timed(t, w), fill(t, w, nil), s)
		if !errors.Is(err, bench.ErrInvalid) {
			t.Errorf("%s: %v is not ErrInvalid", name, err)
		}
	}
	s.Timing.Deadline, s.Timing.Measure = 0, 0
	for _, name := range []string{"sysbench-cpu", "fio", "netperf", "netserver"} {
		w, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Steps(timed(t, w), fill(t, w, nil), s)
		if !errors.Is(err, bench.ErrInvalid) {
			t.Errorf("%s: measuring for no time: %v is not ErrInvalid", name, err)
		}
	}
}
