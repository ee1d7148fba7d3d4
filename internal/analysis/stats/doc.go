// Package stats holds the estimators behind every number in a report. It knows
// numbers, not trials. The choice of methods is argued in docs/methodology/statistics.md.
//
// Every function is deterministic: where resampling needs chance, the seed is
// made from the data.
package stats

import "errors"

// ErrFew says that there are too few values for what was asked.
var ErrFew = errors.New("too few values")

// ErrDomain says that a value cannot enter the computation: a ratio that is
// not positive, a number that is not finite.
var ErrDomain = errors.New("value out of domain")
