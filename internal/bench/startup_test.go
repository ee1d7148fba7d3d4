package bench

import (
	"strings"
	"testing"
)

func TestStartUpCheck(t *testing.T) {
	good := func() *StartUp {
		return &StartUp{
			Phases: []Span{{Name: PhaseCreate, Start: 10, End: 20}, {Name: PhaseAgent, Start: 20, End: 20}, {Name: PhaseCommand, Start: 20, End: 40}},
			Own:    []Span{{Name: "a", Start: 10, End: 12, Whose: OfTare}, {Name: "b", Start: 12, End: 15, Whose: OfTare}, {Name: "c", Start: 39, End: 40, Whose: OfTare}},
		}
	}
	if err := good().Check(); err != nil {
		t.Fatal(err)
	}
	if u := good(); u.OwnTime() != 6 || u.Phase(PhaseCommand) != 20 || u.Phase(PhaseKernel) != 0 {
		t.Errorf("own %d, first command %d, kernel %d", u.OwnTime(), u.Phase(PhaseCommand), u.Phase(PhaseKernel))
	}
	for want, change := range map[string]func(*StartUp){
		"no phases":                            func(u *StartUp) { u.Phases = nil },
		`phase "first command" begins at 21`:   func(u *StartUp) { u.Phases[2].Start = 21 },
		`phase "agent" from 20 to 20 is out`:   func(u *StartUp) { u.Phases[0].Name = PhaseCommand },
		`phase "nap" from 20`:                  func(u *StartUp) { u.Phases[1].Name = "nap" },
		`phase "create" from 30 to 20 is out`:  func(u *StartUp) { u.Phases[0].Start = 30 },
		`own span "a" of "tare" from 9`:        func(u *StartUp) { u.Own[0].Start = 9 },
		`own span "b" of "tare" from 11`:       func(u *StartUp) { u.Own[1].Start = 11 },
		`own span "c" of "tare" from 39 to 41`: func(u *StartUp) { u.Own[2].End = 41 },
		`own span "b" of "agent"`:              func(u *StartUp) { u.Own[1].Whose = OfAgent },
	} {
		u := good()
		change(u)
		if err := u.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
