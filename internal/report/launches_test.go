package report

import (
	"bytes"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
)

func startUpCase() result.Case {
	row := func(platform, label string, own float64, ms ...float64) result.StartUp {
		u := result.StartUp{Platform: platform, Label: label, Own: own, OwnWorst: 2 * own, OwnParts: map[string]float64{"start": own}, N: 3}
		for i, name := range bench.LaunchPhases {
			if ms[i] > 0 {
				u.Phases = append(u.Phases, result.LaunchPhase{Name: name, Median: ms[i], Whose: bench.OfPlatform, Source: "clock " + name, Known: float64(i)})
				u.Total += ms[i]
			}
		}
		return u
	}
	return result.Case{Title: "Start-up", Kind: bench.Startup, StartUp: []result.StartUp{
		row("vm", "emulated (tcg)", 2, 400, 3000, 200, 100, 50), row("native", "", 0.1, 1, 0, 0, 2, 1), row("bwrap", "", 0.5, 5, 0, 0, 2, 1),
	}}
}

// Platforms that take much longer than others are drawn in a figure of their own.
func TestWaterfalls(t *testing.T) {
	figures := waterfallsOf(startUpCase())
	if len(figures) != 2 {
		t.Fatalf("%d figures, want one of native and bwrap and one of the machine", len(figures))
	}
	for i, want := range [][]string{
		{"native: 4 ms", "bwrap: 8 ms", "bwrap, create: 5 ms", "of it Tare itself at most 0.5 ms", "native, Tare itself: at most 0.1 ms"},
		{"vm, emulated (tcg): 3\u202f750 ms", "vm, kernel: 3\u202f000 ms", "phase-first-command", "vm, Tare itself: at most 2 ms"},
	} {
		for _, text := range want {
			if !strings.Contains(string(figures[i]), text) {
				t.Errorf("figure %d lacks %q:\n%s", i, text, figures[i])
			}
		}
	}
	if strings.Contains(string(figures[0]), "kernel") {
		t.Error("a phase is drawn that no platform of the figure has")
	}
}

func TestLaunchesText(t *testing.T) {
	var b bytes.Buffer
	writeBlocks(&b, launchesText(startUpCase()))
	for _, want := range []string{
		"  LAUNCH, MEDIAN MS   CREATE  KERNEL  INIT  AGENT  FIRST COMMAND  TOTAL  TARE'S OWN   N\n",
		"  vm, emulated (tcg)  400     3\u202f000   200   100    50             3\u202f750  2 (0.053 %)  3\n",
		"  native              1       –       –     2      1              4      0.1 (2.5 %)  3\n",
		"vm, emulated (tcg): Tare's own: start 2, at worst 4 ms",
		"create (vm, native, bwrap): clock create\n", "kernel (vm): clock kernel, known to 1 ms\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("lacks %q:\n%s", want, b.String())
		}
	}
	b.Reset()
	if writeBlocks(&b, launchesText(result.Case{})); b.Len() > 0 {
		t.Errorf("of a case without launches: %q", b.String())
	}
}
