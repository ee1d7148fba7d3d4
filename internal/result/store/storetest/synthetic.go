// Package storetest makes runs that look like measured ones, for the tests of
// whatever reads a run. Nothing in them was measured.
package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"tare/internal/bench"
	"tare/internal/result/store"
)

// Options of a synthetic run. The zero value is a complete run of 5 blocks of
// native, docker, lxc and qemu-tcg over six cases.
type Options struct {
	Platforms []bench.PlatformRef
	// Cases to include, by name; see [Cases]. Empty includes all.
	Cases   []string
	Blocks  int
	Seconds int // length of each measured window, in samples per source
	Seed    uint64
	// Noise is the standard deviation of the log of a launch's values; 0 is 0.01.
	Noise float64
	// Ratio is the true ratio to native of a throughput, by platform name; see
	// DefaultRatio.
	Ratio map[string]float64
	// Cores are the CPUs that each subject keeps busy; 0 leaves each case its own.
	Cores float64
	// FailEvery makes each n-th trial fail, 0 none.
	FailEvery int
	// Missing leaves out the last n trials, as in a run that was killed.
	Missing int
}

// DefaultRatio is the true ratio to native of a throughput, by platform name.
var DefaultRatio = map[string]float64{
	"native": 1, "docker": 0.995, "lxc": 0.93, "kvm": 0.86, "qemu-tcg": 0.11,
}

func (o Options) withDefaults() Options {
	if len(o.Platforms) == 0 {
		o.Platforms = []bench.PlatformRef{{Name: "native"}, {Name: "docker"}, {Name: "lxc"}, {Name: "qemu-tcg"}}
	}
	if len(o.Cases) == 0 {
		for _, c := range cases {
			o.Cases = append(o.Cases, c.name)
		}
	}
	if o.Blocks == 0 {
		o.Blocks = 5
	}
	if o.Seconds == 0 {
		o.Seconds = 10
	}
	if o.Noise == 0 {
		o.Noise = 0.01
	}
	if o.Ratio == nil {
		o.Ratio = DefaultRatio
	}
	return o
}

// Synthetic writes a run into dir, which must be empty or missing, and opens
// it for reading. The same options give the same bytes.
func Synthetic(tb testing.TB, dir string, o Options) *store.Run {
	tb.Helper()
	o = o.withDefaults()
	g := &generator{Options: o, rng: rand.New(rand.NewPCG(o.Seed, 1)), now: 1_000_000_000_000}
	plan := g.plan()
	r, err := store.Create(dir, header(o), []byte(spec), plan, facts())
	if err != nil {
		tb.Fatal(err)
	}
	for i, t := range plan.Trials[:len(plan.Trials)-o.Missing] {
		fails := o.FailEvery > 0 && (i+1)%o.FailEvery == 0
		outcome, samples := g.trial(t, plan.Scene(t.Scene), fails)
		out := map[string][]byte{}
		for _, a := range outcome.Actors {
			out[a.Actor+".stdout"] = fmt.Appendf(nil, "synthetic output of %s in %s\n", a.Actor, t.ID)
		}
		if err := r.Append(context.Background(), outcome, samples, out); err != nil {
			tb.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		tb.Fatal(err)
	}
	opened, err := store.Open(dir)
	if err != nil {
		tb.Fatal(err)
	}
	return opened
}
