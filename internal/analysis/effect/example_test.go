package effect_test

import (
	"fmt"
	"log"

	"tare/internal/analysis/effect"
	"tare/internal/analysis/stats"
	"tare/internal/bench"
)

// Requests per second of a container, set against native within each block. The
// margin of equivalence is 3 %.
func ExampleCompare() {
	lxc := map[int]float64{1: 93.1, 2: 92.4, 3: 95.0, 4: 93.9, 5: 92.2}
	native := map[int]float64{1: 100.2, 2: 99.1, 3: 101.7, 4: 100.4, 5: 99.6}
	i, verdict, err := effect.Compare(lxc, native, effect.Confidence, 0.03)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %.1f %% worse\n", verdict, 100*effect.Cost(i.Mid, bench.HigherIsBetter))
	// Output:
	// differs: 6.9 % worse
}

// A verdict asks where the interval lies, not where its middle does.
func ExampleVerdict() {
	for _, i := range []stats.Interval{
		{Mid: 0.99, Low: 0.98, High: 0.995}, // sure, and too small to matter
		{Mid: 0.93, Low: 0.91, High: 0.96},
		{Mid: 0.98, Low: 0.92, High: 1.04},
	} {
		fmt.Println(effect.Verdict(i, 0.03))
	}
	// Output:
	// equivalent
	// differs
	// inconclusive
}
