package report

import (
	"bytes"
	"strings"
	"testing"

	"tare/internal/result"
)

// A platform none of whose clocks can be trusted has no bound: zero would look like the best of all.
func TestClocksAtFaultHaveNoBound(t *testing.T) {
	r := &result.Result{Complete: true, Clocks: []result.ClockRow{
		{Platform: "docker", Uncertainty: 0.0254, Drift: 1.26, Launches: 3, Refused: 7, Faults: 2},
		{Platform: "kvm", Launches: 2, Faults: 2},
	}}
	var text, page bytes.Buffer
	if err := Text(&text, r); err != nil {
		t.Fatal(err)
	}
	if err := HTML(&page, r); err != nil {
		t.Fatal(err)
	}
	words := strings.Join(strings.Fields(text.String()), " ")
	for _, want := range []string{"docker 0.025 ms 1.3 ppm 3 2 7", "kvm – – 2 2 0"} {
		if !strings.Contains(words, want) {
			t.Errorf("the text lacks %q:\n%s", want, text.String())
		}
	}
	for _, want := range []string{`kvm</th><td class="n">–</td><td class="n">–</td>`, `<td class="n">0.025 ms</td>`} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
