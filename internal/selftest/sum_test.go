package selftest

import (
	"math"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
)

func usage(platform string, guest, layer, rest, busy float64) result.Usage {
	share := (busy - guest - layer - rest - 0.25) / busy
	return result.Usage{Platform: platform, N: 2, GuestCPU: result.Known(guest), LayerCPU: result.Known(layer), OtherCPU: result.Known(rest), BusyCPU: result.Known(busy),
		Actors: map[bench.Role]float64{bench.Peer: 0.25}, UnattributedShare: &share, Unattributed: result.Known(share * busy)}
}

func TestEvaluateSum(t *testing.T) {
	exact := usage("native", 0.5, 0, 0.25, 1)
	missing := usage("lxc", 0.5, 0, 0.2, 1)
	exceeding := usage("docker", 0.5, 0.1, 0.2, 1)
	lacking := result.Usage{Platform: "qemu-tcg", Label: "emulated (tcg)", N: 2, BusyCPU: result.Known(1), Absent: []string{"other_cpu", "unattributed_cpu"}, Notes: []string{"no vCPU"}}
	s := EvaluateSum(&result.Result{Cases: []result.Case{{Name: "net", Usage: []result.Usage{exact, missing, exceeding, lacking}}}})
	if s.Within.K != 1 || s.Within.N != 3 || s.Lacking != 1 || len(s.Rows) != 4 {
		t.Fatalf("%+v", s)
	}
	for i, want := range []float64{0, 0.05, -0.05} {
		if r := s.Rows[i]; r.Gap == nil || math.Abs(*r.Gap-want) > 1e-12 || r.Others != 0.25 {
			t.Errorf("%s: %+v, want a gap of %g", r.Platform, r, want)
		}
	}
	f := s.Finding(true)
	if f.Complete || f.Claims[0].Held != No || f.Claims[0].Found != "1 of 3 rows; of 1 a part is not known" {
		t.Errorf("%+v", f)
	}
	for _, row := range f.Tables[0].Rows {
		if len(row) != len(f.Tables[0].Head) {
			t.Errorf("%d cells under %d heads: %q", len(row), len(f.Tables[0].Head), row)
		}
	}
	if last := f.Tables[0].Rows[3]; last[1] != "qemu-tcg, emulated (tcg)" || last[8] != "not known" || last[9] != "" {
		t.Errorf("%q", last)
	}
	if note := f.Tables[0].Note; !strings.HasSuffix(note, "net on qemu-tcg is not known: no vCPU; absent: other_cpu, unattributed_cpu.") {
		t.Error(note)
	}
	unmeasured := EvaluateSum(&result.Result{Cases: []result.Case{{Usage: []result.Usage{{Platform: "lxc"}}}}})
	if why := unmeasured.Rows[0].Why; why != "no launch was finished" {
		t.Error(why)
	}
	for _, c := range []struct {
		rows []result.Usage
		held Held
	}{{[]result.Usage{exact, usage("lxc", 0.5, 0, 0.221, 1)}, Yes}, {[]result.Usage{exact, lacking}, Open}, {[]result.Usage{exact, usage("lxc", 0.5, 0, 1.25, 2)}, Open}, {nil, Open}} {
		s := EvaluateSum(&result.Result{Cases: []result.Case{{Usage: c.rows}}})
		if f := s.Finding(true); f.Claims[0].Held != c.held {
			t.Errorf("%+v, want %s", f.Claims, c.held)
		}
	}
}
