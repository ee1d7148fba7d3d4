package plan

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"tare/internal/bench"
)

// On a host of two CPUs subject and peer, and with the peer the observer, change places in one of
// two blocks.
func TestExchangeOfTwoCPUs(t *testing.T) {
	swapped := 0
	for seed := range uint64(200) {
		all := exchanges([][][]int{{{0}, {1}}}, 10, seed)
		p := bench.Plan{Exchanged: all}
		for b := 1; b <= 10; b += 2 {
			first, second := p.CPUsIn(b, []int{1})[0], p.CPUsIn(b+1, []int{1})[0]
			if first == second {
				t.Fatalf("seed %d: the subject is on CPU %d in blocks %d and %d", seed, first, b, b+1)
			}
			if peer := p.CPUsIn(b, []int{0})[0]; peer == first {
				t.Fatalf("seed %d, block %d: peer and subject are both on CPU %d", seed, b, peer)
			}
			if first == 0 {
				swapped++
			}
		}
		if again := exchanges([][][]int{{{0}, {1}}}, 4, seed); !reflect.DeepEqual(again, all[:4]) {
			t.Fatalf("seed %d: with fewer blocks the first are others", seed)
		}
	}
	if swapped < 400 || swapped > 600 { // of 1000, chance alone: 6 standard deviations
		t.Errorf("of 1000 pairs of blocks %d begin with the places exchanged", swapped)
	}
}

// Whole cores take each other's place, each place once in a cycle, and none leaves its group.
func TestExchangeOfCores(t *testing.T) {
	alike := [][][]int{{{0, 4}, {1, 5}, {2, 6}}, {{3, 7}}, {{8}, {9}}}
	p := bench.Plan{Exchanged: exchanges(alike, 6, 7)}
	for _, cycle := range [][]int{{1, 2, 3}, {4, 5, 6}} {
		var firsts []int
		for _, b := range cycle {
			core := p.CPUsIn(b, []int{1, 5})
			if core[1] != core[0]+4 || core[0] > 2 {
				t.Errorf("block %d: core 1,5 is at %v", b, core)
			}
			firsts = append(firsts, core[0])
			all := p.CPUsIn(b, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
			if len(slices.Compact(all)) != 10 {
				t.Errorf("block %d: two CPUs are at one place: %v", b, all)
			}
			if got := p.CPUsIn(b, []int{3, 7}); !slices.Equal(got, []int{3, 7}) {
				t.Errorf("block %d: a core like no other is at %v", b, got)
			}
		}
		if slices.Sort(firsts); !slices.Equal(firsts, []int{0, 1, 2}) {
			t.Errorf("blocks %v: the core was at %v", cycle, firsts)
		}
	}
	if got := exchanges([][][]int{{{0}}, {{1}}}, 5, 1); got != nil {
		t.Errorf("nothing is alike, and yet %v", got)
	}
	if a, b := exchanges(alike, 6, 7), exchanges(alike, 6, 7); !slices.EqualFunc(a, b, maps.Equal) {
		t.Error("the same seed gives other places")
	}
}
