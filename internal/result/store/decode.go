package store

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"tare/internal/bench"
)

// A decoder reads lines of samples/TRIAL.jsonl. Lines in the form the encoder
// writes are read directly, which is several times faster than encoding/json;
// any other line is left to encoding/json, and so are all error messages.
type decoder struct {
	names map[string]string // every name seen, so that each is allocated once
	line  []byte
	pos   int

	values  map[string]float64 // of the sample, used again
	direct  bool               // the last line was read directly; if so
	named   [2]int             // where it says who read whom by what
	columns []string           // and its columns in their order
}

func newDecoder() *decoder { return &decoder{names: map[string]string{}} }

// decode fills s, whose Values are used again for the next line.
func (d *decoder) decode(line []byte, s *bench.Sample) error {
	if d.values == nil {
		d.values = map[string]float64{}
	}
	clear(d.values)
	*s = bench.Sample{Values: d.values}
	d.line, d.pos, d.columns = line, 0, d.columns[:0]
	if d.direct = d.sample(s); d.direct {
		return d.few()
	}
	clear(d.values)
	*s = bench.Sample{Values: d.values}
	if err := json.Unmarshal(line, s); err != nil {
		return err
	}
	if s.Values == nil { // the line says null
		s.Values = d.values
	}
	for _, name := range [...]string{string(s.Level), s.Actor, s.Meter} {
		d.names[name] = name
	}
	for name := range s.Values {
		d.names[name] = name
	}
	return d.few()
}

// few is an error once there are more names than a trial can have, all of which are kept.
func (d *decoder) few() error {
	if len(d.names) > maxNames {
		return fmt.Errorf("more than %d different names of actors, meters and columns so far", maxNames)
	}
	return nil
}

// sample reports whether the line was in the expected form.
func (d *decoder) sample(s *bench.Sample) bool {
	if !d.instants(&s.At, &s.Late, &s.Took, &s.CPU) {
		return false
	}
	d.named[0] = d.pos
	level, ok := "", d.accept(`,"level":`)
	if !ok || !d.name(&level) {
		return false
	}
	s.Level = bench.Level(level)
	if d.accept(`,"actor":`) && !d.name(&s.Actor) {
		return false
	}
	if !d.accept(`,"meter":`) || !d.name(&s.Meter) {
		return false
	}
	d.named[1] = d.pos
	if d.accept(`,"guest":`) && !d.integer(&s.Guest) {
		return false
	}
	if !d.accept(`,"values":{`) {
		return false
	}
	if d.accept(`}}`) {
		return d.pos == len(d.line)
	}
	for {
		var key string
		var v float64
		if !d.name(&key) || !d.accept(`:`) || !d.float(&v) {
			return false
		}
		s.Values[key] = v
		d.columns = append(d.columns, key)
		if d.accept(`}}`) {
			return d.pos == len(d.line)
		}
		if !d.accept(`,`) {
			return false
		}
	}
}

// instants reads what a line begins with.
func (d *decoder) instants(at, late, took, cpu *int64) bool {
	return d.field(`{"at":`, at) && d.field(`,"late":`, late) && d.field(`,"took":`, took) && d.field(`,"cpu":`, cpu)
}

func (d *decoder) accept(text string) bool {
	if end := d.pos + len(text); end <= len(d.line) && string(d.line[d.pos:end]) == text {
		d.pos = end
		return true
	}
	return false
}

func (d *decoder) field(key string, v *int64) bool { return d.accept(key) && d.integer(v) }

// name reads a quoted string without escapes.
func (d *decoder) name(s *string) bool {
	if !d.accept(`"`) {
		return false
	}
	start := d.pos
	for d.pos < len(d.line) && plain(d.line[d.pos]) {
		d.pos++
	}
	text := d.line[start:d.pos]
	if !d.accept(`"`) {
		return false
	}
	known, ok := d.names[string(text)]
	if !ok {
		known = string(text)
		d.names[known] = known
	}
	*s = known
	return true
}

// digits reads decimal digits, adding them to n, and returns how many.
func (d *decoder) digits(n *uint64) int {
	start := d.pos
	for d.pos < len(d.line) {
		c := d.line[d.pos] - '0'
		if c > 9 {
			break
		}
		*n = *n*10 + uint64(c)
		d.pos++
	}
	return d.pos - start
}

// integer reads up to 18 digits, which int64 always holds.
func (d *decoder) integer(v *int64) bool {
	negative := d.accept(`-`)
	var n uint64
	start := d.pos
	count := d.digits(&n)
	if count == 0 || count > 18 || count > 1 && d.line[start] == '0' {
		return false
	}
	*v = int64(n)
	if negative {
		*v = -*v
	}
	return true
}

// exact are the powers of ten a float64 holds exactly.
var exact = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// float reads a JSON number. Up to 15 digits without an exponent are an
// integer a float64 holds exactly, divided by an exact power of ten: the
// result is correctly rounded. strconv reads everything else.
func (d *decoder) float(v *float64) bool {
	start := d.pos
	negative := d.accept(`-`)
	var n uint64
	first := d.pos
	whole := d.digits(&n)
	if whole == 0 || whole > 1 && d.line[first] == '0' {
		return false
	}
	fraction := 0
	if d.accept(`.`) {
		if fraction = d.digits(&n); fraction == 0 {
			return false
		}
	}
	exponent := d.accept(`e`) || d.accept(`E`)
	if exponent {
		_ = d.accept(`-`) || d.accept(`+`)
		var e uint64
		if d.digits(&e) == 0 {
			return false
		}
	}
	if !exponent && whole+fraction <= 15 {
		*v = float64(n) / exact[fraction]
		if negative {
			*v = math.Copysign(*v, -1)
		}
		return true
	}
	var err error
	*v, err = strconv.ParseFloat(string(d.line[start:d.pos]), 64)
	return err == nil
}
