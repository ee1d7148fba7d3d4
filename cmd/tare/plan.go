package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/bench"
	"tare/internal/experiment"
	"tare/internal/host"
	"tare/internal/plan"
	"tare/internal/spec"
	"tare/internal/workload"
)

// request is what a user asks to be planned.
type request struct {
	name      string // a path or a built-in's name
	text      []byte // the specification itself, if it is not to be looked up by name
	set       []string
	platforms []string
	seed      uint64
	seeded    bool
	meters    []string // power meters, by name
	from      string   // the folder of a run whose experiment it is
	ours      bool     // that run began on this host
	trust     bool     // to run another's programs and copy what they name
}

func (r *request) flags(c *cobra.Command) {
	c.Flags().StringArrayVar(&r.set, "set", nil, "replace a value of the specification: path=value, such as timing.measure=10s (repeatable)")
	c.Flags().StringSliceVar(&r.platforms, "platforms", nil, "measure these platforms instead, such as native,docker[net=host]")
	c.Flags().StringVar(&r.from, "from", "", "the experiment of the run in this folder of results, in the place of SPEC|NAME")
	c.Flags().Uint64Var(&r.seed, "seed", 0, "seed of the order of trials (default: chosen and recorded)")
}

// check is an error if the platforms on the command line are none or unknown.
func (r *request) check(a *app, c *cobra.Command) error {
	if !c.Flags().Changed("platforms") {
		return nil
	}
	if r.platforms = joinOptions(r.platforms); len(r.platforms) == 0 {
		return errNoPlatform()
	}
	return a.known(r.platforms)
}

func errNoPlatform() error {
	return usageError("--platforms: none is named%w", bench.Hint("such as --platforms native,docker[net=host]; tare list platforms shows them"))
}

// known is an error unless each is a platform as a specification names it.
func (a *app) known(platforms []string) error {
	words := a.vocabulary()
	for _, p := range platforms {
		if err := spec.CheckPlatform(p, words); err != nil {
			return fmt.Errorf("--platforms %s: %w", strings.Join(platforms, ","), err)
		}
	}
	return nil
}

// overrides are the --set arguments, with --platforms as one of them.
func (r *request) overrides() []string {
	if len(r.platforms) == 0 {
		return r.set
	}
	return append(r.set[:len(r.set):len(r.set)], "platforms=["+strings.Join(quoteAll(joinOptions(r.platforms)), ", ")+"]")
}

// insist is an error if a platform asked for on the command line is left out. A
// specification is for many hosts, a command line for this one.
func (r *request) insist(words spec.Vocabulary, skipped []bench.Skip) error {
	for _, text := range joinOptions(r.platforms) {
		ref, err := words.Ref(text)
		if err != nil {
			continue // it stands for several
		}
		for _, s := range skipped {
			if s.Platform == ref.String() {
				return fmt.Errorf("platform %s cannot run here: %s%w", s.Platform, s.Reason, bench.Hint(s.Hint))
			}
		}
	}
	return nil
}

// joinOptions mends a reference whose options were cut at their commas:
// docker[net=host and storage=volume] belong together.
func joinOptions(parts []string) []string {
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

func quoteAll(ss []string) []string {
	q := make([]string, len(ss))
	for i, s := range ss {
		q[i] = fmt.Sprintf("%q", s)
	}
	return q
}

// read finds the specification: a file, or a built-in experiment.
func (r *request) read() (file string, text []byte, err error) {
	if r.text != nil {
		return strings.TrimSuffix(r.name, ".yaml") + ".yaml", r.text, nil
	}
	text, err = readSpec(r.name)
	switch {
	case err == nil:
		return r.name, text, nil
	case !errors.Is(err, os.ErrNotExist) || filepath.Ext(r.name) != "" || strings.ContainsRune(r.name, '/'):
		return "", nil, fmt.Errorf("read specification: %w: %w%w", err, bench.ErrInvalid,
			bench.Hint("name a YAML file, or a built-in experiment: tare list experiments"))
	}
	text, err = experiment.Find(r.name)
	if err != nil {
		var names []string
		for _, info := range experiment.List() {
			names = append(names, info.Name)
		}
		if n := spec.Nearest(r.name, names); n != "" {
			err = fmt.Errorf("there is no file %s and no built-in experiment of that name; did you mean %q?%w: %w", r.name, n, bench.Hint(bench.HintOf(err)), bench.ErrInvalid)
		}
	}
	return r.name + ".yaml", text, err
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

// planned is a request worked out on this host.
type planned struct {
	*bench.Plan
	spec  []byte
	limit time.Duration // the specification's max_time; 0 for none
	facts *host.Facts
	found []checked
}

// plan works a request out. trial, if not nil, lets platforms try what their
// check cannot decide.
func (a *app) plan(ctx context.Context, r *request, trial func(*spec.Experiment) error) (*planned, error) {
	file, text, err := r.read()
	if err != nil {
		return nil, err
	}
	words := a.vocabulary()
	e, err := spec.Parse(file, text, r.overrides(), words)
	if err != nil {
		return nil, a.withMisfits(err, e, words)
	}
	facts, err := host.Read("/", a.state)
	if err != nil {
		return nil, err
	}
	if trial != nil {
		if err := trial(e); err != nil {
			return nil, err
		}
	}
	found := a.checkAll(ctx, runCheckDeadline)
	in := plan.Inputs{
		Seed:  r.seed,
		Host:  a.planHost(facts),
		Words: words,
		Power: len(r.meters) > 0,
	}
	in.Available, in.Skips = offer(found)
	if r.seeded {
		e.Seed = &r.seed
	} else if e.Seed == nil {
		in.Seed = rand.Uint64()
	}
	p, err := plan.Make(e, in)
	if err != nil {
		return nil, err
	}
	return &planned{p, text, e.MaxTime, facts, found}, nil
}

// withMisfits adds to what is wrong with a specification what of the rest is too
// large for this host, so that all of it can be mended at once.
func (a *app) withMisfits(err error, e *spec.Experiment, words spec.Vocabulary) error {
	var faults spec.Errors
	facts, unread := host.Read("/", a.state)
	if e == nil || unread != nil || !errors.As(err, &faults) {
		return err
	}
	return faults.With(plan.Misfits(e, plan.Inputs{Host: a.planHost(facts), Words: words}))
}

func (a *app) planHost(f *host.Facts) plan.Host {
	return plan.Host{CPUs: f.Usable, Memory: f.Memory, Free: host.FreeMemory("/"), LLC: f.LLC, DiskFree: f.DiskFree, Pids: host.MaxTasks("/"), Controls: host.Controls("/", a.state)}
}

// checkFiles is an error for a file a workload wants copied that is not there:
// otherwise every one of its trials would fail.
func checkFiles(p *bench.Plan, llc bench.Bytes) error {
	for _, s := range p.Scenes {
		for _, actor := range s.Actors {
			if actor.Workload == "" {
				continue
			}
			w, err := workload.Find(actor.Workload)
			if err != nil {
				return err
			}
			if len(w.Parts()) > 0 {
				continue // its commands depend on addresses, and it copies nothing
			}
			part, err := w.Steps(actor.Part, actor.Params, bench.Setting{Timing: s.Timing, Shape: actor.Shape, LLC: llc})
			if err != nil {
				return err
			}
			for _, f := range part.Files {
				if f.HostPath == "" {
					continue
				}
				info, err := os.Stat(f.HostPath)
				if err == nil && !info.Mode().IsRegular() {
					err = fmt.Errorf("%s is a %s", f.HostPath, kindOf(info.Mode()))
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

func kindOf(m os.FileMode) string {
	if m.IsDir() {
		return "directory"
	}
	return "special file"
}

func (a *app) planCommand() *cobra.Command {
	var r request
	var asJSON bool
	c := &cobra.Command{
		Use:   "plan SPEC|NAME",
		Short: "Show the trials an experiment would run, in order; run nothing",
		Long: `Shows every trial of a specification in order, the seed, where each actor
would run and the time it would take, with --power that of the stretches of
rest around each block as well. SPEC is a YAML file or the name of a
built-in experiment.`,
		Example: "  tare plan quick\n  tare plan my.yaml --set blocks=10 --seed 7 --json\n  tare plan --from results/20260102-030405-abcd",
		Args:    r.args,
		RunE: func(c *cobra.Command, args []string) error {
			if err := r.take(a, c, args); err != nil {
				return err
			}
			if err := r.check(a, c); err != nil {
				return err
			}
			if err := checkPower(r.meters); err != nil {
				return err
			}
			p, err := a.plan(c.Context(), &r, nil)
			if err != nil {
				return err
			}
			if err := checkFiles(p.Plan, p.facts.LLC); err != nil {
				p.Warnings = append(p.Warnings, "it cannot run yet: "+bench.Reason(err))
			}
			if err := r.vet(p.Plan); err != nil {
				p.Warnings = append(p.Warnings, bench.Reason(err))
			}
			if asJSON {
				return writeJSON(a.stdout, p.Plan)
			}
			return plan.Render(a.stdout, p.Plan)
		},
	}
	r.flags(c)
	c.Flags().StringArrayVar(&r.meters, "power", nil, "plan as with this power meter, which is not asked (repeatable; tare list meters)")
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}
