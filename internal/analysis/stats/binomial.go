package stats

import "gonum.org/v1/gonum/stat/distuv"

// Binomial is the exact interval of a share of which k of n were found (Clopper and Pearson,
// Biometrika 26, 1934, 404-413): it holds the true share at least as often as confidence says. Of
// nothing it is from 0 to 1.
func Binomial(k, n int, confidence float64) (low, high float64) {
	high = 1
	tail := (1 - confidence) / 2
	if k > 0 {
		low = distuv.Beta{Alpha: float64(k), Beta: float64(n-k) + 1}.Quantile(tail)
	}
	if k < n {
		high = distuv.Beta{Alpha: float64(k) + 1, Beta: float64(n - k)}.Quantile(1 - tail)
	}
	return low, high
}
