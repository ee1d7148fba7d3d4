package spec_test

import (
	"strings"
	"testing"

	"tare/internal/spec"
	"tare/internal/spec/spectest"
)

func TestInject(t *testing.T) {
	const head = "name: x\nplatforms: [native, \"native[as=slow]\"]\nscenes: [{name: a, startup: true}]\n"
	e, err := spec.Parse("x.yaml", []byte(head+"inject: [{platform: \"native[as=slow]\", cpu: 5%, startup: 10%}]"), nil, spectest.Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Inject) != 1 || e.Inject[0].Platform.String() != "native[as=slow]" || e.Inject[0].CPU != 0.05 || e.Inject[0].Startup != 0.1 {
		t.Errorf("%+v", e.Inject)
	}
	for text, want := range map[string]string{
		"inject: [{cpu: 5%}]":                                                 "x.yaml:4:10: an injection needs a platform",
		"inject: [{platform: native}]":                                        "x.yaml:4:10: an injection needs a slowdown",
		"inject: [{platform: docker, cpu: 5%}]":                               "x.yaml:4:21: docker is not among the platforms",
		"inject: [{platform: native, cpu: 95%}]":                              "x.yaml:4:34: a slowdown of 95 %: at most 90 %",
		"inject: [{platform: native, cpu: 5%}, {platform: native, cpu: 10%}]": "x.yaml:4:50: native is slowed down twice",
	} {
		_, err := spec.Parse("x.yaml", []byte(head+text), nil, spectest.Vocabulary())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
