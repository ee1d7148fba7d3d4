package planning

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"

	"tare/internal/bench"
	"tare/internal/platform/launch"
	"tare/internal/result/store"
)

// choice is a file of this host that a platform of a plan names by an option.
type choice struct {
	ref    bench.PlatformRef
	option string
	path   string // "" if the outer platform of a nesting names it
}

// chosen are the files that the platforms of a plan name, each once.
func chosen(p *bench.Plan) []choice {
	var all []choice
	known := map[string]bool{}
	for _, s := range p.Scenes {
		for _, a := range s.Actors {
			for _, option := range []string{bench.ProgramOption, bench.KernelOption} {
				if key := option + " " + a.Platform.String(); names(a.Platform, option) && !known[key] {
					known[key] = true
					all = append(all, choice{a.Platform, option, a.Platform.Options[option]})
				}
			}
		}
	}
	return all
}

// names reports whether a platform, or one that it runs in, has the option.
func names(ref bench.PlatformRef, option string) bool {
	for r := &ref; r != nil; r = r.On {
		if r.Options[option] != "" {
			return true
		}
	}
	return false
}

// ProgramsOf are the paths of the programs that a plan chooses for a driver, each once.
func ProgramsOf(p *bench.Plan, driver string) []string {
	var paths []string
	for _, c := range chosen(p) {
		if c.option == bench.ProgramOption && c.ref.Driver() == driver && !slices.Contains(paths, c.path) {
			paths = append(paths, c.path)
		}
	}
	return paths
}

// checkChosen is an error for a chosen file that cannot be used: otherwise
// every launch would fail.
func (p *Planned) checkChosen() error {
	for _, c := range chosen(p.Plan) {
		if c.ref.On != nil {
			return fmt.Errorf("platform %s: a %s of this host cannot be chosen in a nesting: %w%w", c.ref, c.option, bench.ErrInvalid,
				bench.Hint("leave the option "+c.option+" out"))
		}
		if _, err := digest(c.option, c.path); err != nil {
			return fmt.Errorf("platform %s: %w", c.ref, err)
		}
	}
	return nil
}

// Chosen are the files that the plan's platforms choose, with their digests, the versions
// that programs print and the releases of kernels. It runs programs, so [Planned.Vet] comes before.
func (p *Planned) Chosen(ctx context.Context) ([]store.Chosen, error) {
	var all []store.Chosen
	for _, c := range chosen(p.Plan) {
		f := store.Chosen{Platform: c.ref.String(), Path: c.path}
		var err error
		if f.Digest, err = digest(c.option, c.path); err != nil {
			return nil, fmt.Errorf("platform %s: %w", c.ref, err)
		}
		if c.option == bench.KernelOption {
			f.Option = c.option
			f.Version, err = launch.KernelRelease(c.path)
		} else if f.Version, err = launch.VersionBy(ctx, c.path, p.asked(c.ref)...); err != nil {
			err = fmt.Errorf("ask the program for its version: %w: %w%w", err, bench.ErrInvalid,
				bench.Hint("it must print one, as the platform's own program does"))
		}
		if err != nil {
			return nil, fmt.Errorf("platform %s: %w", c.ref, err)
		}
		all = append(all, f)
	}
	return all, nil
}

// asked are the arguments that make a platform's chosen program print its version.
func (p *Planned) asked(ref bench.PlatformRef) []string {
	for _, word := range p.words.Platforms {
		for _, o := range word.Options {
			if word.Name == ref.Name && o.Name == bench.ProgramOption && o.Asked != nil {
				return o.Asked
			}
		}
	}
	return []string{"--version"}
}

// CheckChosen is an error if a file is no longer the one that a run was begun with.
func CheckChosen(files []store.Chosen) error {
	for _, c := range files {
		option := cmp.Or(c.Option, bench.ProgramOption)
		now, err := digest(option, c.Path)
		if err != nil {
			return fmt.Errorf("platform %s: %w", c.Platform, err)
		}
		if now != c.Digest {
			return fmt.Errorf("platform %s: the run used a %s with digest %s, %s has %s now: %w%w", c.Platform, option, c.Digest, c.Path, now, bench.ErrInvalid,
				bench.Hint("trials of different "+option+"s must not be mixed; start a new run"))
		}
	}
	return nil
}

// digest reads a program that root is to run, or a kernel that a guest is to boot: "sha256:...".
func digest(option, path string) (string, error) {
	invalid := func(what string, hint bench.Hint) error {
		return fmt.Errorf("%s %s: %s: %w%w", option, path, what, bench.ErrInvalid, hint)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w: %w%w", option, err, bench.ErrInvalid, bench.Hint("its path is relative to the directory tare is started in"))
	case !info.Mode().IsRegular():
		return "", invalid("not a file", bench.Hint("name the "+option+" itself"))
	case option == bench.ProgramOption && info.Mode()&0o111 == 0:
		return "", invalid("not executable", "chmod +x makes it so")
	case info.Mode()&0o002 != 0:
		return "", invalid("everybody may write it, and root would run it", "chmod o-w")
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read the %s: %w: %w", option, err, bench.ErrInvalid)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read the %s: %w: %w", option, err, bench.ErrInvalid)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}
