package uml

import (
	"testing"

	"tare/internal/platform/platformtest"
)

func TestConformance(t *testing.T) {
	platformtest.Run(t, New(), platformtest.Options{Slow: 3, MostCPUs: 1})
}
