package spec_test

import (
	"strings"
	"testing"

	"tare/internal/spec"
	"tare/internal/spec/spectest"
)

func TestControls(t *testing.T) {
	const text = "name: x\nplatforms: [docker, native]\ncontrols: CONTROLS\nscenes: [{name: s, startup: true}]\n"
	for value, want := range map[string]string{"true": "native[as=control]", "false": ""} {
		e, err := spec.Parse("x.yaml", []byte(strings.Replace(text, "CONTROLS", value, 1)), nil, spectest.Vocabulary())
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if e.Control != nil {
			got = e.Control.String()
		}
		if got != want || e.Scenes[0].Controlled(e) != (want != "") || len(e.Platforms.Named) != 2 {
			t.Errorf("%s: %q, %+v", value, got, e.Platforms)
		}
	}
	for change, want := range map[string]string{
		"controls: maybe":                        "maybe",
		"controls: true\nbaseline: native[as=b]": "controls measure the baseline under a second name, and native[as=b] has one",
	} {
		spelt := strings.Replace(strings.Replace(text, "native]", `native, "native[as=b]"]`, 1), "controls: CONTROLS", change, 1)
		if _, err := spec.Parse("x.yaml", []byte(spelt), nil, spectest.Vocabulary()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", change, err, want)
		}
	}
	spelt := strings.NewReplacer("docker", `"native[as=control]"`, "CONTROLS", "true").Replace(text)
	if _, err := spec.Parse("x.yaml", []byte(spelt), nil, spectest.Vocabulary()); err == nil || !strings.Contains(err.Error(), "x.yaml:3:") ||
		!strings.Contains(err.Error(), "native[as=control] is the control's name, and among the platforms") {
		t.Error(err)
	}
}
