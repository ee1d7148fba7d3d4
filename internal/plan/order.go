package plan

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"

	"tare/internal/bench"
)

// order returns the trials: in each block every scene once. Scenes of one
// [bench.Scene.Family] run one after the other, so that partners of a ratio see
// the same moment of the host: the families of a block are in random order, so are
// the platforms of a family, and so are its scenes on one platform. The second
// block of each two has a family's scenes in the opposite order of the first, so
// that a trend within a family cancels.
//
// The order is reproducible from the seed alone, by this rule: block b (from 1)
// shuffles the families with a generator seeded with (seed, b). Blocks 2p-1 and 2p
// share another, seeded with (seed, 2^63 + p): for each family, in the plan's
// order, it shuffles the platforms, and then the scenes of each platform, in their
// new order; block 2p reverses the family's scenes. A shuffle is Fisher and
// Yates', from the last place i down to 1, exchanging place i with place
// floor(x*(i+1) / 2^64), x being the next 64-bit output of PCG-DXSM
// (math/rand/v2). What is shuffled is in the plan's order at first. More blocks
// leave the first ones as they are.
func order(scenes []bench.Scene, blocks int, seed uint64) []bench.Trial {
	all := families(scenes)
	width := max(2, len(fmt.Sprint(blocks*len(scenes))))
	trials := make([]bench.Trial, 0, blocks*len(scenes))
	for b := 1; b <= blocks; b++ {
		within := rand.NewPCG(seed, 1<<63+uint64(b+1)/2)
		ordered := make([][]string, len(all))
		for k, f := range all {
			ordered[k] = f.shuffled(within)
			if b%2 == 0 {
				slices.Reverse(ordered[k])
			}
		}
		shuffle(ordered, rand.NewPCG(seed, uint64(b)))
		for _, id := range slices.Concat(ordered...) {
			trials = append(trials, bench.Trial{ID: fmt.Sprintf("b%02d-t%0*d", b, width, len(trials)+1), Block: b, Scene: id})
		}
	}
	return trials
}

// family are the scenes that run together, by platform, in the plan's order.
type family struct {
	platforms []string
	scenes    map[string][]string // by platform
}

func families(scenes []bench.Scene) []*family {
	var all []*family
	by := map[string]*family{}
	for i := range scenes {
		s := &scenes[i]
		f := by[s.Family()]
		if f == nil {
			f = &family{scenes: map[string][]string{}}
			all, by[s.Family()] = append(all, f), f
		}
		platform := s.Platform.String()
		if f.scenes[platform] == nil {
			f.platforms = append(f.platforms, platform)
		}
		f.scenes[platform] = append(f.scenes[platform], s.ID)
	}
	return all
}

func (f *family) shuffled(generator *rand.PCG) []string {
	platforms := slices.Clone(f.platforms)
	shuffle(platforms, generator)
	var out []string
	for _, platform := range platforms {
		scenes := slices.Clone(f.scenes[platform])
		shuffle(scenes, generator)
		out = append(out, scenes...)
	}
	return out
}

func shuffle[T any](x []T, generator *rand.PCG) {
	for i := len(x) - 1; i > 0; i-- {
		j, _ := bits.Mul64(generator.Uint64(), uint64(i+1))
		x[i], x[j] = x[j], x[i]
	}
}
