package analysis

import (
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
)

// What only a checkpoint has is no gap in the figures of a machine that moved live.
func TestFiguresOfOneKindOfMove(t *testing.T) {
	r := analyze(t, crafted{
		metric:   bench.Metric{Name: "dump", Unit: "ms", Better: bench.LowerIsBetter, Combine: bench.Mean, Of: bench.Checkpointing},
		platform: []string{"qemu-tcg", "runc"}, blocks: 3,
		kind:   map[string]bench.SceneKind{"qemu-tcg": bench.Migration, "runc": bench.Checkpointing},
		values: map[string][]float64{"qemu-tcg": {1, 1, 1}, "runc": {150, 160, 155}},
	}.write(t))
	c := r.Cases[0]
	if len(c.Rows) != 1 || c.Rows[0].Platform != "runc" || c.Rows[0].Median != 155 || c.Resource != "migration" {
		t.Fatalf("%+v", c.Rows)
	}
	if e := c.Rows[0].Effect; e.Verdict != result.Refused || !strings.Contains(e.Why, "moves in another way") {
		t.Errorf("%+v", e)
	}
}
