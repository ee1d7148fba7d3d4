package analysis

import (
	"slices"

	"tare/internal/analysis/usage"
	"tare/internal/bench"
)

// used are those of [bench.UsageMetrics] that launches of the scenes have. In turns, and while
// instances are added, a window holds more than the subjects' own work.
func used(scenes []*launches) []bench.Metric {
	var all []bench.Metric
	for _, m := range bench.UsageMetrics {
		if slices.ContainsFunc(scenes, func(l *launches) bool {
			k := l.scene.Kind
			return k.Sampled() && k != bench.Ramped && l.scene.Turns == 0 && len(l.points(m.Name)) > 0
		}) {
			all = append(all, m)
		}
	}
	return all
}

// usedBy is the value of one of [bench.UsageMetrics] in a launch; not known of another metric, and
// where a meter lacks something.
func usedBy(u *usage.Launch, metric string) (v float64, known bool) {
	if u == nil {
		return 0, false
	}
	switch metric {
	case bench.UsageMetrics[0].Name:
		return u.GuestCPU.Value + u.LayerCPU.Value, (u.GuestCPU.Known || u.GuestInLayer) && u.LayerCPU.Known
	case bench.UsageMetrics[1].Name:
		return 1 + u.LayerCPU.Value/u.GuestCPU.Value, u.GuestCPU.Known && u.LayerCPU.Known && u.GuestCPU.Value > 0
	case bench.UsageMetrics[2].Name:
		return (u.GuestMem.Value + u.LayerMem.Value) / float64(bench.MiB), (u.GuestMem.Known || u.GuestInLayer) && u.LayerMem.Known
	}
	return 0, false
}
