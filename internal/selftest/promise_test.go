package selftest

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// docs/NUMBERS.md has the table of promises, and nothing besides.
func TestPageOfPromises(t *testing.T) {
	page, err := os.ReadFile("../../docs/NUMBERS.md")
	if err != nil {
		t.Fatal(err)
	}
	const head = "| part | promise | how |\n|---|---|---|\n"
	_, table, ok := strings.Cut(string(page), head)
	table, _, _ = strings.Cut(table, "\n\n")
	var want []string
	for _, p := range Promises {
		if p.Part == "" || p.How == "" {
			t.Errorf("a promise without a part or how it is measured: %+v", p)
		}
		want = append(want, fmt.Sprintf("| `%s` | %s | %s |", p.Part, p.Claim("blocks", "30", "width", "±3 %", "design", "10 blocks and of 30",
			"level", "each level", "platform", "each platform", "workload", "each workload", "way", "each way"), p.How))
	}
	if text := strings.Join(want, "\n"); !ok || strings.TrimSpace(table) != text {
		t.Errorf("the table of docs/NUMBERS.md must be:\n%s%s", head, text)
	}
}

func TestStatusOfClaims(t *testing.T) {
	no, open, yes := Claim{"a", "b", No}, Claim{"c", "d", Open}, Claim{"e", "f", Yes}
	for want, claims := range map[int][]Claim{0: {yes, yes}, ExitOpen: {yes, open}, ExitBroken: {open, no, yes}} {
		status, broken := Status(claims)
		if status != want || (broken != nil) != (want == ExitBroken) || broken != nil && broken.Error() != "a, but found b" {
			t.Errorf("%v: %d, %v", claims, status, broken)
		}
	}
}

func TestMeasuredPromise(t *testing.T) {
	p := Promises[DensitySampling]
	m := p.AtMost(0.6, "by hand", "platform", "runc")
	if m.Held != No || m.Claim.Claim != "sampling all of them at 1 Hz takes at most 0.5 % of a core: runc" || m.Found != "0.6 %" {
		t.Errorf("%+v", m)
	}
	if m := p.Measure(true, 0.25, []float64{0.2, 0.3}, ""); m.Held != Yes || m.Found != "0.25 % (0.2 to 0.3)" {
		t.Errorf("%+v", m)
	}
}
