package chart

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func groupsOf(values ...float64) []Group {
	var rows []GroupRow
	for _, v := range values {
		rows = append(rows, GroupRow{Name: "a <platform>", Class: "p0", Bar: &Interval{Low: v * 0.97, Mid: v, High: v * 1.03, Title: "<v>"}, Marks: []Mark{{At: 0.9, Title: "published"}}})
	}
	return []Group{{Name: "a case", Rows: rows}}
}

// One value far out is drawn to the end with its number, and the others keep their room.
func TestFarOutIsBrokenOff(t *testing.T) {
	values := []float64{0.97, 1.02, 0.9, 0.95, 0.012}
	s := NewRatioScale(values, nil)
	if s.axis.Low < 0.5 || s.axis.Low > 0.9 || s.axis.High < 1.02 {
		t.Errorf("the axis is from %v to %v", s.axis.Low, s.axis.High)
	}
	picture := string(Grouped("what", s, groupsOf(values...))[0])
	if strings.Count(picture, "◂ 0.012") != 1 || strings.Count(picture, `class="break"`) != 2 || strings.Count(picture, `class="dot p0"`) != 4 {
		t.Errorf("far out: %s", picture)
	}
	if strings.Contains(picture, "<platform>") || strings.Contains(picture, "<v>") {
		t.Error("a name is markup")
	}
	// Where all are far out none is.
	if s := NewRatioScale([]float64{30, 40, 28}, nil); s.axis.High < 40 {
		t.Errorf("the axis ends at %v", s.axis.High)
	}
}

func TestScaleOfValues(t *testing.T) {
	for _, c := range []struct {
		values, ends []float64
		low, high    float64 // the axis reaches from and to these at least, and less than twice as far
		log          bool
	}{
		{values: []float64{310, 290, 300}, high: 310},
		{values: []float64{310, 290, 300}, ends: []float64{100, 350}, high: 350},
		{values: []float64{310, 290, 300}, ends: []float64{1, 9000}, high: 465},
		{values: []float64{310, 290, 300, 320, 9000}, high: 320},
		{values: []float64{1, 10, 100}, low: 1, high: 100, log: true},
		{values: []float64{0, math.Inf(1)}, high: 1},
	} {
		s := NewScale(c.values, c.ends)
		if s.axis.Log != c.log || s.axis.Low > c.low || s.axis.High < c.high || s.axis.High > 2*c.high || math.IsNaN(s.from) != c.log {
			t.Errorf("%v, %v: %+v", c.values, c.ends, s)
		}
	}
}

// Nothing is drawn outside of a picture, whatever the numbers.
func TestGroupedStaysInside(t *testing.T) {
	x := regexp.MustCompile(`(?:x|x1|x2|cx)="(-?[\d.]+)"`)
	for _, values := range [][]float64{{1}, {0.5, 2}, {1e-300, 1e300}, {math.NaN(), 0, -1}, {1e9, 2}} {
		for _, s := range []Scale{NewRatioScale(values, values), NewScale(values, values)} {
			for _, picture := range Grouped("what", s, groupsOf(values...)) {
				for _, m := range x.FindAllStringSubmatch(string(picture), -1) {
					if v, err := strconv.ParseFloat(m[1], 64); err != nil || v < 0 || v > groupsWidth+10 {
						t.Errorf("%v: at %s", values, m[1])
					}
				}
			}
		}
	}
}

// Many groups are several pictures of about the same height, and none is lost.
func TestManyGroupsAreSeveralPictures(t *testing.T) {
	groups := slices.Repeat(groupsOf(0.9, 1.1, 1), 20)
	pictures := Grouped("what", NewRatioScale([]float64{0.9, 1.1}, nil), groups)
	n := 0
	for _, p := range pictures {
		n += strings.Count(string(p), `class="group"`)
	}
	if n != 20 || len(pictures) < 3 || len(pictures) > 5 {
		t.Errorf("%d groups in %d pictures", n, len(pictures))
	}
}

// A curve of a scale has the value of a point that lies beyond it.
func TestCurveBeyondItsScale(t *testing.T) {
	s := NewRatioScale([]float64{0.9, 0.95, 1.05, 1.1, 1, 12}, nil)
	p := Plot{Frame: Panel, What: "w", X: Linear(0, 2, plain), Scale: &s, Lines: []Line{{Colour: "p1", X: []float64{1, 2}, Y: []float64{1, 12}, Dots: []Dot{{X: 1, Y: 1}, {X: 2, Y: 12}}, Marks: []Dot{{X: 1, Y: 0.9}}}}}
	picture, _ := p.Draw()
	for _, want := range []string{"▴ 12", `class="one"`, `class="published p1"`, `class="line p1"`} {
		if !strings.Contains(string(picture), want) {
			t.Errorf("it lacks %q: %s", want, picture)
		}
	}
}

func plain(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
