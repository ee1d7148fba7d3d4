package plan

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"

	"tare/internal/bench"
)

// order returns the trials: in each block every scene once, in random order, so
// that a drift of the host falls on all platforms alike.
//
// The order is reproducible from the seed alone, by this rule: block b (from 1)
// shuffles the plan's scenes by Fisher and Yates, from the last place i down to
// 1, exchanging place i with place floor(x*(i+1) / 2^64), x being the next
// 64-bit output of the generator PCG-DXSM (math/rand/v2) seeded with (seed, b).
// Blocks do not depend on each other: more blocks leave the first ones as they are.
func order(scenes []bench.Scene, blocks int, seed uint64) []bench.Trial {
	width := max(2, len(fmt.Sprint(blocks*len(scenes))))
	trials := make([]bench.Trial, 0, blocks*len(scenes))
	for b := 1; b <= blocks; b++ {
		for _, s := range shuffled(scenes, seed, uint64(b)) {
			trials = append(trials, bench.Trial{
				ID: fmt.Sprintf("b%02d-t%0*d", b, width, len(trials)+1), Block: b, Scene: s.ID,
			})
		}
	}
	return trials
}

func shuffled(scenes []bench.Scene, seed, block uint64) []bench.Scene {
	out := slices.Clone(scenes)
	generator := rand.NewPCG(seed, block)
	for i := len(out) - 1; i > 0; i-- {
		j, _ := bits.Mul64(generator.Uint64(), uint64(i+1))
		out[i], out[j] = out[j], out[i]
	}
	return out
}
