package powertest

import "strconv"

// PDU is what every vendor's unit would have of a machine on outlet 3: the
// watts, the whole unit's being the same.
func PDU(watts int) []Object {
	w := strconv.Itoa(watts)
	return []Object{
		{".1.3.6.1.4.1.318.1.1.26.4.3.1.5.1", "integer", strconv.Itoa(watts / 10)},
		{".1.3.6.1.4.1.318.1.1.26.9.4.3.1.7.3", "integer", w},
		{".1.3.6.1.4.1.318.1.1.12.1.16.0", "integer", w},
		{".1.3.6.1.4.1.534.6.6.7.3.5.1.4.0.1", "integer", w},
		{".1.3.6.1.4.1.534.6.6.7.6.5.1.3.0.3", "integer", w},
		{".1.3.6.1.4.1.232.165.7.2.1.1.5.0", "integer", w},
		{".1.3.6.1.4.1.232.165.7.5.1.1.14.0.3", "integer", w},
		{".1.3.6.1.4.1.13742.6.5.2.3.1.4.1.1.5", "gauge", w},
		{".1.3.6.1.4.1.13742.6.3.3.4.1.7.1.1.5", "gauge", "0"},
		{".1.3.6.1.4.1.13742.6.5.4.3.1.4.1.3.5", "gauge", strconv.Itoa(watts * 10)},
		{".1.3.6.1.4.1.13742.6.3.5.4.1.7.1.3.5", "gauge", "1"},
		{".1.3.6.1.4.1.13742.6.5.4.3.1.4.1.4.5", "gauge", w},
		{".1.3.6.1.4.1.13742.6.3.5.4.1.7.1.4.5", "gauge", "0"},
	}
}
