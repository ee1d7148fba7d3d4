package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

const (
	// exactFlips is the most ratios whose sign flips are all enumerated.
	exactFlips = 16
	// randomFlips is how many are drawn above that.
	randomFlips = 9999
)

// SignFlip returns the two-sided p of a permutation test that the ratios, one
// of each block, scatter around 1. If the order of two sides within a block is
// left to chance and neither has an effect, each log ratio is as likely to have
// the other sign, so p is the share of sign flips whose sum is at least as far
// from 0 as the one observed (Fisher, The Design of Experiments, 1935, section
// 21). It supposes nothing of the distribution, and that blocks drift or depend
// on one another does not matter.
//
// Up to 16 ratios all flips are enumerated: p is exact and at least 2^(1-n).
// Above, it is (b+1)/(m+1) of m = 9999 random flips, of which b are as far
// (Phipson and Smyth, Stat. Appl. Genet. Mol. Biol. 9, 2010, article 39).
//
// Below MinTested the error wraps ErrFew; for a ratio that is not positive and
// finite it wraps ErrDomain.
func SignFlip(ratios []float64) (float64, error) {
	x, err := logRatios("sign flip test", ratios, MinTested)
	if err != nil {
		return 0, err
	}
	slices.Sort(x)
	return signFlip(x, randomFlips), nil
}

// signFlip is the p of sorted log ratios, of m random flips where there are too many for all.
func signFlip(x []float64, m int) float64 {
	var sum, size float64
	for _, v := range x {
		sum += v
		size += math.Abs(v)
	}
	// Flips that tie with the observation must not miss it by rounding.
	far := math.Abs(sum) - 1e-12*size
	if len(x) <= exactFlips {
		return exactFlipShare(x, far)
	}
	return randomFlipShare(x, far, m)
}

// exactFlipShare fixes the first sign: flipping every sign turns the sum
// around, which is as far from 0.
func exactFlipShare(x []float64, far float64) float64 {
	flips := uint64(1) << (len(x) - 1)
	b := 0
	for flip := range flips {
		if math.Abs(flippedSum(x, flip<<1)) >= far {
			b++
		}
	}
	return float64(b) / float64(flips)
}

func randomFlipShare(x []float64, far float64, m int) float64 {
	rng := rand.New(rand.NewPCG(seed(x), uint64(len(x))))
	b := 0
	for range m {
		var sum float64
		for part := range slices.Chunk(x, 64) {
			sum += flippedSum(part, rng.Uint64())
		}
		if math.Abs(sum) >= far {
			b++
		}
	}
	return float64(b+1) / float64(m+1)
}

// flippedSum is the sum of at most 64 values, each with its sign turned whose bit is set.
func flippedSum(x []float64, flip uint64) float64 {
	var sum float64
	for i, v := range x {
		if flip>>i&1 == 1 {
			v = -v
		}
		sum += v
	}
	return sum
}
