package bench

import "testing"

func TestNearest(t *testing.T) {
	for _, c := range []struct{ word, want string }{
		{"qick", "quick"},
		{"quikc", "quick"},           // two letters in the wrong order are one slip
		{"tcg", "qemu-tcg"},          // the only one that contains it
		{"systemd-nspawn", "nspawn"}, // the only one within it
		{"Quick", "quick"},
		{"rate", ""}, {"xen", ""}, {"", ""}, {"a-kvm-b", ""}, // none; several; nothing; a word too short to be meant
	} {
		if got := Nearest(c.word, []string{"quick", "qemu-tcg", "nspawn", "xen-pv", "xen-hvm", "kvm"}); got != c.want {
			t.Errorf("%q: %q, want %q", c.word, got, c.want)
		}
	}
}

func TestUnknownWord(t *testing.T) {
	err := UnknownWord("metric", "laency", []string{"latency", "rate"})
	if err.Error() != `unknown metric "laency"; did you mean "latency"?` || HintOf(err) != "one of: latency, rate" {
		t.Errorf("%v, hint %q", err, HintOf(err))
	}
	if err := UnknownWord("metric", "x", nil); err.Error() != `unknown metric "x"` || HintOf(err) != "there are none" {
		t.Errorf("%v, hint %q", err, HintOf(err))
	}
}
