package figure_test

import (
	"fmt"

	"tare/internal/bench/figure"
)

func Example() {
	fmt.Println(figure.Number(1234567))
	fmt.Println(figure.Quantity(0.1234567, "ms"))
	fmt.Println(figure.Quantity(512<<20, "bytes"))
	fmt.Println(figure.Percent(-0.067))
	fmt.Println(figure.Count(1, "launch"), figure.Count(3, "launch"))
	// Output:
	// 1 234 567
	// 0.1235 ms
	// 512 MiB
	// -6.7 %
	// 1 launch 3 launches
}
