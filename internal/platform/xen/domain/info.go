package domain

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// Info is what the hypervisor knows of a domain.
type Info struct {
	CPU   float64 // seconds that its virtual CPUs ran, all together
	Dying bool    // it is being taken down
	VCPUs int     // that are online
}

// The places in struct xen_domctl_getdomaininfo (domctl.h), the same since Xen 4.3.
const (
	placeFlags = 4
	placeCPU   = 56 // nanoseconds
	placeVCPUs = 64
	infoSize   = 68
	flagDying  = 1
)

// parseInfo reads the structure of the domain of that number.
func parseInfo(p []byte, number int) (Info, error) {
	if len(p) < infoSize {
		return Info{}, fmt.Errorf("domain %d: %d bytes are not a description", number, len(p))
	}
	le := binary.LittleEndian
	if got := int(le.Uint16(p)); got != number {
		return Info{}, fmt.Errorf("domain %d: there is none, %d is the next: %w", number, got, unix.ESRCH)
	}
	return Info{
		CPU:   float64(le.Uint64(p[placeCPU:])) / 1e9,
		Dying: le.Uint32(p[placeFlags:])&flagDying != 0,
		VCPUs: int(le.Uint32(p[placeVCPUs:])),
	}, nil
}
