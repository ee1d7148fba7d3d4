package agent

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// headerSize is a frame's type, id and length.
const headerSize = 1 + 4 + 4

// frame is one message. Its payload is valid until the next is read.
type frame struct {
	kind    byte
	id      uint32
	payload []byte
}

// decode reads the payload as JSON into v.
func (f frame) decode(v any) error {
	if err := json.Unmarshal(f.payload, v); err != nil {
		return fmt.Errorf("frame %q: payload %.80q: %w", f.kind, f.payload, err)
	}
	return nil
}

// frameReader reads frames from a stream, reusing one buffer.
type frameReader struct {
	r      io.Reader
	header [headerSize]byte
	buf    []byte
}

// next returns io.EOF only at a frame's edge.
func (d *frameReader) next() (frame, error) {
	if _, err := io.ReadFull(d.r, d.header[:]); err != nil {
		return frame{}, err
	}
	f := frame{kind: d.header[0], id: binary.BigEndian.Uint32(d.header[1:])}
	n := binary.BigEndian.Uint32(d.header[5:])
	if n > maxFrame {
		return frame{}, fmt.Errorf("frame %q of %d bytes: more than %d", f.kind, n, maxFrame)
	}
	if int(n) > cap(d.buf) {
		d.buf = make([]byte, max(int(n), maxData))
	}
	f.payload = d.buf[:n]
	if _, err := io.ReadFull(d.r, f.payload); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return frame{}, fmt.Errorf("frame %q of %d bytes: %w", f.kind, n, err)
	}
	return f, nil
}

// putHeader writes a frame's header to the first headerSize bytes of b.
func putHeader(b []byte, kind byte, id uint32, n int) {
	b[0] = kind
	binary.BigEndian.PutUint32(b[1:], id)
	binary.BigEndian.PutUint32(b[5:], uint32(n))
}

// appendFrame appends a whole frame to b.
func appendFrame(b []byte, kind byte, id uint32, payload []byte) []byte {
	var h [headerSize]byte
	putHeader(h[:], kind, id, len(payload))
	return append(append(b, h[:]...), payload...)
}

// appendJSON appends a frame whose payload is v, one of the protocol's own
// structs, as JSON.
func appendJSON(b []byte, kind byte, id uint32, v any) []byte {
	payload, err := json.Marshal(v)
	if err != nil {
		panic("agent: encode frame: " + err.Error())
	}
	return appendFrame(b, kind, id, payload)
}

// A stream of an operation, for window frames.
const (
	streamIn  = 0 // standard input, file content
	streamOut = 1
	streamErr = 2
)

// appendWindow appends a frame that lets the other end send n more bytes.
func appendWindow(b []byte, id uint32, stream byte, n int) []byte {
	payload := [5]byte{stream}
	binary.BigEndian.PutUint32(payload[1:], uint32(n))
	return appendFrame(b, typeWindow, id, payload[:])
}

// parseWindow reads what appendWindow wrote.
func parseWindow(payload []byte) (stream byte, n int, err error) {
	if len(payload) != 5 || payload[0] > streamErr {
		return 0, 0, fmt.Errorf("window frame: payload %.20q", payload)
	}
	return payload[0], int(binary.BigEndian.Uint32(payload[1:])), nil
}
