package snmp

import (
	"testing"

	"github.com/gosnmp/gosnmp"
)

func TestModelOf(t *testing.T) {
	for object, want := range map[string]string{
		".1.3.6.1.4.1.318.1.3.4.6": "apc", "1.3.6.1.4.1.534.6.6.7": "eaton", ".1.3.6.1.4.1.232.165.7": "hpe", ".1.3.6.1.4.1.13742.6": "raritan",
		".1.3.6.1.4.1.8072.3.2.10": "", ".1.3.6.1.4.1.3180": "", "": "", ".1.3.6.1.4.1.": "",
	} {
		if m, ok := modelOf(object); ok != (want != "") || m.name != want {
			t.Errorf("%q is %q", object, m.name)
		}
	}
}

// FuzzNumbers puts answers on the wire's form through the library and ours.
func FuzzNumbers(f *testing.F) {
	f.Add(byte(gosnmp.Integer), []byte("160"), int64(160), 1)
	f.Add(byte(gosnmp.NoSuchInstance), []byte(nil), int64(0), 1)
	f.Fuzz(func(t *testing.T, kind byte, text []byte, n int64, want int) {
		for _, value := range []any{text, n, int(n), uint(n), uint32(n), uint64(n), string(text), nil} {
			v, err := numbers([]gosnmp.SnmpPDU{{Name: ".1.3", Type: gosnmp.Asn1BER(kind), Value: value}}, want)
			if err == nil && len(v) != want {
				t.Errorf("%d numbers, want %d", len(v), want)
			}
		}
	})
}
