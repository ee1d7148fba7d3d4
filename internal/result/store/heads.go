package store

import (
	"fmt"

	"tare/internal/bench"
)

// maxHeads is how many sources of a trial are remembered.
const maxHeads = 64

// A head is what the lines of one source have in common: who read whom by what, and the columns in the
// order they are written. The lines of a trial's sources take turns, so after the first of each there
// is nothing to look up and no name to check.
type head struct {
	text    string       // `,"level":"host","meter":"proc"`
	sample  bench.Sample // its names; its Values are used again for every line
	columns []headColumn
}

type headColumn struct {
	name string
	text string // `"cpu_busy_s":`, with a comma before it if another column stands there
}

// heads reads a trial's samples. Lines that differ from the ones before go through a decoder.
type heads struct {
	decoder *decoder
	check   func(*bench.Sample) error
	known   []*head
	next    int // the head whose turn it is
}

// read fills s, whose Values are used again, and checks it.
func (h *heads) read(line []byte, s *bench.Sample) error {
	if ok, err := h.repeated(line, s); ok {
		return err
	}
	if err := h.decoder.decode(line, s); err != nil {
		return err
	}
	if err := h.check(s); err != nil {
		return err
	}
	h.remember(s)
	return nil
}

// repeated reads a line of a source that is known, and says whether it is one. The error is of a value.
func (h *heads) repeated(line []byte, s *bench.Sample) (ok bool, err error) {
	d := h.decoder
	d.line, d.pos = line, 0
	var at, late, took, cpu, guest int64
	if !d.instants(&at, &late, &took, &cpu) {
		return false, nil
	}
	of := h.turn()
	if of == nil {
		return false, nil
	}
	if d.accept(`,"guest":`) && !d.integer(&guest) || !d.accept(`,"values":{`) {
		return false, nil
	}
	for _, c := range of.columns {
		var v float64
		if !d.accept(c.text) || !d.float(&v) {
			return false, nil
		}
		of.sample.Values[c.name] = v
		if e := bench.CheckReading(c.name, v); e != nil && err == nil {
			err = fmt.Errorf("%s: %w", c.name, e)
		}
	}
	if !d.accept(`}}`) || d.pos != len(d.line) {
		return false, nil
	}
	*s = of.sample
	s.At, s.Late, s.Took, s.CPU, s.Guest = at, late, took, cpu, guest
	if e := s.CheckInstants(); e != nil {
		err = e
	}
	return true, err
}

// turn is the head of the line, most often the one whose turn it is; nil if it is not known.
func (h *heads) turn() *head {
	for i := range h.known {
		at := (h.next + i) % len(h.known)
		if of := h.known[at]; h.decoder.accept(of.text) {
			h.next = at + 1
			return of
		}
	}
	return nil
}

// remember keeps the head of a sample that was decoded, in the place of the one that begins alike. A line in
// another form than the encoder's, or one that names a column twice, has none.
func (h *heads) remember(s *bench.Sample) {
	d := h.decoder
	if !d.direct || len(d.columns) != len(s.Values) {
		return
	}
	of := &head{text: string(d.line[d.named[0]:d.named[1]]), sample: *s}
	for i, name := range d.columns {
		text := `"` + name + `":`
		if i > 0 {
			text = "," + text
		}
		of.columns = append(of.columns, headColumn{name, text})
	}
	d.values = nil // they are the head's from now on
	for i, k := range h.known {
		if k.text == of.text {
			h.known[i] = of
			return
		}
	}
	if len(h.known) < maxHeads {
		h.known = append(h.known, of)
	}
}
