package stats

// Jain is the index of fairness of shares of one thing: the square of their
// sum by their number times the sum of their squares. It is 1 where all are
// alike and 1/n where one has everything (Jain, Chiu and Hawe, DEC-TR-301, 1984).
// It fails with [ErrFew] for fewer than two and with [ErrDomain] for a negative
// share or where nobody has anything.
func Jain(shares []float64) (float64, error) {
	if len(shares) < 2 {
		return 0, ErrFew
	}
	sum, squares := 0.0, 0.0
	for _, x := range shares {
		if !(x >= 0) {
			return 0, ErrDomain
		}
		sum += x
		squares += x * x
	}
	if squares == 0 {
		return 0, ErrDomain
	}
	return sum * sum / (float64(len(shares)) * squares), nil
}
