package agent

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"tare/internal/clock"
)

// stampedReader remembers when its last read returned.
type stampedReader struct {
	r  io.Reader
	at int64 // clock.Now
}

func (s *stampedReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.at = clock.Now()
	return n, err
}

// keptNoise is how much of what came before the greeting an error quotes.
const keptNoise = 2 << 10

// noiseError is a stream that ended, or babbled on, before the greeting.
type noiseError struct {
	noise   []byte // its last bytes
	skipped int
	err     error
}

func (e *noiseError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "waiting for the greeting: %v", e.err)
	switch noise := strings.TrimSpace(string(e.noise)); {
	case e.skipped == 0:
		b.WriteString(", and not one byte came")
	case e.skipped > len(e.noise):
		fmt.Fprintf(&b, ", after %d bytes that end in %q", e.skipped, noise)
	default:
		fmt.Fprintf(&b, ", after %q", noise)
	}
	return b.String()
}

func (e *noiseError) Unwrap() error { return e.err }

// awaitMagic skips everything up to and including the magic, and returns when
// its first byte was read. src is what r reads from.
func awaitMagic(r *bufio.Reader, src *stampedReader, noise *noiseLog) (at int64, err error) {
	matched := 0
	for {
		b, err := r.ReadByte()
		if err != nil {
			return 0, noise.fail(err)
		}
		if b != magic[matched] {
			noise.add([]byte(magic[:matched]))
			matched = 0
		}
		if b != magic[matched] {
			noise.add([]byte{b})
			if noise.len() > maxNoise {
				return 0, noise.fail(fmt.Errorf("none within %d bytes", maxNoise))
			}
			continue
		}
		if matched == 0 {
			at = src.at
		}
		if matched++; matched == len(magic) {
			return at, nil
		}
	}
}
