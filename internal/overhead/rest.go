package overhead

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"tare/internal/bench"
	"tare/internal/result"
	"tare/internal/usage"
)

// powers are the windows' power by trial and meter, and the power at rest by
// meter and block.
type powers struct {
	drawn map[string]map[string]meanPower
	rests map[string]map[int]result.RestPower
	// Cores of the host that were busy in the stretches of rest, by trial: in
	// those that are a rest, and in those that are none.
	busy, restless map[string]float64
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
func (s *study) rest(p *powers) {
	sources := s.run.Header().Power
	found := map[string][2]map[string]meanPower{} // by block
	for _, t := range s.plan.Rests() {
		out := s.last[t.ID]
		if out == nil {
			continue
		}
		if out.Status != bench.Done {
			s.warn("the machine's power at rest, %s, is not known: %s", t.ID, out.Error)
			continue
		}
		readings := map[string][]powerReading{}
		host := &usage.Track{}
		err := s.run.Samples(t.ID, func(x *bench.Sample) error {
			switch {
			case x.Level == bench.Power:
				readings[x.Meter] = append(readings[x.Meter], newPowerReading(x))
			case x.Level == bench.Host && x.Meter == usage.HostProc.Meter && x.At >= out.Window[0] && x.At <= out.Window[1]:
				host.Add(x)
			}
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.warn("the machine's power at rest, %s, is not known: %v", t.ID, err)
			continue
		}
		if busy, lack := host.Rate(bench.ColCPUBusy, out.Window); lack == "" {
			if busy > quietRest {
				p.restless[t.ID] = busy
				continue
			}
			p.busy[t.ID] = busy
		}
		key := fmt.Sprint(t.Block)
		pair := found[key]
		pair[boolToInt(t.ID == bench.RestID(t.Block, 2))] = drawPower(sources, readings, out.Window)
		found[key] = pair
	}
	for _, src := range sources {
		p.rests[src.Name] = map[int]result.RestPower{}
		for block := 1; block <= s.plan.Blocks; block++ {
			pair := found[fmt.Sprint(block)]
			if r, ok := restOf(block, pair[0][src.Name], pair[1][src.Name]); ok {
				p.rests[src.Name][block] = r
			}
		}
	}
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// restOf joins what was drawn before and after a block's trials, as far as known.
func restOf(block int, before, after meanPower) (result.RestPower, bool) {
	r := result.RestPower{Block: block}
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
