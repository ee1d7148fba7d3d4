package plan

import (
	"math/rand/v2"
)

// exchanges returns for each block which CPU stands in for which, so that what one place does to a
// figure is scatter between blocks and not part of every launch. alike are groups of cores with the
// same neighbours in caches and memory; a core is a list of CPUs, and those of a group are as long.
// A whole core takes the place of another, the observer's among them: who shares what stays. It is
// the same for all scenes of a block, so that a ratio within a block does not hold it.
//
// By this rule, reproducible from the seed: of a group of k cores, k blocks after each other make a
// cycle. In the cycle c (from 0) the numbers 0 to k-1 are shuffled as in [order], by the generator
// seeded with (seed, 2^62 + c). In the cycle's block number i core j is replaced by core j + n modulo
// k, n being the number at place i. So each core is in each place once in a cycle.
func exchanges(alike [][][]int, blocks int, seed uint64) []map[int]int {
	all := make([]map[int]int, blocks)
	some := false
	for _, group := range alike {
		k := len(group)
		if k < 2 {
			continue
		}
		var shifts []int
		for b := range blocks {
			if b%k == 0 {
				shifts = make([]int, k)
				for i := range shifts {
					shifts[i] = i
				}
				shuffle(shifts, rand.NewPCG(seed, 1<<62+uint64(b/k)))
			}
			n := shifts[b%k]
			if n == 0 {
				continue
			}
			some = true
			if all[b] == nil {
				all[b] = map[int]int{}
			}
			for j, core := range group {
				for i, cpu := range core {
					all[b][cpu] = group[(j+n)%k][i]
				}
			}
		}
	}
	if !some {
		return nil
	}
	return all
}
