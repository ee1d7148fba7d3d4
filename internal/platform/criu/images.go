package criu

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"tare/internal/bench"
)

// Images are the sizes of a checkpoint's files by kind.
type Images struct {
	Pages bench.Bytes // contents of memory
	Rest  bench.Bytes // everything else: processes, files, mounts, sockets
}

// ImagesIn adds up the files below the directory.
func ImagesIn(dir string) (sum Images, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if strings.HasPrefix(d.Name(), "pages-") {
			sum.Pages += bench.Bytes(info.Size())
		} else {
			sum.Rest += bench.Bytes(info.Size())
		}
		return nil
	})
	if err == nil && sum == (Images{}) {
		err = fmt.Errorf("checkpoint %s: no image files", dir)
	}
	return sum, err
}

// Stats are CRIU's own statistics of a dump or a restore (images/stats.proto),
// times in microseconds.
type Stats struct {
	Freezing, Frozen uint64 // of a dump: until all was frozen, and for how long it was
	PagesWritten     uint64
	Restore          uint64 // of a restore, from its beginning until all runs
}

// The statistics' files in the directory of work.
const (
	DumpStats    = "stats-dump"
	RestoreStats = "stats-restore"
)

// The numbers of the fields in images/stats.proto.
const (
	statsDump, statsRestore                      = 1, 2
	dumpFreezing, dumpFrozen, dumpWritten        = 1, 2, 7
	restoreTime                                  = 4
	serviceMagic, statsMagic              uint32 = 0x55105940, 0x57093306 // criu/include/magic.h
)

// ReadStats reads a file of statistics.
func ReadStats(path string) (Stats, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Stats{}, err
	}
	s, err := parseStats(data)
	if err != nil {
		return Stats{}, fmt.Errorf("statistics %s: %w", path, err)
	}
	return s, nil
}

// parseStats reads two magic numbers, the length of an entry, and the entry.
func parseStats(data []byte) (s Stats, err error) {
	for _, want := range []uint32{serviceMagic, statsMagic} {
		magic, n := protowire.ConsumeFixed32(data)
		if n < 0 || magic != want {
			return s, fmt.Errorf("%.16x: not CRIU's", data)
		}
		data = data[n:]
	}
	size, n := protowire.ConsumeFixed32(data)
	if n < 0 || uint64(len(data)-n) < uint64(size) {
		return s, errors.New("cut short")
	}
	found := false
	err = fields(data[n:n+int(size)], func(entry protowire.Number, _ uint64, inside []byte) error {
		found = found || entry == statsDump || entry == statsRestore
		return fields(inside, func(field protowire.Number, v uint64, _ []byte) error {
			switch [2]protowire.Number{entry, field} {
			case [2]protowire.Number{statsDump, dumpFreezing}:
				s.Freezing = v
			case [2]protowire.Number{statsDump, dumpFrozen}:
				s.Frozen = v
			case [2]protowire.Number{statsDump, dumpWritten}:
				s.PagesWritten = v
			case [2]protowire.Number{statsRestore, restoreTime}:
				s.Restore = v
			}
			return nil
		})
	})
	if err == nil && !found {
		err = errors.New("neither of a dump nor of a restore")
	}
	return s, err
}

// fields calls f with each field of a message: numbers as v, messages as inside.
func fields(data []byte, f func(number protowire.Number, v uint64, inside []byte) error) error {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		data = data[n:]
		var v uint64
		var inside []byte
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(data)
		case protowire.BytesType:
			inside, n = protowire.ConsumeBytes(data)
		default:
			n = protowire.ConsumeFieldValue(number, kind, data)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		data = data[n:]
		if err := f(number, v, inside); err != nil {
			return err
		}
	}
	return nil
}

// complaint is a line of CRIU's log in which something failed.
var complaint = regexp.MustCompile(`(?m)^(?:\([^)]*\) *)?(?:\s*\d+: )?Error \([^)]*\): (.*)$`)

// keptComplaints is how many of a log's complaints are told.
const keptComplaints = 3

// Complaints are the last errors in CRIU's log, "" if there is none.
func Complaints(log string) string {
	text, err := os.ReadFile(log)
	if err != nil {
		return ""
	}
	var last []string
	for _, m := range complaint.FindAllStringSubmatch(string(text), -1) {
		last = append(last, strings.TrimSpace(m[1]))
	}
	return strings.Join(last[max(0, len(last)-keptComplaints):], "; ")
}
