package selftest

import (
	"fmt"

	"gonum.org/v1/gonum/stat/distuv"
)

// A Proportion is k of n with its exact 95 % interval.
type Proportion struct {
	K     int     `json:"k"`
	N     int     `json:"n"`
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// proportion is the interval of Clopper and Pearson (Biometrika 26, 1934,
// 404-413): it holds the true share at least as often as it says. Of nothing,
// the interval is from 0 to 1.
func proportion(k, n int) Proportion {
	p := Proportion{K: k, N: n, High: 1}
	if n == 0 {
		return p
	}
	const tail = 0.025
	p.Share = float64(k) / float64(n)
	if k > 0 {
		p.Low = distuv.Beta{Alpha: float64(k), Beta: float64(n-k) + 1}.Quantile(tail)
	}
	if k < n {
		p.High = distuv.Beta{Alpha: float64(k) + 1, Beta: float64(n - k)}.Quantile(1 - tail)
	}
	return p
}

// String is such as "1 of 200 (0.0-2.8 %)".
func (p Proportion) String() string {
	return fmt.Sprintf("%d of %d (%.1f-%.1f %%)", p.K, p.N, 100*p.Low, 100*p.High)
}
