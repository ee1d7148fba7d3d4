package bench

import (
	"math"
	"strconv"
	"time"
)

// LevelNumber reads a factor's level that is a number, a size in bytes or a duration in seconds.
func LevelNumber(level string) (float64, bool) {
	if v, err := strconv.ParseFloat(level, 64); err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) {
		return v, true
	}
	if b, err := ParseBytes(level); err == nil {
		return float64(b), true
	}
	if d, err := time.ParseDuration(level); err == nil {
		return d.Seconds(), true
	}
	return 0, false
}
