package selftest

import (
	"fmt"

	"tare/internal/analysis/stats"
)

// A Proportion is k of n with its exact 95 % interval.
type Proportion struct {
	K     int     `json:"k"`
	N     int     `json:"n"`
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// proportion is k of n with [stats.Binomial]'s interval.
func proportion(k, n int) Proportion {
	p := Proportion{K: k, N: n}
	if n > 0 {
		p.Share = float64(k) / float64(n)
	}
	p.Low, p.High = stats.Binomial(k, n, 0.95)
	return p
}

// String is such as "1 of 200 (0.0-2.8 %)".
func (p Proportion) String() string {
	return fmt.Sprintf("%d of %d (%.1f-%.1f %%)", p.K, p.N, 100*p.Low, 100*p.High)
}
