package planning

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/internal/bench"
	"tare/internal/host"
	"tare/internal/image"
	"tare/internal/papers"
	"tare/internal/plan"
	"tare/internal/spec"
	"tare/internal/spec/builtin"
	"tare/internal/workload"
)

// Planned is a request worked out on this host.
type Planned struct {
	*bench.Plan
	Spec    []byte
	Limit   time.Duration // the specification's max_time; 0 for none
	Facts   *host.Facts
	Found   []Checked
	request *Request
	words   spec.Vocabulary

	experiment *spec.Experiment
	images     *image.Store // what the machines have that load instances, and they unless own is set
	own        *image.Store // of the user's image; nil for none
}

// Plan works a request out. try, if not nil, has platforms try what their
// check cannot decide.
func (c Catalog) Plan(ctx context.Context, r *Request, try func(*spec.Experiment) error) (*Planned, error) {
	words := c.Words()
	e, text, err := r.Experiment(words)
	if err != nil {
		return nil, c.withMisfits(err, e, words)
	}
	facts, err := host.Read("/", c.Dir)
	if err != nil {
		return nil, err
	}
	if try != nil {
		if err := try(e); err != nil {
			return nil, err
		}
	}
	found := c.CheckChoosing(ctx, Patience, e.Chooses)
	in := plan.Inputs{
		Host:  c.host(facts),
		Words: words,
		Power: len(r.Meters) > 0,
	}
	if in.Own, err = r.image(ctx, c.Dir, e); err != nil {
		return nil, err
	}
	if in.Kernel, err = kernel(ctx, e); err != nil {
		return nil, err
	}
	offer(&in, found)
	if r.Seed != nil {
		e.Seed = r.Seed
	} else if e.Seed == nil {
		in.Seed = rand.Uint64()
	}
	p, err := plan.Make(e, in)
	if err != nil {
		return nil, err
	}
	images, err := image.NewWith(c.Dir, p.Image)
	if err != nil {
		return nil, err
	}
	var own *image.Store
	if p.Image.Own != nil {
		own = &image.Store{Dir: c.Dir, Recipe: image.Own(p.Image.Own.ID)}
	}
	return &Planned{p, text, e.MaxTime, facts, found, r, words, e, images, own}, nil
}

// Outline is a request worked out with what a check found before, quick enough for many: nothing is
// tried, and an image or a kernel of the user's own is not read.
func (c Catalog) Outline(r *Request, facts *host.Facts, found []Checked) (*bench.Plan, error) {
	words := c.Words()
	e, _, err := r.Experiment(words)
	if err != nil {
		return nil, err
	}
	in := plan.Inputs{Host: c.host(facts), Words: words, Power: len(r.Meters) > 0}
	offer(&in, found)
	return plan.Make(e, in)
}

// withMisfits adds to what is wrong with a specification what of the rest is too
// large for this host, so that all of it can be mended at once.
func (c Catalog) withMisfits(err error, e *spec.Experiment, words spec.Vocabulary) error {
	var faults spec.Errors
	facts, unread := host.Read("/", c.Dir)
	if e == nil || unread != nil || !errors.As(err, &faults) {
		return err
	}
	return faults.With(plan.Misfits(e, plan.Inputs{Host: c.host(facts), Words: words}))
}

// host is what a plan must fit.
func (c Catalog) host(f *host.Facts) plan.Host {
	return plan.Host{CPUs: f.Usable, Alike: f.AlikeCores, Nodes: f.NodeCPUs, Memory: f.Memory, Free: host.FreeMemory("/"), LLC: f.LLC, DiskFree: f.DiskFree, Pids: host.MaxTasks("/"), MemoryNodes: host.MemoryNodes("/"), Controls: host.Controls("/", c.Dir)}
}

// Builtin is a built-in experiment as it would be run here.
type Builtin struct {
	builtin.Info
	// Shows are the exhibits of papers that it shows.
	Shows []string `json:"shows,omitempty"`
	// Estimate is how long it would take here, in seconds, and Platforms the
	// platforms that it would measure; absent if it cannot be planned.
	Estimate  float64  `json:"estimate_s,omitempty"`
	Least     float64  `json:"least_s,omitempty"` // if every platform ends at the first look
	Platforms []string `json:"platforms,omitempty"`
}

// Builtins plans the built-in experiments.
func (c Catalog) Builtins(ctx context.Context) []Builtin {
	var all []Builtin
	for _, info := range builtin.List() {
		all = append(all, Builtin{Info: info, Shows: papers.ShownBy(info.Name)})
	}
	facts, err := host.Read("/", c.Dir)
	if err != nil {
		return all
	}
	in := plan.Inputs{Host: c.host(facts), Words: c.Words()}
	offer(&in, c.Check(ctx, Patience))
	for i := range all {
		b := &all[i]
		text, err := builtin.Find(b.Name)
		if err != nil {
			continue
		}
		e, err := spec.Parse(b.Name+".yaml", text, nil, in.Words)
		if err != nil {
			continue
		}
		p, err := plan.Make(e, in)
		if err != nil {
			continue
		}
		b.Estimate, b.Least = p.Estimate, plan.LeastEstimate(p)
		for _, s := range p.Scenes {
			if name := s.Platform.String(); !slices.Contains(b.Platforms, name) {
				b.Platforms = append(b.Platforms, name)
			}
		}
	}
	return all
}

// Insist is an error if a platform asked for on the command line is left out, or if of several in
// a specification of the user's own one is left, so that there is nothing to compare. A
// specification is for many hosts, a command line for this one.
func (p *Planned) Insist() error {
	for _, text := range p.request.Platforms {
		ref, err := p.words.Ref(text)
		if err != nil {
			continue // it stands for several
		}
		for _, s := range p.Skipped {
			if s.Platform == ref.String() {
				return cannotRun(s)
			}
		}
	}
	named := slices.DeleteFunc(slices.Clone(p.Skipped), func(s bench.Skip) bool { return !s.Named })
	if len(named) > 0 {
		s := named[0]
		if p.request.Insist {
			return cannotRun(s)
		}
		if only := p.only(); only != "" && p.request.userFile() {
			return fmt.Errorf("nothing can be compared: %s alone can run here; %s: %s: %w%w", only, s.Platform, s.Reason, bench.ErrUnavailable, bench.Hint(s.Hint))
		}
	}
	return nil
}

func cannotRun(s bench.Skip) error {
	return fmt.Errorf("platform %s cannot run here: %s%w", s.Platform, s.Reason, bench.Hint(s.Hint))
}

// only is the platform of all scenes, "" if they have several.
func (p *Planned) only() (name string) {
	for _, s := range p.Scenes {
		if name != "" && s.Platform.String() != name || s.Relative != nil {
			return ""
		}
		name = s.Platform.String()
	}
	return name
}

// CheckFiles is an error for a file a workload wants copied that is not there, or a
// program that a platform is to run: otherwise every one of its trials would fail.
func (p *Planned) CheckFiles() error {
	if err := p.checkChosen(); err != nil {
		return err
	}
	for _, s := range p.Scenes {
		for _, actor := range s.Actors {
			if actor.Workload == "" {
				continue
			}
			w, err := workload.Find(actor.Workload)
			if err != nil {
				return err
			}
			part, err := w.Steps(actor.Part, actor.Params, plan.Setting(s.Timing, actor.Shape, s.Members(), p.Facts.LLC, w))
			if err != nil {
				return err
			}
			for _, f := range part.Files {
				if f.HostPath == "" {
					continue
				}
				info, err := os.Stat(f.HostPath)
				switch {
				case err == nil && info.IsDir():
					err = fmt.Errorf("%s is a directory", f.HostPath)
				case err == nil && !info.Mode().IsRegular():
					err = fmt.Errorf("%s is a special file", f.HostPath)
				}
				if err != nil {
					return fmt.Errorf("scene %s: file to copy: %w: %w%w", s.Case, err, bench.ErrInvalid,
						bench.Hint("paths under files are relative to the directory tare is started in"))
				}
			}
		}
	}
	return nil
}

// Vet is an error for an experiment from elsewhere that brings programs of its
// own or copies files of this host, until its user has said that it may.
func (p *Planned) Vet() error {
	r := p.request
	if r.From == "" || r.ours || r.Trust {
		return nil
	}
	brings, err := carried(p.Plan)
	if err != nil || len(brings) == 0 {
		return err
	}
	return fmt.Errorf("the experiment of %s did not begin on this host, and would %s: %w%w", r.From, strings.Join(brings, "; "), bench.ErrInvalid,
		bench.Hint("on native that is as root of this host: read the specification, "+r.Name+", and add --trust if you trust whoever wrote it"))
}

// carried says what of its own a plan would run and copy, each once.
func carried(p *bench.Plan) ([]string, error) {
	var all []string
	add := func(format string, arg any) {
		if what := fmt.Sprintf(format, arg); !slices.Contains(all, what) {
			all = append(all, what)
		}
	}
	if p.Image.Own != nil {
		add("run the image %q", p.Image.Own.From)
	}
	if k := p.Image.Kernel; k != nil {
		add("boot %q of this host as the kernel of a machine", k.Kernel.Path)
		if k.Initrd != nil {
			add("boot it with %q of this host", k.Initrd.Path)
		}
		if k.Disk != nil {
			add("give it the content of %q of this host as its disk", k.Disk.Path)
		}
	}
	for _, h := range p.Hosts {
		add("run programs as root on the host %q", h.Name)
		if h.Config != "" {
			add("read %q of this host as the configuration of ssh", h.Config)
		}
	}
	for _, name := range p.Image.Add {
		add("install the package %q", name)
	}
	for _, c := range chosen(p) {
		if c.option == bench.KernelOption {
			add("boot %q of this host as the kernel of a guest", c.path)
		} else {
			add("run %q as the program of a platform", c.path)
		}
	}
	for _, s := range p.Scenes {
		for _, actor := range s.Actors {
			if actor.Workload == "" {
				continue
			}
			w, err := workload.Find(actor.Workload)
			if err != nil {
				return nil, err
			}
			c, ok := w.(bench.Carrier)
			if !ok {
				continue
			}
			commands, files, err := c.Carries(actor.Params)
			if err != nil {
				return nil, err
			}
			for _, argv := range commands {
				add("run %q", argv)
			}
			for _, file := range files {
				path, err := filepath.Abs(file)
				if err != nil {
					return nil, err
				}
				if real, err := filepath.EvalSymlinks(path); err == nil {
					path = real
				}
				add("copy %q of this host", path)
			}
		}
	}
	return all, nil
}
