package report

import (
	"bytes"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
)

// The column of others is there only where there are others.
func TestUsageOfOthers(t *testing.T) {
	native := result.Usage{Platform: "native", GuestCPU: result.Known(0.5), LayerCPU: result.Known(0)}
	lxc := result.Usage{Platform: "lxc", GuestCPU: result.Known(0.5), LayerCPU: result.Known(0), Actors: map[bench.Role]float64{bench.Peer: 0.25, bench.Neighbour: 0.125}}
	alone, beside := result.Case{Usage: []result.Usage{native}}, result.Case{Usage: []result.Usage{native, lxc}}
	var without, with bytes.Buffer
	writeBlocks(&without, usageText(alone))
	writeBlocks(&with, usageText(beside))
	if strings.Contains(strings.ToUpper(without.String()), "OTHER INSTANCES") {
		t.Errorf("without others:\n%s", without.String())
	}
	for _, want := range []string{"LAYER  OTHER INSTANCES  REST", "0.500  0.000  –  ", "0.500  0.000  0.375  ", othersNote} {
		if !strings.Contains(with.String(), want) {
			t.Errorf("%q is not in\n%s", want, with.String())
		}
	}
}

func TestConditionsSayWhatSwapThereWas(t *testing.T) {
	c := result.Case{Conditions: map[string]string{bench.CondSwap: "1GiB"}, SwapSpaces: "/dev/sda2 8 GiB"}
	if got, want := conditionsOf(c), "swap 1GiB (swap spaces there: /dev/sda2 8 GiB)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

var barParts = regexp.MustCompile(`<rect class="(\w+)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"`)

// The parts of a bar lie side by side, as long as they are large, and what is
// below zero is not drawn.
func TestStackedBarsShowEveryPart(t *testing.T) {
	c := result.Case{Title: "a case", Usage: []result.Usage{
		{Platform: "native", GuestCPU: result.Known(0.5), OtherCPU: result.Known(0.3), Unattributed: result.Known(0.2)},
		{Platform: "docker", GuestCPU: result.Known(0.5), LayerCPU: result.Known(0.25), OtherCPU: result.Known(0.2), Unattributed: result.Measured{Value: -0.01}, StealCPU: result.Known(0.05)},
	}}
	svg := string(stackOf(c))
	perCore, end := 500.0, map[string]float64{}
	var drawn []string
	for _, m := range barParts.FindAllStringSubmatch(svg, -1) {
		x, _ := strconv.ParseFloat(m[2], 64)
		w, _ := strconv.ParseFloat(m[4], 64)
		if e, ok := end[m[3]]; ok && math.Abs(x-e) > 0.11 {
			t.Errorf("%s begins at %v, the part before ends at %v", m[1], x, e)
		}
		end[m[3]] = x + w
		drawn = append(drawn, m[1])
	}
	if got, want := strings.Join(drawn, " "), "guest rest unattributed guest layer rest steal"; got != want {
		t.Errorf("drawn: %s, want %s", got, want)
	}
	for y, e := range end {
		if math.Abs(e-4-perCore) > 0.3 {
			t.Errorf("the bar at %s is %v long, one core is %v", y, e-4, perCore)
		}
	}
	if !strings.Contains(svg, "docker (in part not measured)") || strings.Contains(svg, "native (in part") {
		t.Errorf("what was not measured is not said: %s", svg)
	}
}
