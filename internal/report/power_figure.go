package report

import (
	"fmt"
	"html/template"

	"tare/internal/result"
)

// powerStack draws what each platform of a case drew as a bar: what the machine
// draws at rest, and what is above that.
func powerStack(title string, rows []result.Energy) template.HTML {
	var bars []stackRow
	for _, e := range rows {
		if e.N == 0 {
			continue
		}
		name := labelled(e.Platform, e.Label)
		if e.Modelled {
			name += " (" + modelledMark + ")"
		}
		b := stackRow{name: name}
		if e.NetWatts == nil {
			b.parts = []wattPart{{"rest", "all", e.Watts}}
		} else {
			net := max(0, *e.NetWatts)
			b.parts = []wattPart{{"rest", "at rest", e.Watts - net}, {"layer", "above rest", net}}
		}
		bars = append(bars, b)
	}
	return wattStack("Power of each platform, at rest and above, in watts: "+title, bars)
}

// shareStack draws what each resource adds when it is kept busy, as figure 16
// of tesfatsion2018 has it over time.
func shareStack(rest float64, shares []result.PowerShare) template.HTML {
	bars := []stackRow{{"at rest", []wattPart{{"rest", "at rest", rest}}}}
	class := map[string]string{"cpu": "guest", "memory": "others", "disk": "layer", "network": "steal"}
	for _, s := range shares {
		bars = append(bars, stackRow{s.Resource + " kept busy", []wattPart{{"rest", "at rest", rest}, {class[s.Resource], s.Resource, max(0, s.Net)}}})
	}
	return wattStack("Power with each resource kept busy, in watts", bars)
}

type stackRow struct {
	name  string
	parts []wattPart
}

type wattPart struct {
	class, name string
	watts       float64
}

func wattStack(what string, bars []stackRow) template.HTML {
	most := 0.0
	for _, b := range bars {
		sum := 0.0
		for _, p := range b.parts {
			sum += p.watts
		}
		most = max(most, sum)
	}
	if most <= 0 {
		return ""
	}
	top, step := linearTop(most)
	scale := (stackWidth - 20) / top
	height := stackPitch*float64(len(bars)) + 22
	d := newDrawing(stackWidth, height, "stack", what)
	for _, t := range ticksTo(top, step) {
		d.line("grid", 4+t*scale, 0, 4+t*scale, height-20)
		label := fmt.Sprintf("%.4g", t)
		if t == 0 {
			label = "W"
		}
		d.text("axis", 4+max(6, t*scale), height-6, label)
	}
	for i, b := range bars {
		y, x := stackPitch*float64(i), 4.0
		d.text("name", 4, y+13, b.name)
		for _, p := range b.parts {
			d.rect(p.class, x, y+18, p.watts*scale, stackBar, fmt.Sprintf("%s, %s: %.1f W", b.name, p.name, p.watts))
			x += p.watts * scale
		}
	}
	return d.html()
}

// The picture of power over load.
const (
	loadWidth, loadHeight = 520.0, 240.0
	loadLeft, loadBottom  = 48.0, 36.0
)

// powerCurve draws power over the host's busy cores, with the line of a machine
// whose power is in proportion to load.
func powerCurve(c result.PowerCurve) template.HTML {
	cores, watts := 0.0, 0.0
	for _, p := range c.Points {
		cores, watts = max(cores, p.Cores), max(watts, p.Watts)
	}
	if cores <= 0 || watts <= 0 {
		return ""
	}
	topX, stepX := linearTop(cores)
	topY, stepY := linearTop(watts)
	x := func(v float64) float64 { return loadLeft + v/topX*(loadWidth-loadLeft-20) }
	y := func(v float64) float64 { return loadHeight - loadBottom - v/topY*(loadHeight-loadBottom-10) }
	d := newDrawing(loadWidth, loadHeight, "curve", "Power over busy cores: "+c.Name+" on "+c.Platform)
	for _, t := range ticksTo(topY, stepY) {
		d.line("grid", loadLeft, y(t), loadWidth-20, y(t))
		d.text("ylabel", loadLeft-6, y(t)+4, fmt.Sprintf("%.4g W", t))
	}
	for _, t := range ticksTo(topX, stepX) {
		d.line("grid", x(t), 10, x(t), loadHeight-loadBottom)
		d.text("xlabel", x(t), loadHeight-loadBottom+15, fmt.Sprintf("%.4g", t))
	}
	d.text("xlabel", (loadLeft+loadWidth-20)/2, loadHeight-4, "busy cores of the host; dashed: in proportion to load")
	d.polyline("line dash1", []float64{x(0), x(cores)}, []float64{y(0), y(watts)})
	xs, ys := make([]float64, len(c.Points)), make([]float64, len(c.Points))
	for i, p := range c.Points {
		xs[i], ys[i] = x(p.Cores), y(p.Watts)
	}
	d.polyline("line c1", xs, ys)
	for i, p := range c.Points {
		d.circle("guest", xs[i], ys[i], 3.2, fmt.Sprintf("%.3f cores: %.1f W", p.Cores, p.Watts))
	}
	return d.html()
}
