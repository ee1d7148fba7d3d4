package result

import (
	"testing"

	"tare/internal/analysis/stats"
)

func TestNeeded(t *testing.T) {
	for _, c := range []struct {
		n    stats.Need
		want string
	}{
		{stats.Need{N: 12, Low: 7, High: 31}, "about 12 blocks (7 to 31)"},
		{stats.Need{N: 12, Low: 7}, "about 12 blocks (7 to more than 1000)"},
		{stats.Need{N: 3, Low: 3, High: 3}, "about 3 blocks"},
		{stats.Need{}, "more than 1000 blocks"},
	} {
		if got := Needed(c.n, "block"); got != c.want {
			t.Errorf("%+v: %q, not %q", c.n, got, c.want)
		}
	}
}
