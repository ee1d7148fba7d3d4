package chart

import (
	"html/template"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"tare/internal/bench/figure"
)

// Group is bars that stand together under a name.
type Group struct {
	Name string
	Rows []GroupRow
}

// GroupRow is a bar with its interval, and hollow marks beside it.
type GroupRow struct {
	Name, Class string
	Bar         *Interval // nil where there are marks alone
	Marks       []Mark
}

// Mark is a hollow mark of a value.
type Mark struct {
	At    float64
	Title string
}

// Scale is an axis that several pictures share. What lies beyond its ends is drawn to the end, broken,
// with its value: one that is far out does not squash all others.
type Scale struct {
	axis Axis
	from float64 // where bars begin; NaN where none have a length
}

const (
	// outlying is how many times as far as three quarters of the values one has to be to lie beyond.
	outlying = 2.5
	// wide is the factor between the ends of an axis from 0 above which it is logarithmic.
	wide = 24
)

// NewRatioScale is logarithmic around 1, of values and of the ends of their intervals: these may be
// cut off, values only where they are far out.
func NewRatioScale(values, ends []float64) Scale {
	var far []float64
	low, high := 0.0, 0.0
	for i, r := range slices.Concat(values, ends) {
		x := math.Log(r)
		if !(r > 0) || math.IsInf(x, 0) {
			continue
		}
		if low, high = min(low, x), max(high, x); i < len(values) {
			far = append(far, math.Abs(x))
		}
	}
	limit := max(math.Log(1.25), outlying*quartile(far))
	return Scale{Axis{Low: math.Exp(max(low, -limit)*1.08 - 0.02), High: math.Exp(min(high, limit)*1.08 + 0.02), Log: true}, 1}
}

// NewScale is linear from 0, or logarithmic where the values are of several decades.
func NewScale(values, ends []float64) Scale {
	positive := func(v float64) bool { return v > 0 && !math.IsInf(v, 0) }
	var all []float64
	for _, v := range values {
		if positive(v) {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return Scale{Linear(0, 1, figure.Number), 0}
	}
	low, high := slices.Min(all), slices.Max(all)
	if high/low > wide && (high <= 2*outlying*quartile(all) || high/low > wide*wide) {
		return Scale{Log(low, high, figure.Number), math.NaN()}
	}
	top := 0.0 // of what does not lie beyond
	for _, v := range all {
		if v <= 2*outlying*quartile(all) {
			top = max(top, v)
		}
	}
	limit := top * 1.5
	for _, v := range ends {
		if positive(v) {
			top = max(top, min(v, limit))
		}
	}
	return Scale{Linear(0, top, figure.Number), 0}
}

// quartile is the value that three quarters are at most; 0 without any.
func quartile(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	values = slices.Sorted(slices.Values(values))
	return values[(3*len(values)-1)/4]
}

// ticks are the axis's between two coordinates, with room for their names.
func (s Scale) ticks(from, to, room float64) []Tick {
	at := func(v float64) float64 { return s.axis.at(v, from, to) }
	if s.from == 1 {
		return named(ratioTicks(s.axis, at, room), figure.Number)
	}
	var ticks []Tick
	for _, t := range s.axis.Ticks {
		if n := len(ticks); n == 0 || math.Abs(at(t.At)-at(ticks[n-1].At)) >= room {
			ticks = append(ticks, t)
		}
	}
	return ticks
}

const (
	groupsWidth  = 360.0
	groupHead    = 17.0
	groupPitch   = 15.0
	groupBar     = 8.0
	groupGap     = 7.0
	groupFoot    = 20.0
	groupPad     = 18.0
	groupLetter  = 6.3 // of a row's name, about
	groupLetters = 22  // of a row's name, at most
	groupName    = 48  // of a group's name, at most
	groupRows    = 26  // of a picture, about
)

// Grouped draws groups of bars below each other, in as many pictures as they need.
func Grouped(what string, s Scale, groups []Group) []template.HTML {
	letters := 4
	n := 0
	for _, g := range groups {
		n += len(g.Rows) + 1
		for _, r := range g.Rows {
			letters = max(letters, min(groupLetters, utf8.RuneCountInString(r.Name)))
		}
	}
	pictures := max(1, (n+groupRows-1)/groupRows)
	var all []template.HTML
	for first := 0; first < len(groups); {
		last, rows := first, 0
		for last < len(groups) && (last == first || rows+len(groups[last].Rows)+1 <= (n+pictures-1)/pictures+1) {
			rows += len(groups[last].Rows) + 1
			last++
		}
		all = append(all, grouped(what, s, groups[first:last], groupLetter*float64(letters)+8))
		first = last
	}
	return all
}

func grouped(what string, s Scale, groups []Group, left float64) template.HTML {
	height := groupFoot
	for _, g := range groups {
		height += groupHead*float64(len(groupLines(g.Name))) + groupPitch*float64(len(g.Rows)) + groupGap
	}
	d := newDrawing(groupsWidth, height, "groups", what)
	end, foot := groupsWidth-groupPad, height-groupFoot
	at := func(v float64) float64 {
		return min(end, max(left, s.axis.at(min(s.axis.High, max(s.axis.Low, v)), left, end)))
	}
	for _, t := range s.ticks(left, end, 34) {
		class := "grid"
		if t.At == s.from {
			class = "one"
		}
		d.line(class, at(t.At), groupHead-4, at(t.At), foot)
		d.text("tick", at(t.At), foot+14, t.Name)
	}
	y := 0.0
	for _, g := range groups {
		for _, line := range groupLines(g.Name) {
			d.text("group", 0, y+12, line)
			y += groupHead
		}
		for _, r := range g.Rows {
			d.text("name", left-6, y+10, shortened(r.Name, groupLetters))
			d.groupRow(s, at, y+groupPitch/2, r)
			y += groupPitch
		}
		y += groupGap
	}
	return d.html()
}

func (d *drawing) groupRow(s Scale, at func(float64) float64, mid float64, r GroupRow) {
	if b := r.Bar; b != nil {
		x := at(b.Mid)
		if from := s.from; !math.IsNaN(from) {
			d.rect("bar "+r.Class, min(at(from), x), mid-groupBar/2, max(1, math.Abs(x-at(from))), groupBar, b.Title)
		}
		switch {
		case b.Mid > s.axis.High:
			d.broken(x-8, mid)
			d.text("beyond end", x-16, mid+4, figure.Digits(b.Mid, 3)+" ▸")
		case b.Mid < s.axis.Low:
			d.broken(x+8, mid)
			d.text("beyond", x+16, mid+4, "◂ "+figure.Digits(b.Mid, 3))
		default:
			d.line("whisker", at(b.Low), mid, at(b.High), mid)
			if b.High > s.axis.High {
				d.text("on", at(b.High)-2, mid+4, "▸")
			}
			if b.Low < s.axis.Low {
				d.text("on", at(b.Low)-4, mid+4, "◂")
			}
			d.circle("dot "+r.Class, x, mid, 2.6, b.Title)
		}
	}
	for _, m := range r.Marks {
		d.diamond("published "+r.Class, at(m.At), mid, 5, m.Title)
	}
}

// broken marks a bar that goes on beyond the axis.
func (d *drawing) broken(x, mid float64) {
	for _, dx := range []float64{-2, 2} {
		d.line("break", x+dx-2, mid+7, x+dx+2, mid-7)
	}
}

// groupLines are a group's name in one line, or broken in two.
func groupLines(name string) []string {
	r := []rune(name)
	if len(r) <= groupName {
		return []string{name}
	}
	first := string(r[:groupName])
	i := strings.LastIndex(first, " ")
	if i < groupName/2 {
		return []string{shortened(name, groupName)}
	}
	return []string{first[:i], shortened(strings.TrimSpace(name[i:]), groupName)}
}

// shortened ends a name that is too long with an ellipsis.
func shortened(s string, letters int) string {
	if r := []rune(s); len(r) > letters {
		return string(r[:letters-1]) + "…"
	}
	return s
}
