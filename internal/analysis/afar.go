package analysis

import (
	"fmt"
	"strconv"

	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/result"
)

// furtherHosts are the facts of the hosts that loaded the subjects from afar, as the first trial that tells of each
// has them, and the worst bound of its clock.
func furtherHosts(p *bench.Plan, trials []launch) (facts []result.Fact) {
	for _, h := range p.Hosts {
		f := result.Fact{Name: "host " + h.Name, Value: fmt.Sprintf("loads from afar, and finds subjects at %v", h.Reach.Addr())}
		kernel, wire, worst := "", "", int64(0)
		for _, t := range trials {
			if t.outcome == nil {
				continue
			}
			for _, a := range t.outcome.Actors {
				if a.Host != h.Name {
					continue
				}
				if a.Facts[bench.FactWire] != "" && wire == "" {
					kernel, wire = a.Version, a.Facts[bench.FactWire]
				}
				worst = max(worst, a.ClockUncertainty)
			}
		}
		if rate, err := strconv.ParseFloat(wire, 64); err == nil {
			f.Value += fmt.Sprintf("; Linux %s; one connection to it carried %s", kernel, figure.Quantity(rate/1e6, "Mbit/s"))
		}
		if worst > 0 {
			f.Value += fmt.Sprintf("; its clock is known to %s", figure.Quantity(float64(worst)/1e6, "ms"))
		}
		facts = append(facts, f)
	}
	return facts
}
