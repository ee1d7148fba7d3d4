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

// choosing is a plan of a platform with a file named by an option beside the same without.
func choosing(option, path string, on *bench.PlatformRef) *Planned {
	p := &bench.Plan{}
	for _, o := range []map[string]string{nil, {option: path}} {
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
	p := choosing(bench.ProgramOption, path, nil)
	if err := p.checkChosen(); err != nil {
		t.Fatal(err)
	}
	got, err := p.Chosen(t.Context())
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
	if _, err := p.Chosen(t.Context()); !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), "ask the program for its version") {
		t.Errorf("no version: %v", err)
	}
	nested := choosing(bench.ProgramOption, path, &bench.PlatformRef{Name: "outer"})
	if err := nested.checkChosen(); !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), "in a nesting") {
		t.Errorf("nested: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{p.checkChosen(), CheckChosen([]store.Chosen{got[0]})} {
		if !errors.Is(err, bench.ErrInvalid) || !errors.Is(err, os.ErrNotExist) {
			t.Errorf("missing: %v", err)
		}
	}
}

// A kernel is a file like a program, but nobody runs it on the host: its release is read.
func TestChosenKernel(t *testing.T) {
	image := make([]byte, 0x1000)
	copy(image[0x202:], "HdrS")
	image[0x20f] = 0x04 // the version is at 0x400 and a sector
	copy(image[0x600:], "6.1.0-28-cloud-amd64 (x) #1")
	path := filepath.Join(t.TempDir(), "bzImage")
	if err := os.WriteFile(path, image, 0o644); err != nil {
		t.Fatal(err)
	}
	p := choosing(bench.KernelOption, path, nil)
	if err := p.checkChosen(); err != nil {
		t.Fatal(err)
	}
	got, err := p.Chosen(t.Context())
	if err != nil || len(got) != 1 || got[0].Option != "kernel" || got[0].Version != "6.1.0-28-cloud-amd64" || got[0].Path != path || !strings.HasPrefix(got[0].Digest, "sha256:") {
		t.Fatalf("%+v, %v", got, err)
	}
	if ProgramsOf(p.Plan, "any") != nil {
		t.Error("a kernel is no program")
	}
	p.request = &Request{From: "theirs", Name: "theirs/spec.yaml"}
	if err := p.Vet(); !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), "would boot \""+path+"\" of this host as the kernel of a guest") || bench.HintOf(err) == "" {
		t.Errorf("another's specification: %v", err)
	}
	p.request.Trust = true
	if err := p.Vet(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(path, image[:0x900], 0o644); err != nil {
		t.Fatal(err)
	}
	if err := CheckChosen(got); !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), "the run used a kernel with digest "+got[0].Digest) {
		t.Errorf("rebuilt: %v", err)
	}
	if err := os.Chmod(path, 0o646); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{p.checkChosen(), CheckChosen(got)} {
		if !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), "kernel "+path+": everybody may write it") {
			t.Errorf("open to all: %v", err)
		}
	}
	nested := choosing(bench.KernelOption, path, &bench.PlatformRef{Name: "outer"})
	outer := choosing("", "", &bench.PlatformRef{Name: "outer", Options: map[string]string{bench.KernelOption: path}})
	for _, p := range []*Planned{nested, outer} {
		if err := p.checkChosen(); !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), "a kernel of this host cannot be chosen in a nesting") {
			t.Errorf("nested: %v", err)
		}
	}
}

// Whoever runs another's experiment is told which of his files would be booted.
func TestAKernelOfOnesOwnIsCarried(t *testing.T) {
	p := &bench.Plan{Image: bench.ImageNeeds{Kernel: &bench.OwnKernel{Kernel: bench.BootFile{Path: "/boot/own"}, Initrd: &bench.BootFile{Path: "/boot/initrd"},
		Disk: &bench.BootFile{Path: "/boot/disk"}}}}
	all, err := carried(p)
	if said := strings.Join(all, "; "); err != nil || said != `boot "/boot/own" of this host as the kernel of a machine; boot it with "/boot/initrd" of this host; `+
		`give it the content of "/boot/disk" of this host as its disk` {
		t.Errorf("%q, %v", said, err)
	}
}

// So is on which other hosts it would run programs, and which configuration ssh would read.
func TestFurtherHostsAreCarried(t *testing.T) {
	all, err := carried(&bench.Plan{Hosts: []bench.FurtherHost{{Name: "load1"}, {Name: "load2", Config: "/etc/own"}}})
	if said := strings.Join(all, "; "); err != nil || said != `run programs as root on the host "load1"; run programs as root on the host "load2"; `+
		`read "/etc/own" of this host as the configuration of ssh` {
		t.Errorf("%q, %v", said, err)
	}
}
