package report

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/bench/figure"
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
		v := poolView{p.Name(), []string{figure.Digits(p.Ratio, 3), "–", "–", "–", "–", "–", "–"}}
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

func poolText(c result.Case) []block {
	columns := []column[poolView]{{"POOL OF " + c.MemoryPool.String(), func(v poolView) string { return v.Name }}}
	for i, head := range poolHeads {
		columns = append(columns, column[poolView]{strings.ToUpper(head), func(v poolView) string { return v.Cells[i] }})
	}
	doc := []block{table[poolView]{rows: poolsOf(c), columns: columns}}
	if ballooned(c) {
		doc = append(doc, said{balloonNote})
	}
	return doc
}
