package containment

import (
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
)

func TestParseMemory(t *testing.T) {
	const text = "MemTotal:       24642888 kB\nMemFree:        20000000 kB\nMemAvailable:   23456788 kB\n"
	m, err := parseMemory([]byte(text))
	if err != nil || m.total != 24642888*bench.KiB || m.available != 23456788*bench.KiB {
		t.Errorf("%+v, %v", m, err)
	}
	for bad, want := range map[string]string{
		"":                                     `no line "MemTotal:"`,
		"MemTotal: 5 kB\n":                     `no line "MemAvailable:"`,
		"MemTotal:\nMemAvailable: 1 kB\n":      "has no number",
		"MemTotal: many kB\nMemAvailable: 1\n": `"MemTotal: many kB" is not a count`,
		"MemTotal: -1 kB\nMemAvailable: 1\n":   "is not a count",
	} {
		if _, err := parseMemory([]byte(bad)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestParseProcess(t *testing.T) {
	const shell = "1234 (a) (odd) name) S 1 1234 1234 0 -1 4194304 300 0 0 0 1 2 0 0 20 0 1 0 987654 4096 100 18446744073709551615"
	if p, ok := parseProcess(shell); !ok || p.name != "a) (odd) name" || p.start != 987654 {
		t.Errorf("%+v, %v", p, ok)
	}
	for _, other := range []string{
		"", "1234", "1234 (x", "1234 (x) S 1",
		strings.Replace(shell, ") S 1", ") Z 1", 1),
		strings.Replace(shell, " 4194304 ", " 69238880 ", 1), // a kernel thread
		strings.Replace(shell, " 987654 ", " soon ", 1),
	} {
		if p, ok := parseProcess(other); ok {
			t.Errorf("%q: %+v", other, p)
		}
	}
}

func FuzzParseProcess(f *testing.F) {
	f.Add("1 (init) S 0 1 1 0 -1 4194560 300 0 0 0 1 2 0 0 20 0 1 0 5 4096 100")
	f.Fuzz(func(t *testing.T, line string) { parseProcess(line) })
}

func TestGone(t *testing.T) {
	before := map[int]process{1: {"init", 5}, 20: {"sshd", 7}, 30: {"old", 9}}
	after := map[int]process{1: {"init", 5}, 30: {"new", 99}}
	if got := strings.Join(gone(before, after), ", "); got != "sshd (20), old (30)" {
		t.Error(got)
	}
}

func TestOverdueStarts(t *testing.T) {
	s := newStarts("true")
	long := time.Hour
	for _, c := range []struct {
		took     []time.Duration
		under    time.Duration // that a start is under way; 0 for none
		overdue  bool
		complain string
	}{
		{nil, 0, false, "nothing was started yet"},
		{[]time.Duration{time.Millisecond}, 0, false, "the last start was quick"},
		{[]time.Duration{long, time.Millisecond}, 0, false, "the last start was quick, whatever was before"},
		{[]time.Duration{time.Millisecond, long}, 0, true, "the last start was slow"},
		{[]time.Duration{time.Millisecond}, time.Minute, true, "one has been under way for long"},
		{nil, time.Minute, true, "the first has been under way for long"},
	} {
		s.took, s.began, s.good = c.took, time.Time{}, time.Now().Add(-time.Minute)
		if c.under > 0 {
			s.began = time.Now().Add(-c.under)
		}
		if got := s.overdue(time.Second); got > 30*time.Second != c.overdue {
			t.Errorf("%s: overdue for %v", c.complain, got)
		}
	}
}

func TestFill(t *testing.T) {
	s := newStarts("true")
	for i := 1; i <= 200; i++ {
		s.took = append(s.took, time.Duration(i)*time.Millisecond)
	}
	var w bench.Watch
	s.fill(&w)
	if w.P50 != 100 || w.P99 != 198 || w.Max != 200 || len(w.Starts) != 200 || w.Starts[0] != 1 {
		t.Errorf("P50 %v, P99 %v, max %v of %d", w.P50, w.P99, w.Max, len(w.Starts))
	}
	// One under way has taken at least what it took so far.
	s.began = time.Now().Add(-time.Hour)
	w = bench.Watch{}
	if s.fill(&w); w.Max < 3.6e6 || len(w.Starts) != 201 {
		t.Errorf("max %v of %d", w.Max, len(w.Starts))
	}
	w = bench.Watch{}
	if newStarts("true").fill(&w); w.P99 != 0 || w.Starts != nil {
		t.Errorf("nothing was started: %+v", w)
	}
}
