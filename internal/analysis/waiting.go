package analysis

import (
	"cmp"
	"fmt"

	"tare/internal/analysis/stats"
	"tare/internal/analysis/usage"
	"tare/internal/bench"
	"tare/internal/result"
)

const (
	// mostIdle is the share of a CPU that a program of mere computing or serving may leave idle.
	mostIdle = 0.9
	// leastMoved is the traffic of a disk or a network, in bytes per second, from which on waiting for
	// it may be the work.
	leastMoved = 64 << 10
)

// waiting is the share of their CPUs that a launch's subjects left idle, where they waited for nothing
// that could be seen; 0 where they worked, or where that is not known.
func waiting(u *usage.Launch, cpus float64) float64 {
	cpu, known := usedBy(u, bench.UsageMetrics[0].Name)
	if !known || cpus == 0 {
		return 0
	}
	moved := 0.0
	for _, m := range []result.Measured{u.GuestDiskRead, u.GuestDiskWrite, u.NetRx, u.NetTx} {
		moved += m.Value // 0 where it is not known
	}
	if idle := 1 - cpu/cpus; idle > mostIdle && moved < leastMoved {
		return idle
	}
	return 0
}

// waitingOf is the median over the finished launches, 0 if any of them worked. What stresses a disk or
// a network waits for it, and what is short of memory for swap space.
func waitingOf(l *launches, resource string) float64 {
	if k := l.scene.Kind; !k.Sampled() || k == bench.Ramped || resource == "disk" || resource == "network" ||
		l.scene.MemoryPool > 0 || l.scene.Conditions[bench.CondSwap] != "" {
		return 0
	}
	cpus := 0.0 // one for each subject, or as much as it may use
	for _, a := range l.scene.Actors {
		if a.Role.OfSubject() {
			cpus += min(1, cmp.Or(a.Shape.CPUQuota, 1))
		}
	}
	var shares []float64
	for _, u := range l.used {
		share := waiting(u, cpus)
		if share == 0 {
			return 0
		}
		shares = append(shares, share)
	}
	if len(shares) == 0 {
		return 0
	}
	return stats.Median(shares)
}

// questionWaiting takes back what is said of the rate of a program that mostly waits on the baseline:
// it tells how long the program waits. In turns, subject and baseline share a launch.
func questionWaiting(c *caseData, rows []result.Row) {
	by := map[string]float64{}
	for _, l := range c.scenes {
		of := l
		if l.scene.Turns == 0 {
			of = c.base
		}
		if of != nil {
			by[l.platform] = waitingOf(of, c.result.Resource)
		}
	}
	for i := range rows {
		row := &rows[i]
		share := by[row.Platform]
		if share == 0 || row.Metric.Better != bench.HigherIsBetter || !row.Metric.Headline || row.Effect == nil || !row.Effect.HasRatio() {
			continue
		}
		row.Effect.Waiting, row.Effect.Verdict = share, result.Inconclusive
		row.Effect.AddWhy(fmt.Sprintf("the program waits %.0f %% of the time: give it more to do, or measure how long a request takes", 100*share))
	}
}
