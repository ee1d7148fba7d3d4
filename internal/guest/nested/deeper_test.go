package nested

import (
	"strings"
	"testing"

	"tare/internal/bench"
)

// readings is a reader of constants.
type readings struct {
	level   bench.Level
	columns []string
	values  []float64
}

func (readings) Meter() string                 { return "test" }
func (r readings) Level() bench.Level          { return r.level }
func (r readings) Columns() []string           { return r.columns }
func (r readings) Read(values []float64) error { copy(values, r.values); return nil }
func (readings) Close() error                  { return nil }

// What the innermost have keeps its name, of the guest between there is its busy
// time, and of this guest's own what is left.
func TestBeneath(t *testing.T) {
	deeper := []bench.Reader{
		readings{bench.Outer, []string{"mem_used_bytes", bench.ColCPUBusy}, []float64{1, 2}},
		readings{bench.Inner, []string{bench.ColCPUBusy, "mem_used_bytes"}, []float64{3, 4}},
	}
	own := []bench.Reader{readings{bench.Layer, []string{"mem_used_bytes", "cpu_vcpu_s", "cpu_dom0_s"}, []float64{5, 6, 7}}}
	got := map[string]float64{}
	for _, r := range beneath(deeper, own) {
		values := make([]float64, len(r.Columns()))
		if err := r.Read(values); err != nil {
			t.Fatal(err)
		}
		for i, c := range r.Columns() {
			if _, twice := got[c]; twice {
				t.Errorf("column %s is there twice", c)
			}
			got[c] = values[i]
		}
	}
	want := map[string]float64{"cpu_between_s": 2, bench.ColCPUBusy: 3, "mem_used_bytes": 4, "cpu_vcpu_s": 6, "cpu_dom0_s": 7}
	if len(got) != len(want) {
		t.Errorf("columns %v", got)
	}
	for c, v := range want {
		if got[c] != v {
			t.Errorf("%s is %g, want %g", c, got[c], v)
		}
	}
}

// said is an instance of which only what it says of itself matters.
type said struct{ bench.Instance }

func (said) Launched() int64              { return 7 }
func (said) Command() []string            { return []string{"run"} }
func (said) Unenforced() []string         { return []string{"pids limit"} }
func (said) Cautions() (string, []string) { return "nested", []string{"deeper"} }
func (said) Scope() (bench.Scope, error)  { return bench.Scope{OwnKernel: true}, nil }
func (said) Facts() map[string]string     { return map[string]string{"a": "b"} }

// What the inner platform and its instance say of themselves goes to the host.
func TestStartedTellsAll(t *testing.T) {
	found := bench.Availability{Version: "1", Label: "emulated", Caveats: []bench.Caveat{
		{Text: "always"}, {Text: "with sync", With: map[string]string{"cache": "sync"}}, {Text: "not this", With: map[string]string{"cache": "none"}}}}
	s := &server{instance: said{}}
	w := s.started(found, map[string]string{"cache": "sync"}, 9)
	if w.Label != "emulated, nested" || strings.Join(w.Caveats, ", ") != "always, with sync, deeper" ||
		w.Launched != 7 || w.Opened != 9 || w.Unenforced[0] != "pids limit" {
		t.Errorf("told %+v", w)
	}
	if got, err := s.scope(); err != nil || got.Facts["a"] != "b" || !got.OwnKernel {
		t.Errorf("scope %+v, %v", got, err)
	}
}
