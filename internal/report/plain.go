package report

import "io"

// Plain writes text on so that a terminal obeys nothing in it: control characters,
// but for the ends of lines and tabs, become replacement characters. Text of runs,
// hosts and guests may hold any.
func Plain(w io.Writer) io.Writer { return &plain{w: w} }

type plain struct {
	w    io.Writer
	buf  []byte // kept between calls
	half bool   // the last byte may begin a control character of two
}

const (
	twoBytes    = 0xc2 // begins U+0080 to U+00BF, of which those below U+00A0 are control characters
	replacement = "\ufffd"
)

func (p *plain) Write(text []byte) (int, error) {
	out := p.buf[:0]
	for _, c := range text {
		if p.half {
			p.half = false
			if c >= 0x80 && c < 0xa0 {
				out = append(out, replacement...)
				continue
			}
			out = append(out, twoBytes)
		}
		switch {
		case c == twoBytes:
			p.half = true
		case c < ' ' && c != '\n' && c != '\t', c == 0x7f:
			out = append(out, replacement...)
		default:
			out = append(out, c)
		}
	}
	p.buf = out
	if _, err := p.w.Write(out); err != nil {
		return 0, err
	}
	return len(text), nil
}
