package planning

import (
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

// chosen are the platforms of a plan that choose their program, each once.
func chosen(p *bench.Plan) []bench.PlatformRef {
	var refs []bench.PlatformRef
	for _, s := range p.Scenes {
		for _, a := range s.Actors {
			for ref := &a.Platform; ref != nil; ref = ref.On {
				if ref.Options[bench.ProgramOption] != "" && !slices.ContainsFunc(refs, func(r bench.PlatformRef) bool { return r.String() == a.Platform.String() }) {
					refs = append(refs, a.Platform)
				}
			}
		}
	}
	return refs
}

// ProgramsOf are the paths of the programs that a plan chooses for a driver, each once.
func ProgramsOf(p *bench.Plan, driver string) []string {
	var paths []string
	for _, ref := range chosen(p) {
		if path := ref.Options[bench.ProgramOption]; ref.Driver() == driver && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// checkPrograms is an error for a chosen program that cannot be run: otherwise
// every launch would fail.
func (p *Planned) checkPrograms() error {
	for _, ref := range chosen(p.Plan) {
		if ref.On != nil {
			return fmt.Errorf("platform %s: a program of this host cannot be chosen in a nesting: %w%w", ref, bench.ErrInvalid,
				bench.Hint("leave the option "+bench.ProgramOption+" out"))
		}
		if _, err := digest(ref.Options[bench.ProgramOption]); err != nil {
			return fmt.Errorf("platform %s: %w", ref, err)
		}
	}
	return nil
}

// Programs are the programs that the plan's platforms choose, with their digests and
// the versions that they print. It runs them, so [Planned.Vet] comes before.
func (p *Planned) Programs(ctx context.Context) ([]store.Chosen, error) {
	var all []store.Chosen
	for _, ref := range chosen(p.Plan) {
		c := store.Chosen{Platform: ref.String(), Path: ref.Options[bench.ProgramOption]}
		var err error
		if c.Digest, err = digest(c.Path); err != nil {
			return nil, fmt.Errorf("platform %s: %w", ref, err)
		}
		if c.Version, err = launch.VersionBy(ctx, c.Path, p.asked(ref)...); err != nil {
			return nil, fmt.Errorf("platform %s: ask the program for its version: %w: %w%w", ref, err, bench.ErrInvalid,
				bench.Hint("it must print one, as the platform's own program does"))
		}
		all = append(all, c)
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

// CheckChosen is an error if a program is no longer the one that a run was begun with.
func CheckChosen(programs []store.Chosen) error {
	for _, c := range programs {
		now, err := digest(c.Path)
		if err != nil {
			return fmt.Errorf("platform %s: %w", c.Platform, err)
		}
		if now != c.Digest {
			return fmt.Errorf("platform %s: the run used a program with digest %s, %s has %s now: %w%w", c.Platform, c.Digest, c.Path, now, bench.ErrInvalid,
				bench.Hint("trials of different programs must not be mixed; start a new run"))
		}
	}
	return nil
}

// digest reads a program that root is to run: "sha256:...".
func digest(path string) (string, error) {
	invalid := func(what string, hint bench.Hint) error {
		return fmt.Errorf("program %s: %s: %w%w", path, what, bench.ErrInvalid, hint)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", fmt.Errorf("program: %w: %w%w", err, bench.ErrInvalid, bench.Hint("its path is relative to the directory tare is started in"))
	case !info.Mode().IsRegular():
		return "", invalid("not a file", "name the program itself")
	case info.Mode()&0o111 == 0:
		return "", invalid("not executable", "chmod +x makes it so")
	case info.Mode()&0o002 != 0:
		return "", invalid("everybody may write it, and root would run it", "chmod o-w")
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read the program: %w: %w", err, bench.ErrInvalid)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read the program: %w: %w", err, bench.ErrInvalid)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}
