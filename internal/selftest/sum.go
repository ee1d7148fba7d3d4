package selftest

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/bench/figure"
	"tare/internal/result"
)

// sumCases are the workloads of the built-in experiments, as the quick one has them.
const sumCases = `
  - {name: cpu, title: "Finding primes, one thread", workload: sysbench-cpu}
  - {name: memory, title: Memory bandwidth, workload: stream, optional: true}
  - name: disk-randread
    title: Disk, random reads of 4 KiB
    workload: fio
    params: {rw: randread, bs: 4KiB, size: 64MiB}
  - name: net-stream
    title: Network, sending 16 KiB at a time
    workload: netperf
    params: {test: TCP_STREAM, message-size: 16KiB}
  - name: net-rr
    title: Network, request and response of 1 KiB
    workload: netperf
    params: {test: TCP_RR, message-size: 1KiB}
`

// SumSpec writes the experiment whose parts are summed. The counters of the host
// are of 10 ms, so the window is not made shorter than that of the quick one.
func SumSpec(platforms []string, blocks int) []byte {
	var b strings.Builder
	fmt.Fprint(&b, "name: selftest-sum\ntitle: Do guest, layer and rest sum to the whole?\nplatforms:\n")
	for _, p := range platforms {
		fmt.Fprintf(&b, "  - %q\n", p)
	}
	fmt.Fprintf(&b, "baseline: %q\nshape: {cpus: 1, memory: 1GiB, disk: 1GiB}\n", platforms[0])
	fmt.Fprintf(&b, "timing: {warmup: 1s, measure: 3s, cooldown: 300ms}\nblocks: %d\nscenes:%s", blocks, sumCases)
	return []byte(b.String())
}

// quiet is how many cores the rest of the host uses at the most where nothing but
// the trials is at work. CPUs kept busy by other work neither wake nor idle, which
// is what is hard to attribute: there, a sum that is right proves little.
const quiet = 0.3

// Sum is how far the parts that are measured apart sum to the host's own counter.
type Sum struct {
	Rows []SumRow `json:"rows"`
	// Within are the rows with a gap of at most 3 %, of those that have one.
	Within  Proportion `json:"within"`
	Lacking int        `json:"lacking"` // rows of which a part is not known
	// Disturbed are the rows that have a gap in which other work kept the host busy.
	Disturbed int `json:"disturbed"`
}

// SumRow is the CPU of one platform's trials in one case, in cores.
type SumRow struct {
	Case     string  `json:"case"`
	Platform string  `json:"platform"`
	Label    string  `json:"label,omitempty"`
	Launches int     `json:"launches"`
	Guest    float64 `json:"guest_cpu"`
	Layer    float64 `json:"layer_cpu"`
	Others   float64 `json:"actors_cpu"` // the far ends of network tests, their layers included
	Other    float64 `json:"other_cpu"`
	Sum      float64 `json:"sum_cpu"`  // of the above
	Busy     float64 `json:"busy_cpu"` // the host's own counter
	// Gap is what of Busy is in none of the parts, as a share of it; nil if a part
	// is not known, which Why says; the parts say nothing then.
	Gap    *float64 `json:"gap"`
	Within bool     `json:"within"` // 3 %
	Why    string   `json:"why,omitempty"`
}

// EvaluateSum reads the sums off an analyzed run.
func EvaluateSum(r *result.Result) *Sum {
	s := &Sum{}
	within, known := 0, 0
	for _, b := range r.Balances() {
		row := SumRow{Case: b.Case, Platform: b.Platform, Label: b.Label, Launches: b.N,
			Guest: b.Guest, Layer: b.Layer, Others: b.Actors, Other: b.Other, Sum: b.Sum, Busy: b.Busy, Gap: b.Gap}
		if b.Gap != nil && b.Other > quiet {
			s.Disturbed++
		}
		switch {
		case b.Gap == nil:
			row.Why = lacking(r, &b)
			s.Lacking++
		case b.Within(result.BalanceLimit):
			row.Within = true
			within++
			fallthrough
		default:
			known++
		}
		s.Rows = append(s.Rows, row)
	}
	s.Within = proportion(within, known)
	return s
}

// lacking says which of a row's parts were not measured, and why.
func lacking(r *result.Result, b *result.Balance) string {
	if b.N == 0 {
		return "no launch was finished"
	}
	for _, c := range r.Cases {
		for _, u := range c.Usage {
			if c.Name == b.Case && u.Platform == b.Platform {
				var absent []string
				for _, field := range u.Absent {
					if strings.HasSuffix(field, "_cpu") {
						absent = append(absent, field)
					}
				}
				return strings.Join(append(slices.Clone(u.Notes), "absent: "+strings.Join(absent, ", ")), "; ")
			}
		}
	}
	return ""
}

// Finding is the part's section of the certificate; done says that all of the
// run was measured.
func (s *Sum) Finding(done bool) *Finding {
	f := &Finding{Part: PartSum, Size: len(s.Rows), Unit: "rows", Complete: done && s.Lacking == 0 && s.Disturbed == 0, Data: s}
	held, found := Yes, fmt.Sprintf("%d of %d rows", s.Within.K, s.Within.N)
	switch {
	case s.Within.K < s.Within.N:
		held = No
	case s.Lacking > 0 || s.Within.N == 0 || s.Disturbed > 0:
		held = Open
	}
	if s.Lacking > 0 {
		found += fmt.Sprintf("; of %d a part is not known", s.Lacking)
	}
	if s.Disturbed > 0 {
		found += fmt.Sprintf("; in %d other work kept the host busy, which hides gaps", s.Disturbed)
	}
	f.Claims = []Claim{{Promises[PartsSum].Claim(), found, held}}
	t := Table{Title: "Where the host's CPU time went, in cores",
		Head: []string{"case", "platform", "guest", "layer", "others", "rest of host", "sum", "host's counter", "unattributed", "within 3 %"},
		Note: "Every part is measured apart and the host's counter knows nothing of them, so what is missing shows as unattributed, in % of the counter. " +
			"Others are the far ends of network tests."}
	for _, r := range s.Rows {
		cells := []string{r.Case, result.Labelled(r.Platform, r.Label)}
		if r.Gap == nil {
			t.Rows = append(t.Rows, append(cells, "", "", "", "", "", "", "not known", ""))
			t.Note += fmt.Sprintf(" %s on %s is not known: %s.", r.Case, r.Platform, r.Why)
			continue
		}
		verdict := No
		if r.Within {
			verdict = Yes
		}
		t.Rows = append(t.Rows, append(cells, figure.Fixed(r.Guest, 3), figure.Fixed(r.Layer, 3), figure.Fixed(r.Others, 3), figure.Fixed(r.Other, 3),
			figure.Fixed(r.Sum, 3), figure.Fixed(r.Busy, 3), fmt.Sprintf("%.1f %%", 100**r.Gap), string(verdict)))
	}
	f.Tables = []Table{t}
	return f
}
