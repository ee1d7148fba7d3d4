package usage

import (
	"maps"
	"strings"
	"testing"

	"tare/internal/bench"
)

func TestIdleDaemonsAreMeasuredWhileOthersRun(t *testing.T) {
	trial := func(cores float64, seconds ...float64) Sources {
		tracks := Sources{}
		for _, s := range counters(bench.Host, "", bench.DaemonsOf("docker"), map[string]float64{bench.CPUOf("daemon"): cores, bench.MemOf("daemon"): 5e6}, seconds...) {
			tracks.Add(&s)
		}
		return tracks
	}
	got := IdleDaemons(map[string]Sources{"a": trial(0.01, 10, 13), "b": trial(0.03, 20, 21), "too short": trial(1, 5)})
	approx(t, "weighted by time", got[daemon{"docker", "daemon"}], (3*0.01+1*0.03)/4)
	if len(got) != 1 {
		t.Errorf("memory is not a part: %v", got)
	}
}

func TestWhatADaemonUsesForNobodyIsTheRests(t *testing.T) {
	old := maps.Clone(idleIn)
	t.Cleanup(func() { idleIn = old })
	scope := &bench.Scope{Helpers: process("shim"), Shared: process("daemon")}
	with := func(idle map[daemon]float64) *Launch {
		idleIn = idle
		return shareOf([]bench.ActorOutcome{subject("subject", scope)}, hostAt(1.2), cgroupAt("subject", 0.9),
			helpersAt("subject", 10e6, map[string]float64{"shim": 0.03, "daemon": 0.07}))
	}
	s := with(map[daemon]float64{{"p", "daemon"}: 0.02, {"p", "shim"}: 0.01, {"q", "daemon"}: 0.04})
	wantShare(t, s, map[string]float64{"guest_cpu": 0.9, "layer_cpu": 0.08, "other_cpu": 0.21, "unattributed_cpu": 0.01})
	approx(t, "daemon above its idle", s.Parts["daemon"], 0.05)
	approx(t, "idle", s.IdleDaemons["daemon"], 0.02)

	s = with(map[daemon]float64{{"p", "daemon"}: 0.5})
	wantShare(t, s, map[string]float64{"layer_cpu": 0.03, "other_cpu": 0.26, "unattributed_cpu": 0.01})
	approx(t, "no more than it used", s.IdleDaemons["daemon"], 0.07)

	s = with(nil)
	wantShare(t, s, map[string]float64{"layer_cpu": 0.1})
	if !strings.Contains(strings.Join(s.Notes, "\n"), "p's daemon uses when idle was not measured") {
		t.Errorf("notes %q", s.Notes)
	}
}
