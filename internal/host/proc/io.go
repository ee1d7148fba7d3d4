package proc

import (
	"bytes"
	"fmt"
)

// Disk is the traffic of a block device since boot
// (Documentation/admin-guide/iostats.rst); sizes in bytes.
type Disk struct {
	ReadOps, ReadBytes, WriteOps, WriteBytes float64
}

const sector = 512 // bytes; the unit of /proc/diskstats for all devices

// EachDisk calls f for every line of /proc/diskstats. The name is valid during the call.
func EachDisk(b []byte, f func(name []byte, d Disk)) error {
	for len(b) > 0 {
		var line []byte
		if line, b = nextLine(b); len(line) == 0 {
			continue
		}
		_, rest := nextField(line) // major
		_, rest = nextField(rest)  // minor
		name, rest := nextField(rest)
		var n [7]uint64
		got, err := numbers(rest, n[:])
		if err != nil {
			return fmt.Errorf("proc diskstats: %w", err)
		}
		if got < len(n) {
			return fmt.Errorf("proc diskstats: %q has too few fields", line)
		}
		f(name, Disk{
			ReadOps: float64(n[0]), ReadBytes: float64(n[2]) * sector,
			WriteOps: float64(n[4]), WriteBytes: float64(n[6]) * sector,
		})
	}
	return nil
}

// Net is the traffic of a network device since it was made.
type Net struct {
	RxBytes, RxPackets, TxBytes, TxPackets float64
}

// EachNet calls f for every device of /proc/net/dev. The name is valid during the call.
func EachNet(b []byte, f func(name []byte, n Net)) error {
	_, b = nextLine(b)
	_, b = nextLine(b) // two lines of headings
	for len(b) > 0 {
		var line []byte
		if line, b = nextLine(b); len(line) == 0 {
			continue
		}
		i := bytes.LastIndexByte(line, ':')
		if i < 0 {
			return fmt.Errorf("proc net dev: %q has no colon", line)
		}
		var n [10]uint64
		got, err := numbers(line[i+1:], n[:])
		if err != nil {
			return fmt.Errorf("proc net dev: %w", err)
		}
		if got < len(n) {
			return fmt.Errorf("proc net dev: %q has too few fields", line)
		}
		f(bytes.TrimLeft(line[:i], " "), Net{
			RxBytes: float64(n[0]), RxPackets: float64(n[1]),
			TxBytes: float64(n[8]), TxPackets: float64(n[9]),
		})
	}
	return nil
}
