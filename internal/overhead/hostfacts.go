package overhead

import "tare/internal/host"

func hostFacts(h *host.Facts) []Fact {
	out := []Fact{}
	for _, l := range h.Lines() {
		out = append(out, Fact(l))
	}
	return out
}
