package overhead

import (
	"errors"
	"fmt"
	"slices"

	"tare/internal/bench"
	"tare/internal/stats"
)

// CrowdRow is what the ramps of one platform found: how memory, start-up, CPU
// time and the cost of observing grow with the number of idle instances.
type CrowdRow struct {
	Platform string `json:"platform"`
	Label    string `json:"label,omitempty"`
	// Memory has an entry per meter that could be read, in the order of bench.CrowdMeters.
	Memory []Slope `json:"memory"`
	// Start is the time to the end of the first command, by the launch's place in the order; "ms".
	Start *Slope `json:"start,omitempty"`
	// CPU is of the idle crowd with what serves it; "cores".
	CPU *Slope `json:"cpu,omitempty"`
	// Observer is what sampling it once a second cost Tare; "cores".
	Observer *Slope `json:"observer,omitempty"`
	// Ramps are the finished ones in block order.
	Ramps []CrowdRamp `json:"ramps"`
}

// Slope is how a quantity grows with each instance: a line of least squares in
// each block, and the mean of the blocks' slopes with its interval. The steps of one
// ramp are no independent repeats; the blocks are.
type Slope struct {
	Of   string `json:"of"` // a meter of memory, or "start", "cpu", "observer"
	Unit string `json:"unit"`
	// PerInstance is the mean slope; Low and High bound its 95 % interval, both 0 where Why says that there is none.
	PerInstance float64 `json:"per_instance"`
	Low         float64 `json:"low"`
	High        float64 `json:"high"`
	// At0 is the mean intercept: what is there without any instance, such as a daemon.
	At0 float64 `json:"at_0"`
	// Slopes are the blocks'.
	Slopes []Point `json:"slopes"`
	Why    string  `json:"why,omitempty"`
}

// HasInterval says whether Low and High bound the slope.
func (s *Slope) HasInterval() bool { return s.Why == "" }

// At is the mean line's value at so many instances.
func (s *Slope) At(n int) float64 { return s.At0 + s.PerInstance*float64(n) }

// CrowdRamp is one ramp: a launch of the scene.
type CrowdRamp struct {
	Block int         `json:"block"`
	Trial string      `json:"trial"`
	Crowd bench.Crowd `json:"crowd"`
	// Starts are the launches' times to the end of the first command, in their order, milliseconds.
	Starts []float64 `json:"starts_ms"`
}

// growth gives the places and values of one quantity in one ramp.
type growth func(r *CrowdRamp) (x, y []float64)

// crowd works out a scene's ramps; nil if none has finished.
func (s *study) crowd(sc *bench.Scene) *CrowdRow {
	row := &CrowdRow{Platform: sc.Platform.String(), Label: s.labels[sc.Platform.String()], Memory: []Slope{}}
	for _, o := range s.done(sc.ID) {
		if o.Crowd == nil {
			continue
		}
		r := CrowdRamp{Block: o.Block, Trial: o.Trial, Crowd: *o.Crowd}
		for _, a := range o.Actors {
			for _, v := range a.Values {
				if v.Metric == "first_command" {
					r.Starts = append(r.Starts, v.Value)
				}
			}
		}
		row.Ramps = append(row.Ramps, r)
	}
	if len(row.Ramps) == 0 {
		return nil
	}
	for _, name := range bench.CrowdMeters {
		memory := row.slope(name, "MiB", func(r *CrowdRamp) (x, y []float64) {
			return atSteps(r, func(s *bench.CrowdStep) (float64, bool) {
				v, ok := s.Memory[name]
				return v / float64(bench.MiB), ok
			})
		})
		if memory != nil {
			row.Memory = append(row.Memory, *memory)
		}
	}
	row.Start = row.slope("start", "ms", func(r *CrowdRamp) (x, y []float64) {
		for i, ms := range r.Starts {
			x, y = append(x, float64(i+1)), append(y, ms)
		}
		return x, y
	})
	row.CPU = row.slope("cpu", "cores", func(r *CrowdRamp) (x, y []float64) {
		return atSteps(r, func(s *bench.CrowdStep) (float64, bool) { return known(s.CPU) })
	})
	row.Observer = row.slope("observer", "cores", func(r *CrowdRamp) (x, y []float64) {
		return atSteps(r, func(s *bench.CrowdStep) (float64, bool) { return known(s.Observer) })
	})
	return row
}

func known(v *float64) (float64, bool) {
	if v == nil {
		return 0, false
	}
	return *v, true
}

// atSteps are a ramp's sizes with the quantity there, as far as it is known.
func atSteps(r *CrowdRamp, of func(*bench.CrowdStep) (float64, bool)) (x, y []float64) {
	for i := range r.Crowd.Steps {
		if v, ok := of(&r.Crowd.Steps[i]); ok {
			x, y = append(x, float64(r.Crowd.Steps[i].Instances)), append(y, v)
		}
	}
	return x, y
}

// slope is that of a quantity over all ramps; nil if no ramp has a line of it.
func (row *CrowdRow) slope(of, unit string, g growth) *Slope {
	out := &Slope{Of: of, Unit: unit}
	var at0 []float64
	for i := range row.Ramps {
		r := &row.Ramps[i]
		l, err := stats.FitLine(g(r))
		if err != nil {
			continue
		}
		out.Slopes = append(out.Slopes, Point{r.Block, r.Trial, l.Slope})
		at0 = append(at0, l.Intercept)
	}
	if len(out.Slopes) == 0 {
		return nil
	}
	slopes := values(out.Slopes)
	out.PerInstance, out.At0 = stats.Mean(slopes), stats.Mean(at0)
	i, err := stats.MeanInterval(slopes, confidence)
	switch {
	case errors.Is(err, stats.ErrFew):
		out.Why = fmt.Sprintf("%s with a slope; an interval needs at least %d", blocks(len(slopes)), stats.MinPairs)
	case err != nil:
		out.Why = err.Error()
	default:
		out.Low, out.High = i.Low, i.High
	}
	return out
}

// crowdLoad is the CPU time of tasks that are neither of the crowd nor the
// observer's, in cores, over its watched stretches; nil if it is not known.
func crowdLoad(c *bench.Crowd) *float64 {
	var sum float64
	for _, s := range c.Steps {
		host, ok := known(s.HostCPU)
		own, also := known(s.CPU)
		observer, too := known(s.Observer)
		if !ok || !also || !too {
			return nil
		}
		sum += max(0, host-own-observer)
	}
	if len(c.Steps) == 0 {
		return nil
	}
	sum /= float64(len(c.Steps))
	return &sum
}

// crowdPlace says in one entry where the instances of a ramp may run.
func crowdPlace(sc *bench.Scene) Placement {
	p := Placement{Scene: sc.ID, Actor: fmt.Sprintf("up to %d instances", sc.Ramp.To), Role: bench.Subject}
	for _, a := range sc.Actors {
		p.CPUSet = append(p.CPUSet, a.CPUSet...)
	}
	slices.Sort(p.CPUSet)
	p.CPUSet = slices.Compact(p.CPUSet)
	return p
}
