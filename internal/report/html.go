package report

import (
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"io"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/result"
)

var (
	//go:embed page.html
	pageText string
	//go:embed style.css
	styleText string
)

// page is what the template shows.
type page struct {
	*result.Result
	Overview overview
	Style    template.CSS
	Cases    []caseView
	Curves   []sweepView // of the metrics that answer the question
	Sweeps   []sweepView // of all others
	Panels   []panelView
	Facts    []result.Fact
	Caveats  []string
	Phases   []phaseRow
	Inside   []clockView
	Where    []placeView
	Took     string // the time of all trials, for people
	SoFar    string // behind a number of trials to which a stopping rule may add
	Extent   string // blocks planned, or their bounds
	Again    []againView
	// Balance sets the parts against the whole host, Balanced says it in a sentence.
	Balance []balanceView
	// Matrix sets scenes against others on the same platform; nil if none is.
	Matrix   *relativeView
	Hosts    []watchView
	Balanced string
	Power    []powerView
}

// againView is a command that measures a platform's rows again.
type againView struct{ Platform, Command string }

type caseView struct {
	result.Case
	ID       string
	Stop     string // why it ended
	Notes    []note
	Headline []metricView
	Further  []metricView
	Usage    []usageView
	Stack    template.HTML
	Audits   []auditView
	Latency  []latencyView
	Energy   []energyGroup
	Paces    []paceView
	Ramp     *densityView
	Pooled   []poolView
	// Launches, Waterfalls and Sources are of a start-up case.
	Launches   []launchView
	Waterfalls []template.HTML
	Sources    []string
}

type phaseRow struct {
	Platform string
	Cells    []string
	Overhead string
	N        int
}

// clockView is how well a platform's clocks are known.
type clockView struct {
	result.ClockRow
	Known, Drifted string
}

// placeView says where the actors of like scenes ran.
type placeView struct {
	Actor, Role, CPUs, Scenes string
}

// phaseNames are a trial's phases in order.
var phaseNames = []string{"setup", "launch", "prepare", "warmup", "measure", "collect", "close"}

// HTML writes the result as one page that needs nothing else.
func HTML(w io.Writer, r *result.Result) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"count": figure.Count, "percent": figure.Percent, "labelled": result.Labelled, "number": figure.Number, "unit": figure.Unit, "long": long, "breakable": breakable, "claim": claimWords, "together": bench.Together, "conditions": conditionsOf, "accompanied": accompanied, "othersNote": func() string { return othersNote },
		"kind":     kindOf,
		"times100": func(f float64) float64 { return 100 * f },
		"paceNote": func() string { return paceNote }, "pacesShown": func() any { return pacesShown },
		"controlsTitle": func() string { return controlsTitle },
		"watchTitle":    func() string { return watchTitle }, "watchNote": func() string { return watchNote },
		"join": strings.Join, "phases": func() []string { return phaseNames },
		"unfinished": unfinishedWords, "poolHeads": func() []string { return poolHeads },
		"ballooned": ballooned, "balloonNote": func() string { return balloonNote },
		"densityMeters": func() any { return densityMeters }, "densityMeans": func() string { return densityMeans }, "launchPhases": func() []string { return bench.LaunchPhases }, "launchKey": keyOf,
	}).Parse(pageText)
	if err != nil {
		return fmt.Errorf("report template: %w", err)
	}
	p := page{Result: r, Style: template.CSS(styleText), Panels: panelsOf(r.Series), Facts: r.HostFacts,
		Took: figure.Span(r.Seconds), Extent: blocksOf(r), SoFar: soFar(r), Where: placesOf(r.Layout), Caveats: caveatsOf(r.HostFacts), Balance: balancesOf(r), Balanced: balanceAnswer(r), Matrix: relativeOf(r), Hosts: watchesOf(r), Power: powersOf(r.Power)}
	p.Curves, p.Sweeps = sweepViews(r)
	ids := map[string]string{}
	for i, c := range r.Cases {
		ids[c.Name] = caseID(i, c.Name)
	}
	p.Overview = overviewOf(r, ids)
	for i, c := range r.Cases {
		v := caseView{Case: c, ID: caseID(i, c.Name), Stop: stopOf(r, c.Name), Notes: append(notesOf(c.Rows), densityNotes(c.Density)...), Ramp: densityOf(c), Pooled: poolsOf(c), Usage: usageOf(c), Stack: stackOf(c), Audits: auditsOf(c.Rows), Latency: latenciesOf(c),
			Launches: launchesOf(c), Waterfalls: waterfallsOf(c), Sources: sourcesOf(c), Energy: energiesOf(c, r.Power), Paces: pacesOf(c)}
		for _, m := range metricsOf(c, r.Margin) {
			if m.Headline {
				v.Headline = append(v.Headline, m)
			} else {
				v.Further = append(v.Further, m)
			}
		}
		if len(v.Headline) == 0 {
			v.Headline, v.Further = v.Further, nil
		}
		p.Cases = append(p.Cases, v)
		for _, row := range c.Rows {
			a := againView{row.Name(), row.Reproduce}
			if !slices.Contains(p.Again, a) {
				p.Again = append(p.Again, a)
			}
		}
	}
	for _, row := range r.Procedure {
		v := phaseRow{Platform: row.Platform, Overhead: figure.Fixed(row.Overhead, 2), N: row.N}
		for _, name := range phaseNames {
			cell := "–"
			if s, ok := row.Phases[name]; ok {
				cell = figure.Fixed(s, 2)
			}
			v.Cells = append(v.Cells, cell)
		}
		p.Phases = append(p.Phases, v)
	}
	for _, c := range r.Clocks {
		v := clockView{ClockRow: c}
		v.Known, v.Drifted = clockBounds(c)
		p.Inside = append(p.Inside, v)
	}
	if err := t.Execute(w, p); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// kindOf says of what kind a case is, no word twice: "disk · fio", "cpu · sysbench-cpu · beside a neighbour".
func kindOf(c result.Case) string {
	words := []string{c.Resource}
	for _, w := range []string{c.Workload, map[bench.SceneKind]string{bench.Alike: "several alike", bench.Beside: "beside a neighbour", bench.Idling: "at rest", bench.Checkpointing: "through files"}[c.Kind]} {
		if w != "" && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return strings.Join(words, " · ")
}

// caseID is a case's anchor: its place keeps it unique, its name tells it apart.
func caseID(i int, name string) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, name)
	return fmt.Sprintf("case-%d-%s", i+1, safe)
}

// breakable lets a platform's name break before its options and between them.
func breakable(name string) template.HTML {
	return template.HTML(strings.NewReplacer("[", "<wbr>[", ",", ",<wbr>", "=", "=<wbr>").Replace(html.EscapeString(name)))
}

// long says whether a text is to be folded away.
func long(s string) bool { return len(s) > 100 }

func cpusText(cpus []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(cpus), " ", ", "), "[]")
}

// placesOf gathers actors that ran on the same CPUs in the same role.
func placesOf(layout []result.Placement) []placeView {
	var views []placeView
	index := map[string]int{}
	for _, l := range layout {
		cpus := cpusText(l.CPUSet)
		for _, other := range l.Also {
			cpus += "; in other blocks " + cpusText(other)
		}
		key := l.Actor + "|" + string(l.Role) + "|" + cpus
		i, ok := index[key]
		if !ok {
			index[key] = len(views)
			views = append(views, placeView{l.Actor, string(l.Role), cpus, l.Scene})
			continue
		}
		views[i].Scenes += ", " + l.Scene
	}
	return views
}
