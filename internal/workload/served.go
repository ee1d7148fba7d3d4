package workload

import (
	"fmt"
	"net/netip"

	"tare/internal/bench"
)

// served is the instance's address, at which a peer finds what it serves.
func served(w bench.Workload, s bench.Setting) (netip.Addr, error) {
	addr := s.Addr[bench.SubjectPart]
	if !addr.IsValid() {
		return addr, fmt.Errorf("%s: the instance has no address at which another machine finds it: %w%w", w.Name(), bench.ErrUnavailable,
			bench.Hint("leave out platforms whose network is for calls to the outside only, such as net=user"))
	}
	return addr, nil
}
