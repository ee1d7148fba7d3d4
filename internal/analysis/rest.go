package analysis

import (
	"errors"
	"io/fs"
	"math"

	"tare/internal/analysis/usage"
	"tare/internal/bench"
	"tare/internal/result"
)

// powers are the windows' power by trial and meter, and the power at rest by
// meter and block.
type powers struct {
	drawn map[string]map[string]meanPower
	idles map[string]map[int]result.IdlePower
	// Cores of the host that were busy in the stretches of rest, by trial: in
	// those that are a rest, and in those that are none.
	busy, noIdle map[string]float64
}

// drawPower works out what every meter told of a window.
func drawPower(sources []bench.PowerSource, readings map[string][]powerReading, window [2]int64) map[string]meanPower {
	out := map[string]meanPower{}
	for _, src := range sources {
		out[src.Name] = draw(readings[src.Name], src, window)
	}
	return out
}

// rest reads the stretches of rest.
func (r *sampleReader) rest(rests []launch, blocks int, p *powers) {
	found := map[int][2]map[string]meanPower{} // by block
	for _, t := range rests {
		out := t.outcome
		if out == nil {
			continue
		}
		if out.Status != bench.Done {
			r.warnings.add("the machine's power at rest, %s, is not known: %s", t.ID, out.Error)
			continue
		}
		readings := map[string][]powerReading{}
		host := &usage.Counters{}
		err := r.run.Samples(t.ID, func(x *bench.Sample) error {
			switch {
			case x.Level == bench.Power:
				readings[x.Meter] = append(readings[x.Meter], newPowerReading(x))
			case x.Level == bench.Host && x.Meter == usage.HostProc.Meter && x.At >= out.Window[0] && x.At <= out.Window[1]:
				host.Add(x)
			}
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.warnings.add("the machine's power at rest, %s, is not known: %v", t.ID, err)
			continue
		}
		if busy, lack := host.Rate(bench.ColCPUBusy, out.Window); lack == "" {
			if busy > quietIdle {
				p.noIdle[t.ID] = busy
				continue
			}
			p.busy[t.ID] = busy
		}
		pair, after := found[t.Block], 0
		if t.ID == bench.IdleID(t.Block, 2) {
			after = 1
		}
		pair[after] = drawPower(r.sources, readings, out.Window)
		found[t.Block] = pair
	}
	for _, src := range r.sources {
		p.idles[src.Name] = map[int]result.IdlePower{}
		for block := 1; block <= blocks; block++ {
			pair := found[block]
			if r, ok := idleOf(block, pair[0][src.Name], pair[1][src.Name]); ok {
				p.idles[src.Name][block] = r
			}
		}
	}
}

// idleOf joins what was drawn before and after a block's trials, as far as known.
func idleOf(block int, before, after meanPower) (result.IdlePower, bool) {
	r := result.IdlePower{Block: block}
	n := 0.0
	for _, side := range []struct {
		meanPower
		into **float64
	}{{before, &r.Before}, {after, &r.After}} {
		if side.why != "" || side.seconds == 0 {
			continue
		}
		w := side.watts
		*side.into = &w
		r.Watts += w
		r.Bound = max(r.Bound, side.bound)
		n++
	}
	if n == 0 {
		return r, false
	}
	r.Watts /= n
	if r.Before != nil && r.After != nil {
		r.Bound += math.Abs(*r.After-*r.Before) / 2
	}
	return r, true
}
