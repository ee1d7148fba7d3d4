package report

import (
	"strings"
	"testing"

	"tare/internal/result"
)

func TestBalanceSaysWhereThePartsDoNotSum(t *testing.T) {
	gap := func(v float64) *float64 { return &v }
	r := &result.Result{Cases: []result.Case{{Name: "disk", Title: "Disk", Usage: []result.Usage{
		{Platform: "native", GuestCPU: result.Known(0.3), OtherCPU: result.Known(0.19), BusyCPU: result.Known(0.5), Unattributed: result.Known(0.01), UnattributedShare: gap(0.02)},
		{Platform: "docker", GuestCPU: result.Known(0.3), LayerCPU: result.Known(0.1), OtherCPU: result.Known(0.13), BusyCPU: result.Known(0.5), Unattributed: result.Known(-0.03), UnattributedShare: gap(-0.06)},
		{Platform: "lxc"},
	}}}}
	const want = "within 3 % in 1 of 2 rows (1 not measured); the largest gap is -6.0 %, of 0.500 cores, with docker in disk."
	if got := balanceAnswer(r); !strings.HasSuffix(got, want) {
		t.Errorf("%q does not end in %q", got, want)
	}
	rows := balancesOf(r)
	if len(rows) != 3 || rows[0].Beyond || !rows[1].Beyond || rows[2].Beyond {
		t.Errorf("beyond the limit: %+v", rows)
	}
	if rows[0].Sum != "0.490" || rows[0].Whole != "0.500" || rows[1].Gap != "-6.0\u00a0%" || rows[2].Sum != "–" || rows[2].Gap != "not measured" {
		t.Errorf("rows %+v", rows)
	}

	r.Cases[0].Usage = r.Cases[0].Usage[2:]
	if got := balanceAnswer(r); !strings.Contains(got, "not measured") {
		t.Errorf("without any sum: %q", got)
	}
	if got := balanceAnswer(&result.Result{}); got != "" {
		t.Errorf("without usage: %q", got)
	}
}
