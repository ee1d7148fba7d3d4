package chart

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var dotAt = regexp.MustCompile(`<circle class="dot( hollow)?" cx="([\d.]+)"`)

// Slower lies to the right, what is not sure is hollow, and what lies beyond is an arrow: one value
// far out does not stretch the axis.
func TestSpeeds(t *testing.T) {
	s := NewSpeeds([]float64{0.95, 1.2, 0.55, 0.005}, 0.03)
	if s.Fastest() != 1.25 || s.Slowest() != 4 {
		t.Errorf("from %v times as fast to %v times as slow", s.Fastest(), s.Slowest())
	}
	at := func(speed float64, sure bool) float64 {
		m := dotAt.FindStringSubmatch(string(s.Cell("worse", Interval{Low: speed * 0.97, Mid: speed, High: speed * 1.03}, sure)))
		if m == nil || (m[1] == "") != sure {
			t.Fatalf("speed %v: no dot that is sure: %t", speed, sure)
		}
		x, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	if a, b, c := at(1.2, true), at(1, false), at(0.5, true); !(0 < a && a < b && b < c && c < cellWidth) {
		t.Errorf("1.2, 1 and 0.5 are at %v, %v and %v", a, b, c)
	}
	beyond := string(s.Cell("worse", Interval{Low: 0.004, Mid: 0.005, High: 0.006, Title: "gvisor, <system calls>"}, true))
	if !strings.Contains(beyond, "▸") || strings.Contains(beyond, "<circle") || !strings.Contains(beyond, `aria-label="gvisor, &lt;system calls&gt;"`) {
		t.Errorf("far out: %s", beyond)
	}
	if part := string(s.Cell("open", Interval{Low: 0.1, Mid: 0.5, High: 2}, false)); !strings.Contains(part, "▸") || !strings.Contains(part, "◂") || !strings.Contains(part, "<circle") {
		t.Errorf("beyond at both ends: %s", part)
	}
	for _, speeds := range [][]float64{nil, {1.05}, {0.85}, {0.7}, {0.5}, {0.01}} {
		for _, of := range []Measure{Lost, Longer, Times} {
			if axis := string(NewSpeeds(speeds, 0.03).Axis(of)); strings.Count(axis, "<text") < 2 {
				t.Errorf("%v: %s", speeds, axis)
			}
		}
	}
}

// An axis has the words of the cells above it, at the same places, and none over another.
func TestAxisOfSpeeds(t *testing.T) {
	for _, c := range []struct {
		speeds []float64
		of     Measure
		want   string
	}{
		{[]float64{0.55}, Lost, "0 at 1; 50 % at 0.5; 25 % at 0.75"},
		{[]float64{0.55}, Longer, "0 at 1; 100 % at 0.5; 50 % at 0.667"},
		{[]float64{0.55}, Times, "1x at 1; 2x at 0.5; 1.5x at 0.667"},
		{[]float64{0.97, 3}, Lost, "0 at 1; 1/2x at 2"},                  // 5 % lost has no room
		{[]float64{0.3, 3}, Longer, "0 at 1; 1/2x at 2; 200 % at 0.333"}, // nor 100 % longer, beside 200 %
		{[]float64{0.8}, Lost, "0 at 1; 20 % at 0.8; 10 % at 0.9"},
		{[]float64{0.3, 1.4}, Longer, "0 at 1; 200 % at 0.333"},
	} {
		var got []string
		for _, tick := range NewSpeeds(c.speeds, 0.03).ticks(c.of) {
			got = append(got, fmt.Sprintf("%s at %.3g", tick.Name, tick.At))
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%v, %d: %s, want %s", c.speeds, c.of, s, c.want)
		}
	}
}

func TestAmount(t *testing.T) {
	width := regexp.MustCompile(`class="amount" x="9" y="4" width="([\d.]+)"`)
	var last float64
	for _, v := range []float64{1, 10, 300} {
		m := width.FindStringSubmatch(string(Amount("worse", v, 300, "")))
		if m == nil {
			t.Fatalf("%v has no bar", v)
		}
		w, err := strconv.ParseFloat(m[1], 64)
		if err != nil || w <= last || w > cellWidth || v == 10 && math.Abs(w-(cellWidth-2*cellPad)/30.0) > 0.1 {
			t.Errorf("%v is %v wide, the smaller %v", v, w, last)
		}
		last = w
	}
	if !strings.Contains(string(Amount("better", -3, 300, "")), `width="0"`) {
		t.Error("less than nothing has a width")
	}
}
