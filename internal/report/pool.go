package report

import (
	"fmt"
	"io"
	"slices"

	"tare/internal/bench"
	"tare/internal/figure"
	"tare/internal/result"
)

// poolHeads are the columns of a case's pool of memory, beside the platform.
var poolHeads = []string{"ratio", "used", "swapped out", "killed", "balloons to", "within", "given back"}

// balloonNote says how to read the columns of balloons.
const balloonNote = "Before anything is measured a machine's balloon is asked to grow until the guest makes do with its share of the pool. " +
	"Balloons to: what the guests had left when that had settled, of what was asked if they kept more; within: how long it took; " +
	"given back: by how much less memory of the host their monitors had then. A guest that had not touched the memory gives none of it back."

// ballooned reports whether a platform of the case has balloons.
func ballooned(c result.Case) bool {
	return slices.ContainsFunc(c.Pools, func(p result.PoolRow) bool { return p.Balloon != nil })
}

// poolView is how a platform fared in a pool of memory.
type poolView struct {
	Name  string
	Cells []string
}

func poolsOf(c result.Case) []poolView {
	var views []poolView
	for _, p := range c.Pools {
		v := poolView{labelled(p.Platform, p.Label), []string{fmt.Sprintf("%.3g", p.Ratio), "–", "–", "–", "–", "–", "–"}}
		if p.Used != nil {
			v.Cells[1], v.Cells[2] = mebibytes(*p.Used), mebibytes(*p.Swapped)
		}
		if p.Killed > 0 {
			v.Cells[3] = fmt.Sprintf("in %d of %d launches", p.Killed, p.Launches)
		}
		if b := p.Balloon; b != nil {
			v.Cells[4] = mebibytes(b.Actual)
			if b.Actual > b.Target {
				v.Cells[4] += " of " + mebibytes(b.Target) + " asked"
			}
			v.Cells[5], v.Cells[6] = figure.Quantity(b.MS, "ms"), mebibytes(b.Given)
		}
		views = append(views, v)
	}
	return views
}

func mebibytes(bytes float64) string {
	return fmt.Sprintf("%.0f MiB", bytes/float64(bench.MiB))
}

// poolText writes them.
func poolText(out io.Writer, c result.Case) {
	views := poolsOf(c)
	if len(views) == 0 {
		return
	}
	var t table
	t.row("  POOL OF "+c.MemoryPool.String(), "RATIO", "USED", "SWAPPED OUT", "KILLED", "BALLOONS TO", "WITHIN", "GIVEN BACK")
	for _, v := range views {
		t.row(append([]string{"  " + v.Name}, v.Cells...)...)
	}
	t.write(out)
	if ballooned(c) {
		paragraph(out, "  ", "  ", balloonNote)
	}
}

// unfinishedWords is what launches did that did not finish, by what the run's
// cases asked of them.
func unfinishedWords(r *result.Result) string {
	pool := func(c result.Case) bool { return c.MemoryPool > 0 }
	switch first := slices.IndexFunc(r.Cases, pool); {
	case first < 0:
		return "did not finish beside the neighbour"
	case slices.ContainsFunc(r.Cases, func(c result.Case) bool { return !pool(c) }):
		return "did not finish beside the neighbour or in the pool of memory"
	}
	return "did not finish in the pool of memory"
}
