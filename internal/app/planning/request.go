package planning

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"tare/internal/app/site"
	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/image"
	"tare/internal/image/own"
	"tare/internal/result/store"
	"tare/internal/spec"
	"tare/internal/spec/builtin"
)

// Request is what a user asks to be planned.
type Request struct {
	Name      string   // a path or a built-in's name; "" for a Text that is from nowhere
	Text      []byte   // the specification itself, if it is not to be looked up by name
	Set       []string // values of the specification to replace: path=value
	Insist    bool     // a platform that the specification names must be able to run here
	Platforms []string // those to measure instead, one reference each; nil for the specification's
	Seed      *uint64  // of the order of trials; nil for the specification's, or one that is chosen
	Meters    []string // power meters, by name
	From      string   // the folder of a run whose experiment it is
	Trust     bool     // to run another's programs and copy what they name
	ours      bool     // the run in From began on this host
	own       *own.Source
}

// userFile says whether the specification is a file that the user names: no built-in, nor of another run.
func (r *Request) userFile() bool {
	_, err := builtin.Find(r.Name)
	return err != nil && r.Text == nil && r.From == ""
}

// Own is the image of the user's own that the specification names, as it was first planned with; nil
// for none.
func (r *Request) Own() *own.Source { return r.own }

// Close lets go of the image of the user's own, whose identity stays known.
func (r *Request) Close() error {
	if r.own == nil {
		return nil
	}
	return r.own.Close()
}

// image finds the image that the instances are to run, once for all plans.
func (r *Request) image(ctx context.Context, dir string, e *spec.Experiment) (*bench.OwnImage, error) {
	if e.Image == "" {
		return nil, nil
	}
	if r.own == nil {
		var err error
		if r.own, err = image.New(dir).OpenOwn(ctx, e.Image); err != nil {
			return nil, spec.Errors{e.Places.At("image.from").Error(err)}
		}
	}
	return &bench.OwnImage{From: e.Image, ID: r.own.ID()}, nil
}

// kernel reads the kernel of the user's own that machines without an agent are to boot; nil for none.
func kernel(ctx context.Context, e *spec.Experiment) (*bench.OwnKernel, error) {
	if e.Kernel == nil {
		return nil, nil
	}
	k, err := own.Kernel(ctx, *e.Kernel)
	if errors.Is(err, bench.ErrInvalid) {
		at := "image.kernel"
		for _, name := range []string{own.InitrdName, own.DiskName} {
			if strings.HasPrefix(err.Error(), name) {
				at = "image." + name
			}
		}
		return nil, spec.Errors{e.Places.At(at).Error(err)}
	}
	return k, err
}

// Take takes over the specification and overrides of the run in From, and nothing else of it.
func (r *Request) Take(s *site.Site) error {
	run, err := store.Open(r.From)
	if err != nil {
		return err
	}
	defer run.Close()
	if r.Text, err = run.Spec(); err != nil {
		return err
	}
	h := run.Header()
	r.Name = filepath.Join(r.From, "spec.yaml")
	r.Set = append(slices.Clone(h.Set), r.Set...)
	err = s.CheckBegun(run)
	if r.ours = err == nil; err != nil && !errors.Is(err, bench.ErrInvalid) {
		return err
	}
	if len(h.Power) > 0 && len(r.Meters) == 0 {
		fmt.Fprintf(s.Notes, "! the run in %s read %s; this one reads none but what --power names\n", r.From, figure.Count(len(h.Power), "power meter"))
	}
	return nil
}

// Overrides are the values to replace, the platforms as one of them.
func (r *Request) Overrides() []string {
	if len(r.Platforms) == 0 {
		return r.Set
	}
	return append(r.Set[:len(r.Set):len(r.Set)], SetPlatforms(r.Platforms))
}

// SetPlatforms is the override that has these platforms measured.
func SetPlatforms(platforms []string) string { return "platforms=" + quotedList(platforms) }

// SetCases is the override that has these cases alone measured.
func SetCases(cases []string) string { return "only=" + quotedList(cases) }

// quotedList writes a list of a specification.
func quotedList(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// JoinOptions mends references whose options a flag has cut at their commas:
// docker[net=host and storage=volume] belong together.
func JoinOptions(parts []string) []string {
	var refs []string
	for _, p := range parts {
		if n := len(refs); n > 0 && strings.Count(refs[n-1], "[") > strings.Count(refs[n-1], "]") {
			refs[n-1] += "," + p
			continue
		}
		refs = append(refs, strings.TrimSpace(p))
	}
	return refs
}

// typed says that the specification is a command line.
func (r *Request) typed() bool { return r.Text != nil && r.Name == "" }

// read finds the specification: a file, or a built-in experiment.
func (r *Request) read() (file string, text []byte, err error) {
	if r.typed() {
		return "the command line", r.Text, nil
	}
	if r.Text != nil {
		return strings.TrimSuffix(r.Name, ".yaml") + ".yaml", r.Text, nil
	}
	text, err = readSpec(r.Name)
	switch {
	case err == nil:
		return r.Name, text, nil
	case !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.EISDIR) || filepath.Ext(r.Name) != "" || strings.ContainsRune(r.Name, '/'):
		return "", nil, fmt.Errorf("read specification: %w%s: %w%w", err, bench.DidYouMean(r.Name, beside(r.Name)), bench.ErrInvalid,
			bench.Hint("name a YAML file, or a built-in experiment: tare list experiments"))
	}
	text, err = builtin.Find(r.Name)
	if err != nil {
		names := beside(r.Name)
		for _, info := range builtin.List() {
			names = append(names, info.Name)
		}
		err = fmt.Errorf("there is no file %s and no built-in experiment of that name%s%w: %w", r.Name, bench.DidYouMean(r.Name, names), bench.Hint(bench.HintOf(err)), bench.ErrInvalid)
	}
	return r.Name + ".yaml", text, err
}

// beside are the YAML files in the folder of a path, each as the path would name it.
func beside(path string) []string {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil
	}
	folder, _ := filepath.Split(path)
	var files []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext == ".yaml" || ext == ".yml" {
			files = append(files, folder+e.Name())
		}
	}
	return files
}

// readSpec reads a file, and no more of it than tells that it is too long. A pipe into which
// nobody writes is empty.
func readSpec(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, spec.MaxText+1))
}

// Carry returns by what another tare is asked for the same experiment: a built-in one by its name, with no
// text, else the text and a name for its file. Names says that it names the driver's platform itself.
func (r *Request) Carry(words spec.Vocabulary, driver string) (name string, text []byte, names bool, err error) {
	e, text, err := r.Experiment(words)
	if err != nil {
		return "", nil, false, err
	}
	if bench.Bytes(len(text)) > maxCarried {
		return "", nil, false, fmt.Errorf("%s: %v: at most %v can be carried to another host: %w", r.Name, bench.Bytes(len(text)), maxCarried, bench.ErrInvalid)
	}
	if found, err := builtin.Find(r.Name); err == nil && bytes.Equal(found, text) {
		return r.Name, nil, e.Names(driver), nil
	}
	return strings.TrimSuffix(filepath.Base(r.Name), ".yaml") + ".yaml", text, e.Names(driver), nil
}

// maxCarried bounds a specification that is an environment variable elsewhere (execve(2), MAX_ARG_STRLEN).
const maxCarried = 100 * bench.KiB

// Experiment reads what is asked for; beside an error of the specification, as much
// as could be read.
func (r *Request) Experiment(words spec.Vocabulary) (e *spec.Experiment, text []byte, err error) {
	file, text, err := r.read()
	if err != nil {
		return nil, nil, err
	}
	e, err = spec.Parse(file, text, r.Overrides(), words)
	return e, text, err
}
