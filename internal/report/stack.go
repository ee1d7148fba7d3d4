package report

import (
	"fmt"
	"html/template"

	"tare/internal/result"
)

// The figure of where a case's CPU time went: a bar per platform, below its name.
const (
	stackWidth = 520.0
	stackPitch = 38.0 // from bar to bar
	stackBar   = 16.0
)

// stackOf draws the CPU of each platform of a case as a stacked bar, all on one
// scale: what the host's own counter says, and steal beyond it.
func stackOf(c result.Case) template.HTML {
	most := 0.0
	for i := range c.Usage {
		sum := 0.0
		for _, p := range stackParts(&c.Usage[i]) {
			sum += max(0, p.cores)
		}
		most = max(most, sum)
	}
	top, step := linearTop(most)
	scale := (stackWidth - 20) / top
	height := stackPitch*float64(len(c.Usage)) + 22
	d := newDrawing(stackWidth, height, "stack", "CPU time of each platform by level, in cores: "+c.Title)
	foot := height - 20
	for _, t := range ticksTo(top, step) {
		d.line("grid", 4+t*scale, 0, 4+t*scale, foot)
		d.text("axis", 4+t*scale, height-6, fmt.Sprintf("%.4g", t))
	}
	for i := range c.Usage {
		u := &c.Usage[i]
		y := stackPitch * float64(i)
		name := labelled(u.Platform, u.Label)
		if !u.Unattributed.Known {
			name += " (in part not measured)"
		}
		d.text("name", 4, y+13, name)
		x := 4.0
		for _, p := range stackParts(u) {
			if p.cores <= 0 {
				continue
			}
			d.rect(p.class, x, y+18, p.cores*scale, stackBar, fmt.Sprintf("%s, %s: %.3f cores", u.Platform, p.name, p.cores))
			x += p.cores * scale
		}
	}
	return d.html()
}

type stackPart struct {
	class, name string
	cores       float64
}

func stackParts(u *result.Usage) []stackPart {
	return []stackPart{
		{"guest", "guest", u.GuestCPU.Value}, {"layer", "layer", u.LayerCPU.Value}, {"others", "others", others(u)},
		{"rest", "rest of the host", u.RestCPU.Value}, {"unattributed", "unattributed", u.Unattributed.Value}, {"steal", "steal", u.StealCPU.Value},
	}
}
