package report

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"tare/internal/overhead"
)

// usageView is where the resources of one platform's trials went.
type usageView struct {
	Name, Guest, Layer, Rest, Steal, Overhead, Memory, MemoryOverhead, Parts string
	Bar                                                                      template.HTML
	Notes                                                                    []string
}

// unbroken keeps a number and its unit on one line.
var unbroken = strings.NewReplacer(" ", "\u00a0")

// usageOf draws the CPU of each platform of a case as a stacked bar, all on one scale.
func usageOf(c overhead.Case) []usageView {
	most := 0.0
	for _, u := range c.Usage {
		most = max(most, u.GuestCPU+u.LayerCPU+u.RestCPU+u.StealCPU+others(&u))
	}
	top, _ := linearTop(most)
	var views []usageView
	for i := range c.Usage {
		u := &c.Usage[i]
		v := usageView{
			Name: labelled(u.Platform, u.Label), Notes: u.Notes,
			Guest: cores(u, "guest_cpu", u.GuestCPU), Layer: cores(u, "layer_cpu", u.LayerCPU),
			Rest: cores(u, "rest_cpu", u.RestCPU), Steal: cores(u, "steal_cpu", u.StealCPU),
			Memory: unbroken.Replace(memory(u, "guest_mem_bytes", u.GuestMem)) + " + " + unbroken.Replace(memory(u, "layer_mem_bytes", u.LayerMem)),
			Parts:  partsOf(u),
		}
		v.Overhead, v.MemoryOverhead = "–", "–"
		if u.CPUOverhead != nil {
			v.Overhead = percent(*u.CPUOverhead)
		}
		if u.MemOverhead != nil {
			v.MemoryOverhead = percent(*u.MemOverhead)
		}
		v.Bar = usageBar(u, top)
		views = append(views, v)
	}
	return views
}

func usageBar(u *overhead.Usage, top float64) template.HTML {
	const width, height = 300.0, 22.0
	d := newDrawing(width, height, "plot", "CPU of "+u.Platform+" by level")
	x := 0.0
	for _, part := range []struct {
		class, name string
		cores       float64
	}{
		{"guest", "guest", u.GuestCPU}, {"layer", "layer", u.LayerCPU},
		{"others", "peer and neighbours", others(u)}, {"rest", "rest of the host", u.RestCPU}, {"steal", "steal", u.StealCPU},
	} {
		w := part.cores / top * width
		d.rect(part.class, x, 3, w, height-6, fmt.Sprintf("%s: %.3f cores", part.name, part.cores))
		x += max(0, w)
	}
	return d.html()
}

func others(u *overhead.Usage) float64 {
	sum := 0.0
	for _, c := range u.Others {
		sum += c
	}
	return sum
}

func cores(u *overhead.Usage, field string, v float64) string {
	if !u.Has(field) {
		return "not measured"
	}
	return fmt.Sprintf("%.3f", v)
}

func memory(u *overhead.Usage, field string, v float64) string {
	if !u.Has(field) {
		return "not measured"
	}
	return quantity(v, "bytes")
}

// partsOf lists what the layer is made of, the largest first.
func partsOf(u *overhead.Usage) string {
	type part struct {
		name  string
		cores float64
	}
	var ps []part
	for n, c := range u.Parts {
		ps = append(ps, part{n, c})
	}
	slices.SortFunc(ps, func(a, b part) int {
		switch {
		case a.cores > b.cores:
			return -1
		case a.cores < b.cores:
			return 1
		case a.name < b.name:
			return -1
		}
		return 1
	})
	s := ""
	for i, p := range ps {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%s %.4f", p.name, p.cores)
	}
	return s
}
