package vm

import (
	"os"
	"strings"
	"testing"
)

func TestParseQEMU(t *testing.T) {
	text, err := os.ReadFile("testdata/version")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := parseQEMU(string(text)); v != "7.2.22" || err != nil {
		t.Errorf("%q, %v", v, err)
	}
	if v, err := parseQEMU("bash: qemu: not found"); err == nil || !strings.Contains(err.Error(), "bash") {
		t.Errorf("%q, %v: must quote what it could not read", v, err)
	}
}
