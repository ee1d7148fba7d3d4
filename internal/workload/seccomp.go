package workload

import (
	"encoding/binary"
	"fmt"
	"runtime"

	"tare/internal/bench"
)

// The kernel's numbers for what the filter looks at (linux/audit.h,
// asm/unistd.h), by architecture.
var seccompNumbers = map[string]struct{ arch, brk, mmap uint32 }{
	"amd64": {0xc000003e, 12, 9},
	"arm64": {0xc00000b7, 214, 222},
}

// mappingLimit is a seccomp filter, as setpriv loads it, under which a program
// cannot map more than most bytes at once, nor from..to-1 bytes: mmap of those
// fails with ENOMEM, but for files, room without memory (PROT_NONE, in which libraries are put) and
// the lengths that it may always have, below 4 GiB. brk never moves the end of the heap, so that the
// C library allocates by mmap alone (Documentation/userspace-api/seccomp_filter.rst).
func mappingLimit(most, from, to bench.Bytes, always ...bench.Bytes) ([]byte, error) {
	n, ok := seccompNumbers[runtime.GOARCH]
	if !ok {
		return nil, fmt.Errorf("no seccomp filter for %s: %w", runtime.GOARCH, bench.ErrInvalid)
	}
	const (
		load, equal, above, end = 0x20, 0x15, 0x25, 0x06 // BPF_LD|W|ABS, JMP|JEQ|K, JMP|JGT|K, RET|K
		has                     = 0x45                   // BPF_JMP|JSET|K
		number, arch            = 0, 4                   // offsets in struct seccomp_data
		lengthLow, lengthHigh   = 24, 28                 // of the second argument
		protection              = 32                     // the third
		flags, anonymous        = 40, 0x20               // the fourth, and its MAP_ANONYMOUS
		allow, noMemory         = 0x7fff0000, 0x00050000 | 12
		unmoved                 = 0x00050000 // the answer 0: an error, as an address, lies above what was asked for
	)
	allowed := 27 + len(always) // where the verdicts stand
	refused, still := allowed+1, allowed+2
	type instruction struct {
		code     uint16
		yes, no  uint8 // how many instructions to skip
		constant uint32
	}
	program := []instruction{
		{load, 0, 0, arch},
		{equal, 0, uint8(allowed - 2), n.arch}, // another architecture's calls pass
		{load, 0, 0, number},
		{equal, uint8(still - 4), 0, n.brk},
		{equal, 0, uint8(allowed - 5), n.mmap},
		{load, 0, 0, flags},
		{has, 0, uint8(allowed - 7), anonymous},
		{load, 0, 0, protection},
		{equal, uint8(allowed - 9), 0, 0},
		{load, 0, 0, lengthHigh},
		{above, uint8(1 + len(always)), 0, 0}, // beyond what is always allowed
		{load, 0, 0, lengthLow},
	}
	for _, length := range always {
		program = append(program, instruction{equal, uint8(allowed - len(program) - 1), 0, uint32(length)})
	}
	for _, rule := range []struct {
		above   bench.Bytes
		verdict int
	}{{most, refused}, {to - 1, allowed}, {from - 1, refused}} {
		to := func(ahead int) uint8 { return uint8(rule.verdict - len(program) - ahead - 1) }
		high, low := uint32(rule.above>>32), uint32(rule.above)
		program = append(program,
			instruction{load, 0, 0, lengthHigh},
			instruction{above, to(1), 0, high},
			instruction{equal, 0, 2, high},
			instruction{load, 0, 0, lengthLow},
			instruction{above, to(4), 0, low})
	}
	program = append(program, instruction{end, 0, 0, allow}, instruction{end, 0, 0, noMemory}, instruction{end, 0, 0, unmoved})
	var b []byte
	for _, i := range program {
		b = binary.NativeEndian.AppendUint16(b, i.code)
		b = append(b, i.yes, i.no)
		b = binary.NativeEndian.AppendUint32(b, i.constant)
	}
	return b, nil
}
