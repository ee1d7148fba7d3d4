package planning

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result/store"
)

// choosing is a plan of a platform with a program beside the same without.
func choosing(path string, on *bench.PlatformRef) *Planned {
	p := &bench.Plan{}
	for _, o := range []map[string]string{nil, {bench.ProgramOption: path}} {
		ref := bench.PlatformRef{Name: "any", Options: o, On: on}
		actors := []bench.Actor{{Name: "subject", Platform: ref}, {Name: "subject-2", Platform: ref}}
		p.Scenes = append(p.Scenes, bench.Scene{Platform: ref, Actors: actors})
	}
	return &Planned{Plan: p}
}

func TestChosenPrograms(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("echo any version 1.2.3")
	p := choosing(path, nil)
	if err := p.checkPrograms(); err != nil {
		t.Fatal(err)
	}
	got, err := p.Programs(t.Context())
	if err != nil || len(got) != 1 || got[0].Platform != "any[program="+path+"]" || got[0].Path != path || got[0].Version != "1.2.3" || !strings.HasPrefix(got[0].Digest, "sha256:") {
		t.Fatalf("%+v, %v", got, err)
	}
	if paths := ProgramsOf(p.Plan, "any"); len(paths) != 1 || paths[0] != path || ProgramsOf(p.Plan, "other") != nil {
		t.Errorf("%q", paths)
	}
	if err := CheckChosen(got); err != nil {
		t.Error(err)
	}
	write("echo any version 1.2.3 # rebuilt")
	if err := CheckChosen(got); !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), "the run used a program with digest "+got[0].Digest) {
		t.Errorf("another program: %v", err)
	}
	write("echo nothing")
	if _, err := p.Programs(t.Context()); !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), "ask the program for its version") {
		t.Errorf("no version: %v", err)
	}
	nested := choosing(path, &bench.PlatformRef{Name: "outer"})
	if err := nested.checkPrograms(); !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), "in a nesting") {
		t.Errorf("nested: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{p.checkPrograms(), CheckChosen([]store.Chosen{got[0]})} {
		if !errors.Is(err, bench.ErrInvalid) || !errors.Is(err, os.ErrNotExist) {
			t.Errorf("missing: %v", err)
		}
	}
}
