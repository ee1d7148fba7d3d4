package result

import (
	"fmt"

	"tare/internal/analysis/stats"
	"tare/internal/bench/figure"
)

// Needed says how many of something would do, with the range: "about 12 blocks
// (7 to 31)".
func Needed(n stats.Need, noun string) string {
	if n.N == 0 {
		return fmt.Sprintf("more than %s", figure.Count(stats.MostNeeded, noun))
	}
	high := fmt.Sprint(n.High)
	if n.High == 0 {
		high = fmt.Sprintf("more than %d", stats.MostNeeded)
	}
	if high == fmt.Sprint(n.Low) {
		return "about " + figure.Count(n.N, noun)
	}
	return fmt.Sprintf("about %s (%d to %s)", figure.Count(n.N, noun), n.Low, high)
}
