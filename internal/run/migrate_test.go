package run

import "testing"

func TestSilence(t *testing.T) {
	const ms = 1_000_000
	for name, c := range map[string]struct {
		at   []int64
		want int64 // 0: an error
	}{
		"stopped for 300 ms":         {[]int64{0, 90, 100, 110, 410, 420, 430}, 300},
		"late only after the move":   {[]int64{0, 90, 100, 410, 420, 620}, 310},
		"silence before it is none":  {[]int64{0, 90, 410, 420}, 320},
		"long after is none of ours": {[]int64{0, 100, 420, 690, 9000}, 320},
		"never heard":                {nil, 0},
		"not before":                 {[]int64{110, 420}, 0},
		"not after":                  {[]int64{90, 399}, 0},
	} {
		b := &beats{}
		for _, at := range c.at {
			b.at = append(b.at, at*ms)
		}
		got, err := b.silence(100*ms, 400*ms)
		if got != c.want*ms || (err != nil) != (c.want == 0) {
			t.Errorf("%s: %d ms, %v; want %d ms", name, got/ms, err, c.want)
		}
	}
}
