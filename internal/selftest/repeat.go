package selftest

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"tare/internal/analysis/stats"
	"tare/internal/bench"
)

// TurnsSuffix ends the name of a case that is another one in turns.
const TurnsSuffix = "-in-turns"

// A RepeatRow says how long each way of repeating takes until a platform's ratio to the baseline is
// known to within a half width, by how launches scattered and what they cost. Seconds are of the
// platform's launches, and of the baseline's divided among the platforms that share them.
type RepeatRow struct {
	Case     string `json:"case"`
	Platform string `json:"platform"`
	// Tare has the baseline twice a block or, where the case has them, takes turns with it.
	Tare float64 `json:"tare_s"`
	// Blocks has each side once a block, as quick once had it.
	Blocks float64 `json:"blocks_s"`
	// Hyperfine has one side ten times or more, then the other; Phoronix three times or more.
	Hyperfine float64 `json:"hyperfine_s"`
	Phoronix  float64 `json:"phoronix_s"`
}

// The levels of the intervals: Tare's bear looking again and again, those of others do not.
const (
	lookedLevel = 0.98
	plainLevel  = 0.95
)

// Repeating works the rows of a run out that was not stopped, in which the baseline has a control.
// A case with a twin in turns (see [TurnsSuffix]) makes one row of both. The half width is a share of
// the ratio. Rows with fewer than three blocks are left out.
func Repeating(r Ran, width float64) ([]RepeatRow, error) {
	m, err := measuredOf(r)
	if err != nil {
		return nil, fmt.Errorf("ways of repeating: %w", err)
	}
	var rows []RepeatRow
	for i := range r.Plan.Scenes {
		sc := &r.Plan.Scenes[i]
		if sc.Control || sc.Platform.String() == r.Plan.Baseline || strings.HasSuffix(sc.Case, TurnsSuffix) {
			continue
		}
		parted, err := m.sides(sc.Case, sc.Platform)
		if err != nil {
			return nil, err
		}
		ours := parted
		if m.has(sc.Case + TurnsSuffix) {
			if ours, err = m.sides(sc.Case+TurnsSuffix, sc.Platform); err != nil {
				return nil, err
			}
		}
		if min(len(parted.plain), len(ours.twice)) < 3 {
			continue
		}
		apart := math.Hypot(stats.StdDev(parted.platform), stats.StdDev(parted.baseline))
		rows = append(rows, RepeatRow{Case: sc.Case, Platform: sc.Platform.String(),
			Tare:      float64(launches(3, width, lookedLevel, 1, stats.StdDev(ours.twice))) * (ours.cost + ours.twiceShared),
			Blocks:    float64(launches(3, width, plainLevel, 1, stats.StdDev(parted.plain))) * (parted.cost + parted.shared),
			Hyperfine: float64(launches(10, width, plainLevel, 2, apart)) * (parted.cost + parted.shared),
			Phoronix:  float64(launches(3, width, plainLevel, 2, apart)) * (parted.cost + parted.shared),
		})
	}
	return rows, nil
}

// sides are a platform's and the baseline's launches in a case, in logarithms.
type sides struct {
	platform, baseline []float64
	plain, twice       []float64 // ratios within a block, to one launch of the baseline and as Tare has them
	// Seconds of a launch of the platform, and of the baseline for each platform: of one launch, and
	// of all that twice rests on.
	cost, shared, twiceShared float64
}

func (m *measured) has(name string) bool { return m.plan.Metrics[name] != nil }

func (m *measured) sides(name string, on bench.PlatformRef) (s sides, err error) {
	var p, b, c string
	sharing := 0
	for i := range m.plan.Scenes {
		sc := &m.plan.Scenes[i]
		switch platform := sc.Platform.String(); {
		case sc.Case != name:
			continue
		case sc.Control:
			c = sc.ID
		case platform == m.plan.Baseline:
			b = sc.ID
		default:
			sharing++
		}
		if sc.Platform.String() == on.String() {
			p = sc.ID
		}
	}
	turns := strings.HasSuffix(name, TurnsSuffix)
	if turns { // a value is a ratio to the baseline already, and the baseline's own trial the control
		c = b
	}
	if p == "" || b == "" || c == "" {
		return s, fmt.Errorf("ways of repeating: case %s on %s lacks the platform, the baseline or the control: %w", name, on, bench.ErrInvalid)
	}
	for block := 1; block <= m.whole; block++ {
		x, y, z := m.found[p][block], m.found[b][block], m.found[c][block]
		if !(x > 0 && y > 0 && z > 0) {
			continue
		}
		x, y, z = math.Log(x), math.Log(y), math.Log(z)
		s.platform, s.baseline = append(s.platform, x), append(s.baseline, y)
		ratio := x - (y+z)/2
		if turns {
			ratio = x
		}
		s.plain, s.twice = append(s.plain, x-y), append(s.twice, ratio)
		s.cost += m.took[p][block]
		s.shared += m.took[b][block]
	}
	n := float64(max(1, len(s.plain)))
	s.cost, s.shared = s.cost/n, s.shared/n/float64(max(1, sharing))
	if s.twiceShared = 2 * s.shared; turns {
		s.twiceShared = s.shared
	}
	return s, nil
}

// mostLaunches bounds the search.
const mostLaunches = 100_000

// launches is how many of a side it takes, at least so many, until Student's interval of the level
// around a mean of values that scatter so has the half width. Groups is 2 where each side has a mean
// of its own.
func launches(least int, width, level float64, groups int, sd float64) int {
	wanted := math.Log1p(width)
	for n := least; n < mostLaunches; n++ {
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(groups * (n - 1))}.Quantile((1 + level) / 2)
		if t*sd/math.Sqrt(float64(n)) <= wanted {
			return n
		}
	}
	return mostLaunches
}
