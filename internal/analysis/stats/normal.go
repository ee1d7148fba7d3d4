package stats

import "gonum.org/v1/gonum/stat/distuv"

// NormalTail is the probability that a standard normal is above z.
func NormalTail(z float64) float64 { return distuv.UnitNormal.Survival(z) }

// NormalQuantile is below which a standard normal is with probability p.
func NormalQuantile(p float64) float64 { return distuv.UnitNormal.Quantile(p) }
