package meter

import (
	"flag"
	"math"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/meter/idle"
)

var seconds = flag.Int("seconds", 0, "windows of one second in which to compare the time of idle CPUs that is not idle with its causes")

// What of the host's busy time no task ran, second by second, against what
// programs at tracepoints measured on CPUs without a task: if that is the cause,
// the one is the other, whatever the host does meanwhile.
func TestIdleCPUsExplainWhatNoTaskRan(t *testing.T) {
	if *seconds == 0 {
		t.Skip("takes as many seconds as -seconds says, of which some must leave CPUs idle")
	}
	if r, err := idle.Open(); err != nil {
		t.Skip(err)
	} else {
		r.Close()
	}
	readers, err := OpenHost()
	if err != nil {
		t.Fatal(err)
	}
	all := func() map[string]float64 {
		now := map[string]float64{"": float64(time.Now().UnixNano()) / 1e9}
		for _, r := range readers {
			for c, v := range read(t, r) {
				now[c] = v
			}
		}
		return now
	}
	var gaps, parts []float64
	for last := all(); len(gaps) < *seconds; {
		time.Sleep(time.Second)
		now := all()
		per := func(column string) float64 { return (now[column] - last[column]) / (now[""] - last[""]) }
		gaps = append(gaps, per(bench.ColCPUBusy)-per(bench.ColCPUTasks))
		parts = append(parts, per(bench.ColIdleIRQ))
		last = now
	}
	slope, below, left, uncertain := line(parts, gaps)
	t.Logf("over %d s: no task ran in %.4f cores, of which measured %.4f; per second the one is %.3f ± %.3f of the other, and %.5f ± %.5f cores",
		len(gaps), mean(gaps), mean(parts), slope, below, left, uncertain)
	if math.Abs(slope-1) > 0.3+3*below || math.Abs(left) > 0.002+3*uncertain {
		t.Error("the time in which no task ran has another cause, too")
	}
}

func mean(v []float64) (m float64) {
	for _, x := range v {
		m += x / float64(len(v))
	}
	return m
}

// line fits y = left + slope x by least squares, with the standard errors of both.
func line(x, y []float64) (slope, slopeError, left, leftError float64) {
	mx, my, sxx, sxy, rest := mean(x), mean(y), 0.0, 0.0, 0.0
	for i := range x {
		sxx += (x[i] - mx) * (x[i] - mx)
		sxy += (x[i] - mx) * (y[i] - my)
	}
	slope = sxy / sxx
	left = my - slope*mx
	for i := range x {
		r := y[i] - left - slope*x[i]
		rest += r * r / float64(len(x)-2)
	}
	return slope, math.Sqrt(rest / sxx), left, math.Sqrt(rest/float64(len(x)) + mx*mx*rest/sxx)
}
