package session

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/app/planning"
	"tare/internal/bench"
	"tare/internal/platform/launch"
)

// outside begins, in a nesting, the name of a program of the host.
const outside = "outer "

// programsOf names the programs of the host that a platform runs for a plan: those of its traits,
// with what the chosen options need, and those whose versions its check has told. Of a platform that
// is not in the plan they are none.
func programsOf(c planning.Checked, p *bench.Plan) (names []string) {
	used := map[string]bool{}
	for _, s := range p.Scenes {
		for _, a := range s.Actors {
			if a.Platform.Driver() == c.Name() {
				used[""] = true
				for _, value := range bench.Variant(c.Options(), a.Platform.DriverOptions()) {
					used[value] = true
				}
			}
		}
	}
	if len(used) == 0 {
		return nil
	}
	for _, n := range c.Traits().Programs {
		if used[n.For] {
			names = append(names, n.Name)
		}
	}
	nesting := strings.Contains(c.Name(), "@")
	for name := range c.Availability.Programs {
		inHost := !nesting
		if nesting { // the others are in the image of the outer guest
			name, inHost = strings.CutPrefix(name, outside)
		}
		if inHost {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// fingerprint reads the files of the programs that are installed, found as drivers find them.
func fingerprint(names []string) (files []bench.ProgramFile, err error) {
	for _, name := range names {
		path, err := launch.Program(name)
		if err != nil {
			continue // such as "xen", which is no file, or what only another option needs
		}
		f, err := fingerprintOf(name, path)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

func fingerprintOf(name, path string) (f bench.ProgramFile, err error) {
	fail := func(err error) (bench.ProgramFile, error) {
		return bench.ProgramFile{}, fmt.Errorf("read program %s: %w", name, err)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return fail(err)
	}
	file, err := os.Open(path)
	if err != nil {
		return fail(err)
	}
	defer file.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, file)
	if err != nil {
		return fail(err)
	}
	return bench.ProgramFile{Name: name, Path: path, Digest: "sha256:" + hex.EncodeToString(sum.Sum(nil)), Size: bench.Bytes(n)}, nil
}

// exchanged is an error if a program is not the file that the run began with.
func exchanged(was []bench.ProgramFile) error {
	for _, f := range was {
		path, err := launch.Program(f.Name)
		if err != nil {
			return fmt.Errorf("the run used %s: %w: %w", f, err, bench.ErrInvalid)
		}
		now, err := fingerprintOf(f.Name, path)
		if err != nil {
			return err
		}
		if now.Digest != f.Digest {
			return fmt.Errorf("the run used %s, this host has %s now: %w", f, now, bench.ErrInvalid)
		}
	}
	return nil
}
