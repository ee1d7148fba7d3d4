package cgroup

import "testing"

func TestKilledIn(t *testing.T) {
	for text, want := range map[string]int{
		"low 0\nhigh 0\nmax 76\noom 3\noom_kill 2\noom_group_kill 1\n": 2,
		"oom_kill_disable 0\nunder_oom 0\noom_kill 1\n":                1,
		"oom_kill_disable 0\nunder_oom 0\n":                            0, // before Linux 4.13
		"":                                                             0,
	} {
		if got, err := killedIn(text); got != want || err != nil {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	if _, err := killedIn("oom_kill many\n"); err == nil {
		t.Error("a count of nonsense was accepted")
	}
}
