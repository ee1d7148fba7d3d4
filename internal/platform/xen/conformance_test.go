package xen

import (
	"testing"

	"tare/internal/platform/platformtest"
)

// These run on a host that is Xen's control domain; elsewhere they are skipped,
// and package nest runs a reduced set in an emulated one.
func TestConformancePV(t *testing.T)  { platformtest.Run(t, PV(), platformtest.Options{}) }
func TestConformancePVH(t *testing.T) { platformtest.Run(t, PVH(), platformtest.Options{}) }
func TestConformanceHVM(t *testing.T) { platformtest.Run(t, HVM(), platformtest.Options{}) }
