package fake

import (
	"encoding/binary"
	"io"

	"tare/internal/host/clock"
)

// stepped passes on what the agent says and, once an instant has come, adds to
// every time the agent states of its own clock (docs/PROTOCOL.md): the first 8
// bytes of a sample and both of a clock reading.
type stepped struct {
	r       io.Reader
	by      int64 // nanoseconds
	at      int64 // of clock.Now
	greeted bool
	frame   []byte // what of a frame is not passed on yet
}

const (
	greetingSize = 16
	headerSize   = 9
	replyFrame   = 'r'
	clockReply   = 16 // bytes of a clock reading; a sample has more, other replies none
)

func (s *stepped) Read(b []byte) (int, error) {
	if len(s.frame) == 0 {
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	n := copy(b, s.frame)
	s.frame = s.frame[n:]
	return n, nil
}

func (s *stepped) next() error {
	size := headerSize
	if !s.greeted {
		size += greetingSize
		s.greeted = true
	}
	s.frame = make([]byte, size)
	if _, err := io.ReadFull(s.r, s.frame); err != nil {
		return err
	}
	header := s.frame[size-headerSize:]
	kind, payload := header[0], make([]byte, binary.BigEndian.Uint32(header[5:]))
	if _, err := io.ReadFull(s.r, payload); err != nil {
		return err
	}
	if kind == replyFrame && clock.Now() >= s.at {
		if len(payload) >= clockReply {
			s.move(payload)
		}
		if len(payload) == clockReply {
			s.move(payload[8:])
		}
	}
	s.frame = append(s.frame, payload...)
	return nil
}

func (s *stepped) move(b []byte) {
	binary.BigEndian.PutUint64(b, binary.BigEndian.Uint64(b)+uint64(s.by))
}
