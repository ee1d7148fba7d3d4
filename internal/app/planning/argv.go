package planning

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/image"
	"tare/internal/plan"
	"tare/internal/spec"
)

// CheckPrograms is an error for a program of the user's own that no instance can start, since it is
// not in the image and is not copied: otherwise every one of its trials would fail. Nothing is said
// of what is not sure, such as what a warm-up may make, or while the image is not built.
func (p *Planned) CheckPrograms() error {
	var faults spec.Errors
	config, err := p.imageConfig()
	if err != nil {
		return err
	}
	for _, s := range p.experiment.Scenes {
		for _, a := range s.Actors {
			w := p.words.Workload(a.Workload)
			images, setting := p.images, bench.Setting{}
			if w != nil {
				setting = plan.Setting(s.Timing, a.Shape, s.Members(), p.Facts.LLC, w)
			}
			if a.Role != bench.Peer && p.own != nil {
				images, setting.Image = p.own, config
			}
			carrier, carries := w.(bench.Carrier)
			if !carries {
				if err := lacks(images, w); err != nil {
					faults = append(faults, a.Places.At("workload").Error(err))
				}
				continue
			}
			part, err := w.Steps(a.Part, a.Params, setting)
			if err != nil {
				return err
			}
			first, param := part.Main, "params."+carrier.Program(a.Part)
			if len(part.Warm) > 0 { // it may make the program
				first, param = part.Warm[0], "params.warmup"
			}
			if len(first.Argv) == 0 { // the server is the kernel that the machine boots
				continue
			}
			hint := p.copyHint(first.Argv[0], setting.Image == nil)
			if err := find(images, first, part.Files, hint); err != nil {
				faults = append(faults, a.Places.At(param+".0").Error(err))
			}
		}
	}
	if len(faults) > 0 {
		return faults.Sorted()
	}
	return nil
}

// imageConfig is how the user's image says its programs are run; nil if there is none, or while it is
// not taken.
func (p *Planned) imageConfig() (*bench.ImageConfig, error) {
	if p.own == nil {
		return nil, nil
	}
	m, err := p.own.Manifest()
	if errors.Is(err, bench.ErrUnavailable) {
		return nil, nil
	}
	return m.Config, err
}

// lacks says which program of a workload an image of the user's own has not; nil if it has all, or if
// that is not known.
func lacks(images *image.Store, w bench.Workload) error {
	if w == nil || images.Recipe.Own == "" {
		return nil
	}
	for _, name := range w.Programs() {
		if err := find(images, bench.Command{Argv: []string{name}}, nil, ""); err != nil {
			return fmt.Errorf("workload %s runs %s, which your image lacks: %w%w", w.Name(), name, bench.ErrInvalid,
				bench.Hint("only command and service run an image's own programs"))
		}
	}
	return nil
}

// unsure are the directories of an instance that are not the image's.
var unsure = []string{"/dev", "/proc", "/run", "/sys", "/var/run"}

// find says why an instance cannot start a command, and how it could get its program; nil if it can, or
// if that is not known.
func find(images *image.Store, c bench.Command, files []bench.File, hint bench.Hint) error {
	name := c.Argv[0]
	if strings.Contains(name, "/") {
		file := name
		if !path.IsAbs(file) {
			file = path.Join(c.Dir, file)
		}
		if !path.IsAbs(file) {
			return nil
		}
		if why := startable(images, file, files); why != "" {
			return fmt.Errorf("program %s %s%w", name, why, hint)
		}
		return nil
	}
	search, ok := c.Env["PATH"]
	if !ok {
		search = bench.CommandPath
	}
	why := ""
	var there []string
	for dir := range strings.SplitSeq(search, ":") {
		switch why = startable(images, path.Join(dir, name), files); {
		case dir == "":
			continue
		case !path.IsAbs(dir) || why == "":
			return nil
		}
		there = append(there, images.Names(dir)...)
	}
	if why == "" {
		return nil
	}
	if slices.ContainsFunc(files, func(f bench.File) bool { return path.Base(f.Path) == name }) {
		return fmt.Errorf("program %q is not in the PATH%w", name, bench.Hint("it is copied into "+bench.ScratchDir+": write ./"+name))
	}
	return fmt.Errorf("program %q is neither in the image nor copied%s%w", name, bench.DidYouMean(name, there), hint)
}

// startable says why a file of an instance cannot be started; "" if it can, or if that is not known.
func startable(images *image.Store, file string, files []bench.File) string {
	file = path.Clean(file)
	if slices.ContainsFunc(unsure, func(dir string) bool { return strings.HasPrefix(file, dir+"/") }) ||
		slices.ContainsFunc(files, func(f bench.File) bool { return path.Clean(f.Path) == file }) {
		return ""
	}
	mode, err := images.Stat(file)
	switch {
	case errors.Is(err, bench.ErrUnavailable):
	case errors.Is(err, fs.ErrNotExist):
		return "is neither in the image nor copied"
	case err != nil:
	case mode.IsDir():
		return "is a directory"
	case mode.Perm()&0o111 == 0:
		return "is not executable"
	}
	return ""
}

// copyHint says how a program gets into the instances, from where this host has it, in the words of the
// file or command line that asks for it. Packages are for the golden image.
func (p *Planned) copyHint(name string, golden bool) bench.Hint {
	base := path.Base(name)
	from := "./" + base
	for dir := range strings.SplitSeq(bench.CommandPath, ":") {
		file := path.Join(dir, name)
		if info, err := os.Stat(file); base == name && err == nil && info.Mode().IsRegular() {
			from = file
			break
		}
	}
	how := fmt.Sprintf("files: [%s], and then ./%s in its place", from, base)
	if p.request.typed() {
		how = fmt.Sprintf("--file %s, and then ./%s in its place", from, base)
		if golden {
			how = "--add PACKAGE for its Debian package; or " + how
		}
	}
	return bench.Hint("instances have the image's programs and what is copied: " + how)
}
