package redfish

import "testing"

func FuzzWatts(f *testing.F) {
	f.Add([]byte(`{"PowerControl":[{"PowerConsumedWatts":344}]}`))
	f.Add([]byte(`{"PowerWatts":{"Reading":123.5}}`))
	f.Add([]byte(`{"PowerControl":[null]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if w, err := Watts(body); err == nil && !(w > 0) {
			t.Errorf("%q is %g W", body, w)
		}
	})
}
