package proc

import (
	"slices"
	"testing"
)

const swapsHead = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"

func TestParseSwaps(t *testing.T) {
	for text, want := range map[string][]Swap{
		"":        nil,
		swapsHead: nil,
		swapsHead + "/dev/dm-1                               partition\t8388604\t\t1024\t\t-2\n" +
			"/var/my\\040swap                         file\t\t4\t\t0\t\t32767\n": {{"/dev/dm-1", 8388604 << 10, 1 << 20}, {"/var/my swap", 4096, 0}},
	} {
		if got, err := ParseSwaps([]byte(text)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, bad := range []string{"/dev/sda2 partition 5 x -2", "/dev/sda2 partition 5 6 -2", "/dev/sda2 partition 5", "a b -1 -2 3", "a b 9999999999999999999 0 3"} {
		if got, err := ParseSwaps([]byte(swapsHead + bad + "\n")); err == nil {
			t.Errorf("%q was read as %v", bad, got)
		}
	}
}

func FuzzParseSwaps(f *testing.F) {
	f.Add([]byte(swapsHead + "/dev/sda2 partition 8388604 0 -2\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := ParseSwaps(b)
		for _, s := range all {
			if err != nil || s.Used < 0 || s.Used > s.Size {
				t.Errorf("%q: %+v, %v", b, s, err)
			}
		}
	})
}
