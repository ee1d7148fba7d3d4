package stats

import "math"

// Looks returns the numbers of blocks after which a stopping rule looks, from
// the first to the last: after a seventh more than at the look before, so after every block
// up to 14. It is nil unless 1 <= first <= last.
//
// Looking more often needs no wider intervals at the levels of [LevelsOf],
// and saves the blocks between the one that would do and the next look.
func Looks(first, last int) []int {
	if first < 1 || last < first {
		return nil
	}
	var looks []int
	for n := first; n < last; n += max(1, n/7) {
		looks = append(looks, n)
	}
	return append(looks, last)
}

// Levels are the confidences of the intervals at a rule's looks.
type Levels struct {
	// Usual is of the interval that ends a row where it is narrow, and of that of a
	// row which nothing ended.
	Usual float64
	// Strict is of the interval that ends a row where it decides.
	Strict float64
}

// LevelsOf returns the levels at which a rule of so many looks makes its intervals,
// so that the one reported in the end holds the true ratio with the confidence
// given. One look needs no correction.
//
// Stopping where the interval is narrow favours data that look calm by luck, and
// stopping where it decides favours those that look different. Bonferroni's share
// for each look is far more than is needed, since the looks resemble each other
// and one interval is reported. What suffices was found by simulation
// over margins, widths wanted and true ratios (TestLevelsSuffice): two
// fifths of the error allowed for being narrow, a twentieth for deciding.
func LevelsOf(looks int, confidence float64) Levels {
	if looks < 2 {
		return Levels{confidence, confidence}
	}
	return Levels{1 - (1-confidence)*2/5, 1 - (1-confidence)/20}
}

// UnseenShare is the largest share of launches that may behave otherwise, such as
// ten times as slow, though none of n did: with 95 % confidence one of n shows
// a share above it. 45 % at 5, 26 % at 10, 9.5 % at 30.
func UnseenShare(n int) float64 { return 1 - math.Pow(0.05, 1/float64(n)) }
