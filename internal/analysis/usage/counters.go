package usage

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"tare/internal/bench"
)

// A Source is one reader of one trial.
type Source struct {
	Level        bench.Level
	Actor, Meter string
}

// A Track follows one source through a trial's measured window without keeping
// its samples: the columns that count, at the first reading and the last two.
type Counters struct {
	columns     []string
	first, last []float64 // NaN where the column was missing
	before      []float64 // the reading before the last
	highest     []float64 // of all readings; NaN if it was never there
	fell        []bool    // the counter went backwards in between
	firstAt     int64     // the instant of the reading, not the one it was due
	lastAt      int64
	n           int
}

// Sources follow all sources of a trial.
type Sources map[Source]*Counters

// Add takes note of a reading that lies within the window.
func (t Sources) Add(s *bench.Sample) {
	key := Source{Level: s.Level, Actor: s.Actor, Meter: s.Meter}
	if t[key] == nil {
		t[key] = &Counters{}
	}
	t[key].Add(s)
}

// counts says whether a column is one that the analysis uses.
func counts(level bench.Level, column string) bool {
	switch column {
	case bench.ColCPUBusy, bench.ColDiskRead, bench.ColDiskWrite, bench.ColNetRx, bench.ColNetTx:
		return true
	case bench.ColSchedExecutions, bench.ColSchedRun, bench.ColSchedWait, bench.ColSchedExits,
		bench.ColSchedVCPUExecutions, bench.ColSchedVCPURun, bench.ColSchedVCPUWait:
		return true
	case bench.ColCPUSteal, bench.ColCPUIRQ, bench.ColCPUSoftIRQ, bench.ColCPUTasks, bench.ColObserver, bench.ColIdleIRQ:
		return level == bench.Host
	}
	if gauge(column) || level == bench.Layer && strings.HasPrefix(column, "disk_") && strings.HasSuffix(column, "_bytes") {
		return true
	}
	return level != bench.Guest && IsPart(column)
}

// IsPart says whether a column is the CPU time of a part that serves an
// instance, not a mode of the CPU.
func IsPart(column string) bool {
	switch column {
	case bench.ColCPUUser, bench.ColCPUSystem, bench.ColCPUNice, bench.ColCPUIdle, bench.ColCPUIOWait,
		bench.ColCPUIRQ, bench.ColCPUSoftIRQ, bench.ColCPUSteal, bench.ColCPUGuest, bench.ColCPUBusy:
		return false
	}
	return strings.HasPrefix(column, "cpu_") && strings.HasSuffix(column, "_s")
}

// grain is by how much a counter may fall without having gone backwards. A
// machine's busy time is found by subtracting three counters of whole ticks (10 ms), so
// between two close readings it may.
func grain(level bench.Level, column string) float64 {
	if column == bench.ColCPUBusy && level != bench.Layer && level != bench.Inner {
		return 3 * 0.01
	}
	return 0
}

// gauge says whether a column is a level, which may fall.
func gauge(column string) bool { return strings.HasPrefix(column, "mem_") }

// Add takes note of a reading of the source within the window.
func (t *Counters) Add(s *bench.Sample) {
	if t.n == 0 {
		for _, c := range slices.Sorted(maps.Keys(s.Values)) {
			if counts(s.Level, c) {
				t.columns = append(t.columns, c)
			}
		}
		t.first, t.last = make([]float64, len(t.columns)), make([]float64, len(t.columns))
		t.before, t.fell = make([]float64, len(t.columns)), make([]bool, len(t.columns))
		t.highest = slices.Repeat([]float64{math.NaN()}, len(t.columns))
		t.firstAt = s.At + s.Late
	}
	for i, c := range t.columns {
		v, ok := s.Values[c]
		if !ok {
			v = math.NaN()
		}
		if t.n == 0 {
			t.first[i] = v
		} else if v < t.last[i]-grain(s.Level, c) && !gauge(c) {
			t.fell[i] = true
		}
		t.before[i], t.last[i] = t.last[i], v
		if ok && !(t.highest[i] >= v) { // true also of NaN
			t.highest[i] = v
		}
	}
	t.lastAt = s.At + s.Late
	t.n++
}

// A Lack says why a quantity could not be measured; "" if it could.
type Lack string

// covering is the share of the window that a source's readings must span.
const covering = 0.8

// Rate is the column's mean rate of change per second over the window.
func (t *Counters) Rate(column string, window [2]int64) (float64, Lack) {
	if t == nil {
		return 0, "was not read"
	}
	span := t.lastAt - t.firstAt
	if span <= 0 || float64(span) < covering*float64(window[1]-window[0]) {
		return 0, "was read over too little of the window"
	}
	i := slices.Index(t.columns, column)
	if i < 0 || math.IsNaN(t.first[i]) || math.IsNaN(t.last[i]) {
		return 0, Lack("lacks " + column)
	}
	if t.fell[i] || t.last[i] < t.first[i] {
		return 0, Lack(column + " went backwards")
	}
	return (t.last[i] - t.first[i]) / (float64(span) / 1e9), ""
}

// Level is the column at the last reading that lies within the window. That at
// its closing edge may come after the program has ended and given its memory
// back; where there are but two, the higher counts.
func (t *Counters) Level(column string) (float64, Lack) {
	if t == nil {
		return 0, "was not read"
	}
	i := slices.Index(t.columns, column)
	if i < 0 || math.IsNaN(t.last[i]) {
		return 0, Lack("lacks " + column)
	}
	switch {
	case t.n == 2:
		return t.highest[i], ""
	case t.n > 2 && !math.IsNaN(t.before[i]):
		return t.before[i], ""
	}
	return t.last[i], ""
}

// most is the highest reading of the column in the window.
func (t *Counters) most(column string) (float64, Lack) {
	if _, why := t.Level(column); why != "" {
		return 0, why
	}
	return t.highest[slices.Index(t.columns, column)], ""
}

// Growth is how much the column grew from the first reading of the window to
// the last, or nil if it was not read.
func (t *Counters) Growth(column string) *float64 {
	if t == nil {
		return nil
	}
	i := slices.Index(t.columns, column)
	if i < 0 || math.IsNaN(t.first[i]) || math.IsNaN(t.last[i]) {
		return nil
	}
	d := t.last[i] - t.first[i]
	return &d
}

func (s Source) String() string {
	return strings.TrimSpace(cmp.Or(s.Actor, string(s.Level)) + "'s " + s.Meter)
}
