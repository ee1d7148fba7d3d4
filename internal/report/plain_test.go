package report

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPlainKeepsTextAndDropsControl(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\nc":                     "a\tb\nc",
		"\x1b[2J\x07\r\x7f":           "\ufffd[2J\ufffd\ufffd\ufffd",
		"é\u00a0£ \u0085\u009b31m ±🙂": "é\u00a0£ \ufffd\ufffd31m ±🙂",
	} {
		var b bytes.Buffer
		if n, err := Plain(&b).Write([]byte(text)); n != len(text) || err != nil || b.String() != want {
			t.Errorf("%q: got %q (%d, %v), want %q", text, b.String(), n, err, want)
		}
	}
}

// Where a text is cut into writes does not matter.
func TestPlainInPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.ToValidUTF8(rapid.String().Draw(t, "text"), "?") + "\n"
		var whole, pieces bytes.Buffer
		if _, err := Plain(&whole).Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		p := Plain(&pieces)
		for i := range len(text) {
			if _, err := p.Write([]byte(text[i : i+1])); err != nil {
				t.Fatal(err)
			}
		}
		if whole.String() != pieces.String() {
			t.Fatalf("%q: whole %q, in pieces %q", text, whole.String(), pieces.String())
		}
	})
}
