package report

import (
	"bytes"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
)

func pooled() result.Case {
	const mib = float64(bench.MiB)
	return result.Case{Title: "Requests", MemoryPool: 512 * bench.MiB, Pools: []result.PoolRow{
		{Platform: "native", Ratio: 1.25, Launches: 3, Used: new(511.6 * mib), Swapped: new(40 * mib), Killed: 2},
		{Platform: "kvm[balloon=yes]", Ratio: 1.25, Launches: 3, Used: new(500 * mib), Swapped: new(0.0),
			Balloon: &result.BalloonRow{Target: 512 * mib, Actual: 530 * mib, MS: 1250, Given: 101 * mib}},
		{Platform: "lxc", Ratio: 1.25, Launches: 3},
	}}
}

func TestPoolInWords(t *testing.T) {
	var b bytes.Buffer
	writeBlocks(&b, poolText(pooled()))
	writeBlocks(&b, poolText(result.Case{}))
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) < 5 || !strings.HasPrefix(lines[0], "POOL OF 512 MiB") {
		t.Fatalf("%q", lines)
	}
	for i, want := range [][]string{{"native", "1.25", "512 MiB", "40 MiB", "in 2 of 3 launches"}, {"kvm[balloon=yes]", "530 MiB of 512 MiB asked", "0 MiB", "101 MiB"}, {"lxc   ", "1.25   –  "}, {"Before anything is measured"}} {
		for _, words := range want {
			if !strings.Contains(lines[1+i], words) {
				t.Errorf("%q lacks %q", lines[1+i], words)
			}
		}
	}
}

func TestPoolOnThePage(t *testing.T) {
	r := synthetic(t)
	r.Cases[0].MemoryPool, r.Cases[0].Pools = pooled().MemoryPool, pooled().Pools
	page := renderHTML(t, r)
	for _, want := range []string{"In the pool of 512 MiB of memory", `data-name="swapped out">40 MiB`, "in 2 of 3 launches", "Balloons to: what the guests had left"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestUnfinishedWords(t *testing.T) {
	beside, pool := result.Case{}, pooled()
	for want, cases := range map[string][]result.Case{
		"did not finish beside the neighbour":                          {beside},
		"did not finish in the pool of memory":                         {pool, pool},
		"did not finish beside the neighbour or in the pool of memory": {pool, beside},
	} {
		if got := unfinishedWords(&result.Result{Cases: cases}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
