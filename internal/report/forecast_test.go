package report

import (
	"bytes"
	"strings"
	"testing"

	"tare/internal/analysis/forecast"
)

func TestTextOfAForecast(t *testing.T) {
	between, within := 0.012, 0.03
	count := func(n, low, high int) *forecast.Count { return &forecast.Count{Blocks: n, Low: low, High: high} }
	row := func(platform string) forecast.Row {
		return forecast.Row{Name: platform, Metric: "throughput", Runs: 2, Launches: 14, Ratio: 0.95, SD: 0.0323, Fixed: 1.3,
			Narrow: count(24, 18, 41), Ends: count(13, 9, 20), Chance: 0.97, Reach: 0.0098}
	}
	split, few, never := row("lxc"), forecast.Row{Name: "kvm", Metric: "throughput", Why: "no earlier launch of it beside the baseline's"}, row("docker\x1b[2J")
	split.Between, split.Within = &between, &within
	never.Narrow, never.Ends, never.Chance = count(0, 400, 0), count(0, 300, 0), 0.02
	f := &forecast.Forecast{Experiment: "mine", Title: "Mine", Baseline: "native", Margin: 0.03, Archive: []string{"a", "b", "c", "d", "e", "f"},
		Width: 0.015, Confidence: 0.98, Power: 0.9, Least: 5, Most: 60, Words: "About so long.", Warnings: []string{"run z is left out: another machine"},
		Cases: []forecast.Case{
			{Name: "cpu", Title: "Primes", Rows: []forecast.Row{split, never, few}, Window: 1, Blocks: 1000, Seconds: 4000,
				Better: &forecast.Better{Window: 4, Blocks: 9, Seconds: 100, Planned: 380}},
			{Name: "disk", Title: "Reads", Rows: []forecast.Row{row("lxc")}, Window: 1, Blocks: 13, Seconds: 60, Why: forecast.MoreWindows},
			{Name: "memory", Title: "Bandwidth", Rows: []forecast.Row{row("lxc")}, Window: 1, Blocks: 13, Seconds: 60, Why: "its program runs until it is through"},
			{Name: "net", Title: "Network", Rows: []forecast.Row{row("lxc")}, Window: 1, Blocks: 13, Seconds: 60, Better: &forecast.Better{Window: 4, Blocks: 9, Seconds: 100}},
			{Name: "own", Title: "Own", Rows: []forecast.Row{few}, Blocks: 60, Seconds: 300},
			{Name: "up", Title: "Start-up", Blocks: 60, Seconds: 20},
		}}
	var b bytes.Buffer
	if err := Forecast(&b, f); err != nil {
		t.Fatal(err)
	}
	golden(t, "forecast.txt", b.String())
	if strings.Contains(b.String(), "\x1b") {
		t.Error("a control character of a name reaches the terminal")
	}
}
