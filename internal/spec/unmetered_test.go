package spec_test

import (
	"strings"
	"testing"

	"tare/internal/spec"
	"tare/internal/spec/spectest"
)

func TestUnmetered(t *testing.T) {
	const text = "name: x\nplatforms: [native, \"native[as=off]\"]\nunmetered: UNMETERED\nscenes: [{name: s, startup: true}]\n"
	e, err := spec.Parse("x.yaml", []byte(strings.Replace(text, "UNMETERED", `["native[as=off]"]`, 1)), nil, spectest.Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Unmetered) != 1 || e.Unmetered[0].String() != "native[as=off]" {
		t.Errorf("%v", e.Unmetered)
	}
	for value, want := range map[string]string{
		"[docker]": "docker is not among the platforms",
		"[frob]":   "frob",
	} {
		_, err := spec.Parse("x.yaml", []byte(strings.Replace(text, "UNMETERED", value, 1)), nil, spectest.Vocabulary())
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "x.yaml:3:") {
			t.Errorf("%s: %v; want %q", value, err, want)
		}
	}
}
