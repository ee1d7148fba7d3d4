package result

import "tare/internal/bench"

// HostWatch is how usable the host was while a case had an adversary,
// over all launches.
type HostWatch struct {
	Case     string `json:"case"`
	Title    string `json:"title"`
	Platform string `json:"platform"`
	Label    string `json:"label,omitempty"`
	// P50, P99 and Max are of the time in which the host started a program,
	// milliseconds, over all Starts of all launches together; P99 is the smallest start not below 99 of 100.
	P50    float64 `json:"p50_ms"`
	P99    float64 `json:"p99_ms"`
	Max    float64 `json:"max_ms"`
	Starts int     `json:"starts"`
	// Available is the least memory there was for new programs, in bytes.
	Available bench.Bytes `json:"available"`
	OOMInside int         `json:"oom_inside"`  // processes killed for want of memory in the containments
	OOM       int         `json:"oom_outside"` // and elsewhere on the host, by whatever
	Peak      int         `json:"pids_peak"`
	// Died are processes older than a minute that were gone at the end, of themselves or not.
	Died     []string `json:"died,omitempty"`
	Ended    []string `json:"ended,omitempty"` // why the watchdog ended launches
	Overdue  int      `json:"overdue,omitempty"`
	Launches int      `json:"launches"`
}
