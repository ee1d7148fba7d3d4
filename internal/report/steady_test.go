package report

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
)

func steadyRows() []result.Row {
	row := func(platform string, s *result.Steadiness) result.Row {
		return result.Row{Metric: bench.Metric{Name: "iops", Headline: true}, Platform: platform, Steadiness: s,
			Points: []result.Point{{Block: 1, Trial: "b01-t01", Value: 1}}}
	}
	return []result.Row{
		row("native", &result.Steadiness{Finding: result.Steady, Launches: 4, Steady: 4}),
		row("lxc", &result.Steadiness{Finding: result.Steady, Launches: 4, Steady: 4}),
		row("kvm", &result.Steadiness{Finding: result.Slowing, Launches: 4, Steady: 1, Slowing: 3, Worst: 0.123}),
		row("docker", &result.Steadiness{Finding: result.NoSeries}),
		row("podman", nil),
	}
}

func TestSteadinessInWords(t *testing.T) {
	rows := steadyRows()
	got := steadinessOf(rows)
	want := "Within the window, iops: native, lxc: steady (4 of 4 launches steady); " +
		"kvm: slowing (1 of 4 launches steady, 3 slowing, by up to 12.3 %); docker: no series"
	if len(got) != 1 || got[0] != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := steadinessOf(rows[:2]); len(got) != 1 || got[0] != "Within the window, iops: steady (4 of 4 launches steady)" {
		t.Errorf("alike on all platforms: %q", got)
	}
	var b bytes.Buffer
	if err := Text(&b, &result.Result{Cases: []result.Case{{Name: "disk", Rows: rows}}}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "Within the window"); n != 1 {
		t.Errorf("%d times in %s", n, b.String())
	}
	if page := renderHTML(t, &result.Result{Cases: []result.Case{{Name: "disk", Rows: rows}}}); !strings.Contains(page, "3 slowing, by up to 12.3 %") {
		t.Error("the page does not say it")
	}
}

func TestSteadinessInCSV(t *testing.T) {
	var b bytes.Buffer
	if err := CSV(&b, &result.Result{Cases: []result.Case{{Name: "disk", Rows: steadyRows()}}}); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	from := slices.Index(lines[0], "steadiness")
	for i, want := range [][]string{{"steadiness", "steady_share", "slowing_share", "speeding_share", "not_steady_share", "worst_shift"},
		{"steady", "1", "0", "0", "0", "0"}, {"steady", "1", "0", "0", "0", "0"}, {"slowing", "0.25", "0.75", "0", "0", "0.123"},
		{"no series", "", "", "", "", ""}, {"", "", "", "", "", ""}} {
		if got := lines[i][from : from+steadinessColumns]; !slices.Equal(got, want) {
			t.Errorf("line %d: %q, want %q", i, got, want)
		}
	}
}
