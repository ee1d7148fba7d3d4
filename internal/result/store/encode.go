package store

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"tare/internal/bench"
)

// An encoder writes samples as encoding/json would, byte for byte, except that
// values which are NaN are left out and values is never null.
type encoder struct {
	keys []string // kept between calls
}

func (e *encoder) append(b []byte, s *bench.Sample) ([]byte, error) {
	b = strconv.AppendInt(append(b, `{"at":`...), s.At, 10)
	b = strconv.AppendInt(append(b, `,"late":`...), s.Late, 10)
	b = strconv.AppendInt(append(b, `,"took":`...), s.Took, 10)
	b = strconv.AppendInt(append(b, `,"cpu":`...), s.CPU, 10)
	b = appendString(append(b, `,"level":`...), string(s.Level))
	if s.Actor != "" {
		b = appendString(append(b, `,"actor":`...), s.Actor)
	}
	b = appendString(append(b, `,"meter":`...), s.Meter)
	if s.Guest != 0 {
		b = strconv.AppendInt(append(b, `,"guest":`...), s.Guest, 10)
	}
	b = append(b, `,"values":{`...)
	e.keys = e.keys[:0]
	for k, v := range s.Values {
		if !math.IsNaN(v) {
			e.keys = append(e.keys, k)
		}
	}
	slices.Sort(e.keys)
	for i, k := range e.keys {
		v := s.Values[k]
		if math.IsInf(v, 0) {
			return b, fmt.Errorf("%s meter %s: column %s is infinite", s.Level, s.Meter, k)
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = appendFloat(append(appendString(b, k), ':'), v)
	}
	return append(b, '}', '}'), nil
}

// appendString quotes s. Text that would need escaping is left to encoding/json.
func appendString(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if c := s[i]; !plain(c) || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) // a string always encodes
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// plain says whether c stands for itself in a JSON string.
func plain(c byte) bool { return c >= ' ' && c < 0x7f && c != '"' && c != '\\' }

// appendFloat writes the shortest text that reads back as v, in the notation
// of encoding/json (that of ECMAScript).
func appendFloat(b []byte, v float64) []byte {
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		b = strconv.AppendFloat(b, v, 'e', -1, 64)
		if n := len(b); n >= 4 && b[n-4] == 'e' && b[n-3] == '-' && b[n-2] == '0' {
			b[n-2] = b[n-1] // e-07 is written e-7
			b = b[:n-1]
		}
		return b
	}
	return strconv.AppendFloat(b, v, 'f', -1, 64)
}
