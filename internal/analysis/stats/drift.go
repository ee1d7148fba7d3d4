package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// minDrift is the fewest values in which a drift can be found at all: the
	// least p of 4 is 1/12.
	minDrift = 5
	// exactDrift is the most values whose p is by all orders.
	exactDrift = 50
)

// Drift returns by how much of itself a value grows from block to block, 0.01
// for 1 %, and the two-sided p of the hypothesis that it does not. The values
// are positive and in block order.
//
// The growth is the median of the slopes of all pairs of log values (Theil-Sen;
// Sen, JASA 63, 1968, 1379), which a few odd blocks cannot turn. The p is Mann
// and Kendall's (Mann, Econometrica 13, 1945, 245): of all orders of the
// values, the share that rises or falls at least as much, exact up to 50
// values of which no two are equal, else by the normal approximation with the
// variance of ties and the correction for continuity (Kendall, Rank
// Correlation Methods, 1975).
//
// Below 5 values the error wraps ErrFew; for one that is not positive and
// finite it wraps ErrDomain.
func Drift(values []float64) (perBlock, p float64, err error) {
	x, err := logRatios("drift", values, minDrift)
	if err != nil {
		return 0, 0, err
	}
	var slopes []float64
	rises, ties := 0, 0
	for j := range x {
		for i := range j {
			slopes = append(slopes, (x[j]-x[i])/float64(j-i))
			switch {
			case x[j] > x[i]:
				rises++
			case x[j] == x[i]:
				ties++
			}
		}
	}
	falls := len(slopes) - rises - ties
	if ties == 0 && len(x) <= exactDrift {
		p = orderShare(len(x), min(rises, falls))
	} else {
		p = normalOrderShare(x, rises-falls)
	}
	return math.Expm1(Median(slopes)), p, nil
}

// orderShare is the share of the orders of n different values with at most few
// pairs that fall, or at most few that rise.
func orderShare(n, few int) float64 {
	falls := []float64{1} // falls[k] is the share of orders with k pairs that fall
	for i := 2; i <= n; i++ {
		// The i-th largest comes before 0 to i-1 smaller ones, all equally likely.
		next := make([]float64, len(falls)+i-1)
		for k, share := range falls {
			for more := range i {
				next[k+more] += share / float64(i)
			}
		}
		falls = next
	}
	var sum float64
	for _, share := range falls[:few+1] {
		sum += share
	}
	return min(1, 2*sum)
}

// normalOrderShare approximates the share of orders in which rises less falls
// are as far from 0 as s.
func normalOrderShare(x []float64, s int) float64 {
	n := float64(len(x))
	variance := n * (n - 1) * (2*n + 5)
	sorted := slices.Sorted(slices.Values(x))
	for i := 0; i < len(sorted); {
		j := i
		for j < len(sorted) && sorted[j] == sorted[i] {
			j++
		}
		equal := float64(j - i)
		variance -= equal * (equal - 1) * (2*equal + 5)
		i = j
	}
	if s == 0 || variance <= 0 {
		return 1
	}
	z := (math.Abs(float64(s)) - 1) / math.Sqrt(variance/18)
	return 2 * distuv.UnitNormal.Survival(z)
}
