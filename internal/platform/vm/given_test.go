package vm

import (
	"strings"
	"testing"
)

func TestTapNameFits(t *testing.T) {
	long := TapName(strings.Repeat("x", 40))
	if len(long) > 15 || long == TapName("x") {
		t.Errorf("%q is no name for a device", long)
	}
}
