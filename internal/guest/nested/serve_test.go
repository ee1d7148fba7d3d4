package nested

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/guest/nested/wire"
)

// converse gives the server the lines and returns its answers.
func converse(t *testing.T, lines string) ([]wire.Answer, error) {
	t.Helper()
	s := &server{drivers: func(string) []bench.Platform { return nil }, ended: make(chan error, 2)}
	var out bytes.Buffer
	err := s.answer(t.Context(), strings.NewReader(lines), &out)
	var answers []wire.Answer
	for d := json.NewDecoder(&out); d.More(); {
		var a wire.Answer
		if err := d.Decode(&a); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, a)
	}
	return answers, err
}

func TestRequestsThatCannotBeMet(t *testing.T) {
	answers, err := converse(t, `{"op":"start","start":{"platform":"warp"}}
{"op":"start"}
{"op":"scope"}
{"op":"sing"}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`platform "warp" is not known`, "no instance is started", "no instance is started", "no instance is started"}
	if len(answers) != len(want) {
		t.Fatalf("%d answers: %+v", len(answers), answers)
	}
	for i, a := range answers {
		if err := a.Err(); err == nil || !strings.Contains(err.Error(), want[i]) || !errors.Is(err, bench.ErrInvalid) {
			t.Errorf("request %d: %v, want %s", i, err, want[i])
		}
	}
}

func TestGarbageEndsTheConversation(t *testing.T) {
	for _, lines := range []string{"{]\n", "{\"op\":1}\n", "\x00\x00"} {
		if answers, err := converse(t, lines); err == nil {
			t.Errorf("%q: %+v", lines, answers)
		}
	}
}

// FuzzAnswer feeds the server anything: it may give up, not panic.
func FuzzAnswer(f *testing.F) {
	f.Add(`{"op":"start","start":{"platform":"docker","shape":{"cpus":1},"cpus":[0]}}`)
	f.Add(`{"op":"sample"}{"op":"meters"}`)
	f.Fuzz(func(t *testing.T, text string) { _, _ = converse(t, text) })
}
