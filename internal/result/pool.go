package result

// PoolRow is how a platform's instances fared in a scene's pool of memory, by
// the medians of its launches. Sizes in bytes.
type PoolRow struct {
	Platform string  `json:"platform"`
	Label    string  `json:"label,omitempty"`
	Ratio    float64 `json:"ratio"` // memory of the instances by that of the pool
	Launches int     `json:"launches"`
	// Used is the most of the pool, from the first launch on, Swapped the most in
	// swap space; both nil where no launch lasted long enough for a reading.
	Used    *float64 `json:"used,omitempty"`
	Swapped *float64 `json:"swapped,omitempty"`
	// Killed are the launches in which the kernel killed something for want of memory.
	Killed  int         `json:"killed,omitempty"`
	Balloon *BalloonRow `json:"balloon,omitempty"`
}

// BalloonRow is how all instances of a launch together gave memory back.
type BalloonRow struct {
	Target float64 `json:"target"`     // what they were asked to make do with
	Actual float64 `json:"actual"`     // what they had when it had settled
	MS     float64 `json:"ms"`         // of the slowest, until then
	Given  float64 `json:"given_back"` // by how much their monitors' memory fell
}
