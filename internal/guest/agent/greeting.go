package agent

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"

	"tare/internal/host/clock"
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
	for matched := 0; matched < len(magic); {
		if noise.len() > maxNoise {
			return 0, noise.fail(fmt.Errorf("none within %d bytes", maxNoise))
		}
		if _, err := r.Peek(1); err != nil {
			return 0, noise.fail(err)
		}
		chunk, _ := r.Peek(r.Buffered()) // all from the read that src has stamped
		if matched == 0 {
			skip := bytes.IndexByte(chunk, magic[0])
			if skip < 0 {
				skip = len(chunk)
			}
			if skip > 0 {
				noise.add(chunk[:skip])
				_, _ = r.Discard(skip) // it is in the buffer
				continue
			}
			at = src.at
		}
		if chunk[0] != magic[matched] {
			noise.add([]byte(magic[:matched]))
			matched = 0
			continue
		}
		matched++
		_, _ = r.Discard(1)
	}
	return at, nil
}
