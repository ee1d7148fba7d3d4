package report

import (
	"fmt"
	"strings"

	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/result"
)

// pacesShown are the columns of the table of executions, by the names of their quantities.
var pacesShown = []struct{ Name, of string }{
	{"executions/s", result.Executions}, {"CPU time each", result.PerExecution}, {"waited for a CPU", result.Waited},
}

// paceCell is one quantity of a domain, with its ratios to the baseline's and to
// the same alone, "" where there is none. Share is its part of the case's largest, in percent.
type paceCell struct {
	Name, Value, Ratio, Alone string
	Share                     float64
}

// paceView is a domain's row. Of virtual CPUs alone it has a second one.
type paceView struct {
	Name, Domain string
	Cells        []paceCell
	Notes        []string
	Why          string
}

func pacesOf(c result.Case) []paceView {
	var views []paceView
	most := map[string]float64{}
	for i := range c.Scheduling {
		for _, q := range c.Scheduling[i].Quantities {
			name := strings.TrimPrefix(q.Metric.Name, result.VCPU)
			most[name] = max(most[name], q.Median)
		}
	}
	for i := range c.Scheduling {
		d := &c.Scheduling[i]
		v := paceView{Name: d.Name(), Domain: domainName(d), Notes: d.Notes, Why: d.Why}
		if d.Why != "" {
			views = append(views, v)
			continue
		}
		v.Cells = paceCells(d, "", most)
		if d.Of(result.VCPU+result.Executions) != nil {
			of := paceView{Name: v.Name, Domain: v.Domain + ", its virtual CPUs", Cells: paceCells(d, result.VCPU, most), Notes: v.Notes}
			v.Notes = nil
			views = append(views, v, of)
			continue
		}
		views = append(views, v)
	}
	return views
}

func domainName(d *result.Scheduling) string {
	name := d.Domain
	if d.Domains > 1 {
		name = fmt.Sprintf("%d %s, mean of each", d.Domains, plurals[d.Role])
	}
	if d.On != d.Platform {
		name += " (" + d.On + ")"
	}
	return name
}

var plurals = map[bench.Role]string{bench.Subject: "subjects", bench.Member: "members", bench.Neighbour: "neighbours", bench.Idle: "idle"}

func paceCells(d *result.Scheduling, prefix string, most map[string]float64) []paceCell {
	var cells []paceCell
	for _, p := range pacesShown {
		cell := paceCell{Name: p.Name, Value: "–"}
		if q := d.Of(prefix + p.of); q != nil {
			cell.Value = figure.Unbroken(figure.Number(q.Median) + " " + figure.Unit(q.Metric.Unit))
			if p.of == result.Executions {
				cell.Value = figure.Number(q.Median)
			}
			if m := most[p.of]; m > 0 {
				cell.Share = 100 * q.Median / m
			}
			cell.Ratio, cell.Alone = paceRatio(q.Effect), paceRatio(q.Alone)
		}
		cells = append(cells, cell)
	}
	return cells
}

func paceRatio(e *result.Effect) string {
	switch {
	case e == nil || e.HasRatio():
		return e.RatioWords()
	case e.Verdict == result.Unfair:
		return "no comparison"
	case e.Ratio > 0: // too few launches for an interval
		return figure.Ratio(e.Ratio)
	}
	return ""
}

// paceNote says what the figures are.
const paceNote = "An execution is one stretch of a task of the domain on a CPU, counted by the host's scheduler: of a virtual machine all of its monitor's threads, of a container all of its processes. " +
	"Waited is the time that tasks were ready to run and had no CPU, all together. Medians of launches; below, the ratio to the same domain of the baseline and to the subject of the scene that this one is set against, paired by block, with its 95 % interval."

// schedulingText is the table of executions.
func schedulingText(c result.Case) []block {
	var rows [][]string
	var notes listed
	for _, v := range pacesOf(c) {
		rows = append(rows, v.lines()...)
		if v.Why != "" {
			notes = append(notes, v.Name+", "+v.Domain+": "+v.Why)
		}
		for _, n := range v.Notes {
			notes = append(notes, v.Name+", "+v.Domain+": "+n)
		}
	}
	heads := []string{"EXECUTIONS", "DOMAIN"}
	for _, p := range pacesShown {
		heads = append(heads, strings.ToUpper(p.Name))
	}
	return []block{table[[]string]{rows: rows, columns: cellsUnder(heads)}, notes}
}

// lines are a domain's cells, and below them its ratios if there are any.
func (v paceView) lines() [][]string {
	if v.Why != "" {
		return [][]string{{v.Name, v.Domain, "not known", "–", "–"}}
	}
	own, against, alone := []string{v.Name, v.Domain}, []string{"", "  to the baseline"}, []string{"", "  to alone"}
	for _, c := range v.Cells {
		own, against, alone = append(own, c.Value), append(against, c.Ratio), append(alone, c.Alone)
	}
	all := [][]string{own}
	for _, ratios := range [][]string{against, alone} {
		if strings.Join(ratios[2:], "") != "" {
			all = append(all, ratios)
		}
	}
	return all
}
