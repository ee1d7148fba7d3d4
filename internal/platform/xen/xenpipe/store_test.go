package xenpipe

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
)

// message is one of the store's.
func message(kind uint32, text string) []byte {
	b, _ := binary.Append(nil, binary.LittleEndian, storeHeader{Type: kind, Length: uint32(len(text))})
	return append(b, text...)
}

// TestAwait speaks with a store whose entry comes later, that gives it at once, and that refuses.
func TestAwait(t *testing.T) {
	watched := append(message(xsWatchEvent, "p\x00tare\x00"), message(xsWatch, "OK\x00")...)
	for name, c := range map[string]struct {
		answers []([]byte) // to each request
		want    string
	}{
		"later": {[][]byte{
			watched,
			append(message(xsError, "ENOENT\x00"), message(xsWatchEvent, "p\x00tare\x00")...),
			message(xsRead, "value"),
		}, "value"},
		"at once": {[][]byte{watched, message(xsRead, "value")}, "value"},
		"empty":   {[][]byte{watched, append(message(xsRead, ""), message(xsWatchEvent, "p\x00tare\x00")...), message(xsRead, "v")}, "v"},
		"refused": {[][]byte{watched, message(xsError, "EACCES\x00")}, "EACCES"},
		"other":   {[][]byte{message(99, "")}, "message 99"},
		"long":    {[][]byte{message(xsWatch, strings.Repeat("x", maxText+1))}, "4097 bytes"},
		"gone":    {[][]byte{{}}, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			here, there := net.Pipe()
			go func() {
				defer there.Close()
				for _, a := range c.answers {
					var h storeHeader
					if binary.Read(there, binary.LittleEndian, &h) != nil {
						return
					}
					if _, err := io.CopyN(io.Discard, there, int64(h.Length)); err != nil {
						return
					}
					if _, err := there.Write(a); err != nil {
						return
					}
				}
			}()
			s := &store{conn: here}
			defer s.Close()
			got, err := s.await("p")
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// FuzzReceive feeds anything for a message: it may be refused, not panic.
func FuzzReceive(f *testing.F) {
	f.Add(message(xsRead, "value"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		s := &store{conn: struct {
			io.Reader
			io.WriteCloser
		}{bytes.NewReader(sent), nil}}
		for {
			if _, text, err := s.receive(); err != nil {
				return
			} else if len(text) > len(sent) {
				t.Fatalf("%d bytes of %d", len(text), len(sent))
			}
		}
	})
}
