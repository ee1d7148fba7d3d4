package analysis

import (
	"errors"
	"fmt"
	"slices"

	"tare/internal/analysis/effect"
	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/result"
)

// growth gives the places and values of one quantity in one ramp.
type growth func(r *result.DensityRamp) (x, y []float64)

// density works out a scene's ramps; nil if none has finished.
func density(l *launches) *result.DensityRow {
	row := &result.DensityRow{Platform: l.platform, Label: l.label, Memory: []result.Slope{}}
	for _, o := range l.done {
		if o.Density == nil {
			continue
		}
		r := result.DensityRamp{Block: o.Block, Trial: o.Trial, Density: *o.Density}
		for _, a := range o.Actors {
			for _, v := range a.Values {
				if v.Metric == "time_to_first_command" {
					r.Starts = append(r.Starts, v.Value)
				}
			}
		}
		row.Ramps = append(row.Ramps, r)
	}
	if len(row.Ramps) == 0 {
		return nil
	}
	for _, name := range bench.DensityMeters {
		memory := slopeOf(row, name, "MiB", func(r *result.DensityRamp) (x, y []float64) {
			return atSteps(r, func(s *bench.DensityStep) (float64, bool) {
				v, ok := s.Memory[name]
				return v / float64(bench.MiB), ok
			})
		})
		if memory != nil {
			row.Memory = append(row.Memory, *memory)
		}
	}
	row.Start = slopeOf(row, "start", "ms", func(r *result.DensityRamp) (x, y []float64) {
		for i, ms := range r.Starts {
			x, y = append(x, float64(i+1)), append(y, ms)
		}
		return x, y
	})
	row.CPU = slopeOf(row, "cpu", "cores", func(r *result.DensityRamp) (x, y []float64) {
		return atSteps(r, func(s *bench.DensityStep) (float64, bool) { return known(s.CPU) })
	})
	row.Observer = slopeOf(row, "observer", "cores", func(r *result.DensityRamp) (x, y []float64) {
		return atSteps(r, func(s *bench.DensityStep) (float64, bool) { return known(s.Observer) })
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
func atSteps(r *result.DensityRamp, of func(*bench.DensityStep) (float64, bool)) (x, y []float64) {
	for i := range r.Density.Steps {
		if v, ok := of(&r.Density.Steps[i]); ok {
			x, y = append(x, float64(r.Density.Steps[i].Instances)), append(y, v)
		}
	}
	return x, y
}

// slopeOf is that of a quantity over all ramps; nil if no ramp has a line of it.
func slopeOf(row *result.DensityRow, of, unit string, g growth) *result.Slope {
	out := &result.Slope{Of: of, Unit: unit}
	var at0 []float64
	for i := range row.Ramps {
		r := &row.Ramps[i]
		l, err := stats.FitLine(g(r))
		if err != nil {
			continue
		}
		out.Slopes = append(out.Slopes, result.Point{Block: r.Block, Trial: r.Trial, Value: l.Slope})
		at0 = append(at0, l.Intercept)
	}
	if len(out.Slopes) == 0 {
		return nil
	}
	slopes := result.Values(out.Slopes)
	out.PerInstance, out.At0 = stats.Mean(slopes), stats.Mean(at0)
	i, err := stats.MeanInterval(slopes, effect.Confidence)
	switch {
	case errors.Is(err, stats.ErrFew):
		out.Why = effect.TooFew(len(slopes), "block with a slope")
	case err != nil:
		out.Why = err.Error()
	default:
		out.Low, out.High = i.Low, i.High
	}
	return out
}

// densityLoad is the CPU time of tasks that are neither of the instances nor the
// observer's, in cores, over its watched stretches; nil if it is not known.
func densityLoad(c *bench.Density) *float64 {
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

// densityPlace says in one entry where the instances of a ramp may run.
func densityPlace(sc *bench.Scene) result.Placement {
	p := result.Placement{Scene: sc.ID, Actor: fmt.Sprintf("up to %d instances", sc.Ramp.To), Role: bench.Subject}
	for _, a := range sc.Actors {
		p.CPUSet = append(p.CPUSet, a.CPUSet...)
	}
	slices.Sort(p.CPUSet)
	p.CPUSet = slices.Compact(p.CPUSet)
	return p
}
