package spec_test

import (
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/spec"
	"tare/internal/spec/spectest"
)

func TestMembersHaveAShapeOfTheirOwn(t *testing.T) {
	s := parse(t, one("workload: sort\nshape: {memory: 512MiB, cpus: 2}\nmembers: {count: 2, shape: {memory: 2GiB}}")).Scenes[0]
	if main, member := s.Actors[0].Shape, s.Actors[1].Shape; main.Memory != 512*bench.MiB || member.Memory != 2*bench.GiB || member.CPUs != 2 || s.Members() != 2 {
		t.Errorf("main %+v, members %d of %+v", main, s.Members(), member)
	}
	varied := parse(t, one("workload: sort\nvary: {members: [1, 2, 4]}")).Scenes
	if len(varied) != 3 || varied[2].Members() != 4 || varied[2].Factors[0].Words() != "4 members" {
		t.Errorf("%d scenes, the last %+v", len(varied), varied[len(varied)-1])
	}
}

func TestClustersThatCannotBe(t *testing.T) {
	for text, want := range map[string]string{
		"workload: sort":                                   "sort needs members, which do the work",
		"workload: sort\nmembers: 0":                       "0",
		"workload: sort\nmembers: many":                    `"many" is not a whole number`,
		"workload: sort\nmembers: {shape: {cpus: 2}}":      "members: how many?",
		"workload: sort\nmembers: {count: 2, plat: x}":     `unknown key of members "plat"`,
		"workload: sort\nmembers: 2\nalike: 2\nload: each": "sort is a job of several instances, of which a scene has one",
		"workload: sort\nmembers: 2\nmigrate: live":        "a cluster cannot be migrated",
		"workload: spin\nmembers: 2":                       "workload spin has no part that a member could run",
		"startup: true\nmembers: 2":                        "the subject has none",
		"workload: spin\nbeside: {workload: sort}":         "a neighbour cannot be a cluster",
		"workload: spin\nturns: 50ms\nmembers: 2":          "members has no meaning in a scene in turns",
		"ramp: {to: 3}\nmembers: 2":                        "members",
		"actors: [{workload: sort}, {role: member, platform: lxc}, {role: peer, part: helper}]":                                                  "a member runs on the platform under test",
		"actors: [{workload: sort}, {role: member, workload: spin}, {role: peer, part: helper}]":                                                 "workload has no meaning for the role member",
		"actors: [{workload: sort}, {role: member}, {role: peer, part: worker}]":                                                                 `unknown part of sort "worker"`,
		"actors: [{workload: spin}, {role: member}]":                                                                                             "workload spin has no part that a member could run",
		"actors: [{workload: sort}, {role: peer, part: helper}]":                                                                                 "sort needs members",
		"actors: [{name: a, workload: sort}, {name: b, workload: sort}, {name: c, role: member, serves: a}, {name: d, role: member, serves: b}]": "of which a scene has one",
		"members: 2\nactors: [{workload: spin}]":                                                                                                 "members cannot be given beside actors",
	} {
		_, err := spec.Parse("x.yaml", []byte(one(text)), nil, spectest.Vocabulary())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, not %q", text, err, want)
		}
	}
}
