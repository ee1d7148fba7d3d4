package stop_test

import (
	"fmt"

	"tare/internal/analysis/stop"
	"tare/internal/bench"
	"tare/internal/result"
)

// The rule ends a platform at the first declared look at which its interval is
// narrow enough, or decides at a stricter level.
func ExampleRule_End() {
	rule := stop.Rule{Until: bench.Until{Interval: 0.03, Min: 5, Max: 30, Looks: []int{5, 6, 7, 8}}, Margin: 0.03, Family: 3}
	for _, platform := range []struct {
		name   string
		ratios []float64
	}{
		{"docker", []float64{0.93, 0.94, 0.93, 0.92, 0.93, 0.93, 0.94, 0.93}},
		{"gvisor", []float64{0.31, 0.36, 0.28, 0.33, 0.35, 0.30, 0.32, 0.34}},
		{"lxc", []float64{1.08, 0.93, 1.02, 0.98, 1.01, 1.00, 0.99, 1.01}},
	} {
		end, answer, ended := rule.End(8, func(blocks int) []float64 { return platform.ratios[:blocks] })
		if !ended {
			fmt.Println(platform.name, "goes on")
			continue
		}
		fmt.Printf("%s ended after %d blocks: ±%.0f %%%s\n", platform.name, end, 100*answer.Width, map[bool]string{true: " differs"}[answer.Verdict == result.Differs])
	}
	// Output:
	// docker ended after 5 blocks: ±2 %
	// gvisor ended after 5 blocks: ±24 % differs
	// lxc goes on
}
