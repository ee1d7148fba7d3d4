package stats

import "math"

const (
	// maxLooks is the most looks declared.
	maxLooks = 5
	// steadyLook is the fewest blocks of a first look whose standard deviation
	// is sure enough to let a rule stop at it at half the error allowed.
	steadyLook = 5
)

// Looks returns the numbers of blocks after which a stopping rule looks: at
// most five, from min to max, each about the same factor above the one before.
// It is nil unless 1 <= min <= max.
func Looks(min, max int) []int {
	if min < 1 || max < min {
		return nil
	}
	looks := []int{min}
	for k := 1; k < maxLooks; k++ {
		share := float64(k) / (maxLooks - 1)
		n := int(math.Round(float64(min) * math.Pow(float64(max)/float64(min), share)))
		if n > looks[len(looks)-1] {
			looks = append(looks, n)
		}
	}
	return looks
}

// LookConfidence returns the confidence at which the k-th look, from 0, makes
// its interval, so that the one at which a rule of width stops holds the true
// ratio with the confidence given. It is NaN for a look that is not declared.
//
// Stopping where the interval is narrow favours data that happen to look calm:
// without correction 5 looks from 5 to 30 bring 95 % down to 92 % at worst.
// The width of one look says nothing of the direction in which it errs, and one
// interval is reported, not five, so Bonferroni's share for each look is more
// than is needed. What suffices was found by simulation over wanted widths
// (TestLookConfidenceSuffices): half the error allowed, a third if the first
// look comes before 5 blocks; never less than Bonferroni's.
func LookConfidence(looks []int, k int, confidence float64) float64 {
	if k < 0 || k >= len(looks) {
		return math.NaN()
	}
	share := 2
	if looks[0] < steadyLook {
		share = 3
	}
	return 1 - (1-confidence)/float64(min(share, len(looks)))
}
