package plan_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/plan"
)

// A scene whose conditions the host does not let be set is left out with the
// reason, as one of a platform it does not have; the others are planned.
func TestConditions(t *testing.T) {
	const text = `
name: x
platforms: native, docker
conditions: {thp: never}
scenes:
  - name: a
    startup: true
    vary: {conditions.governor: [performance, schedutil]}
  - {name: b, startup: true, conditions: {thp: always}}
`
	in := inputs(2)
	in.Host.Controls = map[string]bench.Control{
		bench.CondTHP:      {Values: []string{"always", "madvise", "never"}},
		bench.CondGovernor: {Values: []string{"performance", "powersave"}},
	}
	p := planned(t, text, in)
	var got []string
	for _, s := range p.Scenes {
		got = append(got, fmt.Sprint(s.ID, " ", s.Conditions))
	}
	want := "a[conditions.governor=performance]/native map[governor:performance thp:never], " +
		"a[conditions.governor=performance]/docker map[governor:performance thp:never], b/native map[thp:always], b/docker map[thp:always]"
	if strings.Join(got, ", ") != want {
		t.Errorf("scenes %q, want %q", got, want)
	}
	if w := fmt.Sprint(p.Warnings); !strings.Contains(w, "a[conditions.governor=schedutil]: left out: governor schedutil: this host has performance, powersave") {
		t.Errorf("warnings %s", w)
	}
	in.Host.Controls[bench.CondTHP] = bench.Control{Why: "no huge pages"}
	if _, err := plan.Make(read(t, text), in); !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), "no huge pages") {
		t.Errorf("where nothing can be set: %v", err)
	}
}

// The machine rests around each block only where a meter says what it draws then.
func TestRest(t *testing.T) {
	const text = "name: x\nblocks: 4\nrest: 7s\nplatforms: native\nscenes: [{name: a, startup: true}]\n"
	in := inputs(2)
	without := planned(t, text, in)
	if without.Idle != 0 || len(without.Idles()) != 0 {
		t.Errorf("a rest of %v that nobody measures", without.Idle)
	}
	in.Power = true
	with := planned(t, text, in)
	if with.Idle != 7*time.Second || len(with.Idles()) != 8 || with.Idles()[7].ID != "b04-rest2" {
		t.Errorf("rest %v, %v", with.Idle, with.Idles())
	}
	if got, want := with.Estimate-without.Estimate, 8*(7*time.Second+bench.IdleSettle).Seconds(); got != want {
		t.Errorf("it takes %g s more, want %g", got, want)
	}
}
