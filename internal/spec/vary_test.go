package spec_test

import (
	"strings"
	"testing"

	"tare/internal/spec"
	"tare/internal/spec/spectest"
)

// A level is said as people call it, or by its factor.
func TestWordsOfLevels(t *testing.T) {
	for _, c := range []struct {
		factor spec.Factor
		want   string
	}{
		{spec.Factor{Name: "threads", Level: "1"}, "1 thread"},
		{spec.Factor{Name: "threads", Level: "16"}, "16 threads"},
		{spec.Factor{Name: "alike", Level: "2"}, "2 instances"},
		{spec.Factor{Name: "message-size", Level: "16KiB"}, "message size 16 KiB"},
		{spec.Factor{Name: "shape.cpu_quota", Level: "0.25"}, "cpu quota 0.25"},
		{spec.Factor{Name: "beside.params.kind", Level: "io"}, "kind io"},
		{spec.Factor{Name: "conditions.frequency", Level: "1.2GHz"}, "frequency 1.2 GHz"},
		{spec.Factor{Name: "conditions.frequency", Level: "75%"}, "frequency 75%"},
		{spec.Factor{Name: "beside.params.kind", Level: "io", Called: "writing to the disk"}, "writing to the disk"},
	} {
		if got := c.factor.Words(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.factor, got, c.want)
		}
	}
}

// The levels of a mapping are those of a list, with words for people.
func TestLevelsThatPeopleCall(t *testing.T) {
	read := func(levels string) (*spec.Experiment, error) {
		return spec.Parse("mine.yaml", []byte("name: mine\nplatforms: native\nscenes:\n  - name: load\n    workload: spin\n    vary: {threads: "+levels+"}\n"), nil, spectest.Vocabulary())
	}
	e, err := read("{1: one thread, 2: a pair}")
	if err != nil {
		t.Fatal(err)
	}
	list, err := read("[1, 2]")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []spec.Factor{{Name: "threads", Level: "1", Called: "one thread"}, {Name: "threads", Level: "2", Called: "a pair"}} {
		if got := e.Scenes[i]; got.Factors[0] != want || got.Actors[0].Params["threads"] != list.Scenes[i].Actors[0].Params["threads"] {
			t.Errorf("scene %d: %+v, params %v", i, got.Factors, got.Actors[0].Params)
		}
	}
	for levels, want := range map[string]string{
		`{1: ""}`:              "1: what people call this level is words in one line",
		`{1: [one]}`:           "1: what people call this level is words in one line",
		"{1: \"one\\ntwo\"}":   "1: what people call this level is words in one line",
		"{1: one, 1: another}": `"1" is given twice`,
		"{}":                   "threads is varied over a list, found an empty mapping",
	} {
		if _, err := read(levels); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", levels, err, want)
		}
	}
}

// A level of a factor that joins several paths is set at all of them; the first names it.
func TestJoinedFactor(t *testing.T) {
	read := func(key string) (*spec.Experiment, error) {
		return spec.Parse("mine.yaml", []byte("name: mine\nplatforms: native\nscenes:\n  - name: load\n    workload: spin\n    beside: {workload: spin}\n    vary: {"+key+": [1, 2]}\n"), nil, spectest.Vocabulary())
	}
	e, err := read("threads+beside.params.threads")
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Scenes) != 2 {
		t.Fatalf("%d scenes, want 2", len(e.Scenes))
	}
	for _, s := range e.Scenes {
		level := s.Factors[0].Level
		if s.Factors[0].Name != "threads" || s.Actors[0].Params["threads"] != level || s.Actors[1].Params["threads"] != level {
			t.Errorf("%s: %v beside %v", s.Case(), s.Actors[0].Params, s.Actors[1].Params)
		}
	}
	for key, want := range map[string]string{
		"threads+colour.x":              "colour",
		"threads+":                      "",
		"threads+beside.workload":       "beside.workload is both set and varied",
		"beside.params.threads+threads": "-",
	} {
		_, err := read(key)
		if want == "-" && err == nil {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", key, err, want)
		}
	}
}
