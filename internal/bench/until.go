package bench

import "time"

// Until is a stopping rule: a platform ends in a case when the interval of its ratio decides, or is
// narrow enough. It looks at declared points only and corrects for repeated looks.
type Until struct {
	// Interval is the half width of the ratio's interval that is narrow enough, relative to the
	// ratio, such as 0.03.
	Interval float64 `json:"interval"`
	Min      int     `json:"min"` // blocks before the first look
	Max      int     `json:"max"` // blocks at which everything ends
	// Budget is the time for all trials in nanoseconds. Beyond the blocks of Min, trials for which
	// it does not suffice are not begun. 0 is no limit.
	Budget time.Duration `json:"budget,omitempty"`
	// Looks are the numbers of blocks after which the rule is evaluated, ascending, from Min to
	// Max.
	Looks []int `json:"looks"`
}
