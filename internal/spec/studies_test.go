package spec_test

import (
	"slices"
	"strings"
	"testing"

	"tare/internal/spec"
	"tare/internal/spec/spectest"
)

func TestStudies(t *testing.T) {
	const head = "name: x\nscenes: [{name: a, startup: true}]\n"
	e, err := spec.Parse("x.yaml", []byte(head+"studies: [O_DIRECT]"), nil, spectest.Vocabulary())
	if err != nil || !slices.Equal(e.Studies, []string{"O_DIRECT"}) {
		t.Errorf("%+v, %v", e, err)
	}
	_, err = spec.Parse("x.yaml", []byte(head+"studies: [O_DIRECTT]"), nil, spectest.Vocabulary())
	if err == nil || !strings.Contains(err.Error(), "x.yaml:3:11") || !strings.Contains(err.Error(), "O_DIRECT") {
		t.Errorf("a check there is none of: %v", err)
	}
}
