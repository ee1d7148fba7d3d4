package stats_test

import (
	"fmt"
	"log"

	"tare/internal/analysis/stats"
)

// Five blocks of a program in a container and natively, in requests per second.
// Values are set against each other within a block.
func Example() {
	docker := map[int]float64{1: 93.1, 2: 92.4, 3: 95.0, 4: 93.9, 5: 92.2}
	native := map[int]float64{1: 100.2, 2: 99.1, 3: 101.7, 4: 100.4, 5: 99.6}
	pairs, err := stats.PairedRatios(docker, native)
	if err != nil {
		log.Fatal(err)
	}
	var ratios []float64
	for _, pair := range pairs {
		ratios = append(ratios, pair.Value)
	}
	i, err := stats.RatioInterval(ratios, 0.95)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f (%.3f to %.3f)\n", i.Mid, i.Low, i.High)
	// Output:
	// 0.931 (0.922 to 0.936)
}

// Each of three tests has p below 5 %. Corrected for their number, one has.
func ExampleHolm() {
	for _, p := range stats.Holm([]float64{0.01, 0.04, 0.03}) {
		fmt.Printf("%.2f\n", p)
	}
	// Output:
	// 0.03
	// 0.06
	// 0.06
}
