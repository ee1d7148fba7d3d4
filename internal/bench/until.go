package bench

// Until is a stopping rule: blocks of a case go on until the interval of each
// subject's headline metric is narrow enough. It looks at declared points only
// and corrects for looking more than once; it never asks whether an effect is
// significant.
type Until struct {
	// Interval is the half width wanted of the ratio's interval, relative to the ratio, such as 0.03.
	Interval float64 `json:"interval"`
	Min      int     `json:"min"` // blocks before the first look
	Max      int     `json:"max"` // blocks at which everything ends
	// Looks are the numbers of blocks after which the rule is asked, ascending, from Min to Max.
	Looks []int `json:"looks"`
}
