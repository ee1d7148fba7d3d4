package report

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tare/internal/result"
)

func TestDurations(t *testing.T) {
	for want, b := range map[string]*result.Bounds{
		"–": nil, "0–900 ns": {Low: 0, High: 900}, "0.99–1.01 us": {Low: 990, High: 1010}, "43.52–44.03 us": {Low: 43520, High: 44032},
		"2.55 ms": {Low: 2550417, High: 2550417}, "0.99–1.5 s": {Low: 990e6, High: 1500e6}, "7 ns": {Low: 7, High: 7},
	} {
		if got := duration(b); got != want {
			t.Errorf("%+v: %q, want %q", b, got, want)
		}
	}
}

func curve(platform string, factor float64, shares ...float64) result.Latency {
	l := result.Latency{Histogram: "latency", Platform: platform, Launches: 5, Requests: 1e6, Grid: "a grid",
		Percentiles: []result.Percentile{{Name: "p50", Share: 0.5, Bounds: &result.Bounds{Low: int64(1000 * factor), High: int64(1010 * factor)}},
			{Name: "p99.9", Share: 0.999, Beyond: 3, Why: "3 of 3000 requests lie beyond"}},
		Max: &result.Bounds{Low: 9e6, High: 9e6}}
	for i, s := range shares {
		l.Curve = append(l.Curve, result.CurvePoint{Share: s, Low: int64(factor * 1000 * float64(i+1)), High: int64(factor * 1000 * float64(i+1))})
	}
	return l
}

// A platform no launch of which finished has a dash in every column.
func TestLatencyOfNothing(t *testing.T) {
	var b bytes.Buffer
	writeBlocks(&b, latencyText(result.Case{Latency: []result.Latency{curve("native", 1, 0.9), {Histogram: "latency", Platform: "lxc", Why: "no launch finished"}}}))
	if got := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(got, "P50 P99.9 MAX REQUESTS native 1–1.01 us – 9 ms 1 000 000 lxc – – – – of all") || !strings.Contains(got, "RATIO BY LAUNCH P50 P99.9 native – – lxc – –") {
		t.Error(b.String())
	}
}

var curvePoints = regexp.MustCompile(`<polyline class="line c(\d) dash0" points="([^"]*)"`)

// A nine is as wide as the next, and equal factors of time are equally high.
func TestCurveByNines(t *testing.T) {
	svg, legend := latencyCurves([]result.Latency{curve("native", 1, 0.9, 0.99, 0.999), curve("docker", 2, 0.9, 0.99), {Histogram: "latency", Platform: "lxc"}})
	lines := curvePoints.FindAllStringSubmatch(string(svg), -1)
	if len(lines) != 2 || len(legend) != 2 || legend[1].Name != "docker" {
		t.Fatalf("%d lines, %d keys: %s", len(lines), len(legend), svg)
	}
	var xy [2][][2]float64
	for i, l := range lines {
		for _, p := range strings.Fields(l[2]) {
			x, y, _ := strings.Cut(p, ",")
			xy[i] = append(xy[i], [2]float64{float(t, x), float(t, y)})
		}
	}
	a, b := xy[0], xy[1]
	if d1, d2 := a[1][0]-a[0][0], a[2][0]-a[1][0]; math.Abs(d1-d2) > 0.3 || d1 < 50 {
		t.Errorf("nines are %v and %v wide", d1, d2)
	}
	// docker at 90 % takes as long as native at 99 %.
	if a[0][0] != b[0][0] || math.Abs(a[1][1]-b[0][1]) > 0.11 || a[0][1] <= a[1][1] {
		t.Errorf("native %v, docker %v", a, b)
	}
}

func TestLatencyTablesSayWhatTheyAreOf(t *testing.T) {
	docker := curve("docker", 2, 0.9, 0.99)
	docker.Label = "emulated (tcg)"
	docker.Percentiles[0].Effect = &result.Effect{Verdict: result.Differs, Ratio: 2, Low: 1.9, High: 2.1, Caution: "not like the others"}
	docker.Percentiles[1].Effect = &result.Effect{Verdict: result.Unfair, Unfair: "other disks"}
	c := result.Case{Name: "c", Title: "c", Latency: []result.Latency{curve("native", 1, 0.9, 0.99), docker}}
	var text bytes.Buffer
	writeBlocks(&text, latencyText(c))
	page := renderHTML(t, &result.Result{Cases: []result.Case{c}, Margin: 0.03})
	for _, want := range []string{"not like the others", "3 of 3000 requests lie beyond", "2.000 (1.900 to 2.100)", "emulated (tcg)", "a grid", "unfair: other disks", "9 ms"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text does not say %q:\n%s", want, text.String())
		}
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if !strings.Contains(page, "3 beyond: too few") {
		t.Error("the page does not say beside the percentile why it is not given")
	}
	if !strings.Contains(text.String(), "all requests of all launches together") || !strings.Contains(page, "all requests of all launches together") {
		t.Error("what was merged is not said")
	}
	// Marks on one logarithmic line: docker's median lies at the other end.
	if !regexp.MustCompile(`(?m)^  native +·?5·{69,}$`).MatchString(text.String()) || !regexp.MustCompile(`(?m)^  docker, emulated \(tcg\) +·{69,}5·?$`).MatchString(text.String()) {
		t.Errorf("no marks:\n%s", text.String())
	}
}

func float(t *testing.T, s string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Exports by launch hold each launch's own percentiles, not the merged one.
func TestExportsHoldTheLaunchesOwnPercentiles(t *testing.T) {
	r := synthetic(t)
	var table, lines bytes.Buffer
	if err := CSV(&table, r); err != nil {
		t.Fatal(err)
	}
	if err := GoBench(&lines, r); err != nil {
		t.Fatal(err)
	}
	for _, l := range r.Cases[0].Latency {
		for _, p := range l.Percentiles {
			for _, point := range p.Points {
				ns := strconv.FormatFloat(point.Value, 'g', -1, 64)
				if line := "," + p.Name + "_latency,ns,lower," + l.Platform + ","; !strings.Contains(strings.ReplaceAll(table.String(), `"`, ""), line) ||
					!strings.Contains(table.String(), ","+point.Trial+","+ns+",") {
					t.Errorf("%s of %s: the table has no line of it", p.Name, point.Trial)
				}
				if !strings.Contains(lines.String(), " "+ns+" "+p.Name+"_latency-ns") {
					t.Errorf("%s of %s: the benchmark lines do not have it", p.Name, point.Trial)
				}
			}
		}
	}
	if strings.Count(lines.String(), "Unit p99.9_latency-ns better=lower") != 1 {
		t.Error("p99.9 has no unit, or several")
	}
	// The disk case has a metric of the name, which is enough.
	if disk := r.Cases[2]; len(disk.Latency) == 0 || slices.ContainsFunc(disk.TailRows(), func(row result.Row) bool { return row.Metric.Name == "p99_latency" }) {
		t.Error("p99_latency is there twice")
	}
}
