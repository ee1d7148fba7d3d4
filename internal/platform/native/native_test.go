package native

import (
	"testing"

	"tare/internal/platform/platformtest"
)

func TestConformance(t *testing.T) { platformtest.Run(t, New(), platformtest.Options{}) }
