package report

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tare/internal/result"
)

var barParts = regexp.MustCompile(`<rect class="(\w+)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"`)

// The parts of a bar lie side by side, as long as they are large, and what is
// below zero is not drawn.
func TestStackedBarsShowEveryPart(t *testing.T) {
	c := result.Case{Title: "a case", Usage: []result.Usage{
		{Platform: "native", GuestCPU: result.Known(0.5), RestCPU: result.Known(0.3), Unattributed: result.Known(0.2)},
		{Platform: "docker", GuestCPU: result.Known(0.5), LayerCPU: result.Known(0.25), RestCPU: result.Known(0.2), Unattributed: result.Measured{Value: -0.01}, StealCPU: result.Known(0.05)},
	}}
	svg := string(stackOf(c))
	perCore, end := (stackWidth-20)/1.0, map[string]float64{}
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
