package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/app/planning"
	"tare/internal/app/session"
	"tare/internal/bench"
	"tare/internal/plan"
	"tare/internal/report"
	"tare/internal/result/store"
	"tare/internal/spec"
)

// asking are the flags by which an experiment is asked for.
type asking struct {
	planning.Request
	seed   uint64
	blocks int
	only   []string
}

func (r *asking) flags(c *cobra.Command) {
	c.Flags().StringArrayVar(&r.Set, "set", nil, "replace a value of the specification: path=value, such as timing.measure=10s (repeatable)")
	r.blocksFlag(c)
	c.Flags().StringSliceVar(&r.only, "only", nil, "measure these cases alone, by scene or by case, such as memory,cpu[threads=1]: --set only=[...]")
	c.Flags().StringSliceVar(&r.Platforms, "platforms", nil, "measure these platforms instead, such as native,docker[net=host]")
	c.Flags().StringVar(&r.From, "from", "", "the experiment of the run in this folder of results, in the place of SPEC|NAME")
	c.Flags().Uint64Var(&r.seed, "seed", 0, "seed of the order of trials (default: chosen and recorded)")
}

func (r *asking) blocksFlag(c *cobra.Command) {
	c.Flags().IntVar(&r.blocks, "blocks", 0, "so many blocks, each of which launches every case on every platform once: --set blocks=N")
}

// takeBlocks takes over a number of blocks as what it stands for.
func (r *asking) takeBlocks(c *cobra.Command) {
	if c.Flags().Changed("blocks") {
		r.Set = append(r.Set, fmt.Sprintf("blocks=%d", r.blocks))
	}
}

// args is an error unless the experiment is named once: as an argument, or by --from.
func (r *asking) args(c *cobra.Command, args []string) error {
	if r.From == "" {
		return cobra.ExactArgs(1)(c, args)
	}
	if len(args) > 0 {
		return usageError("--from %s: the experiment is that folder's, so %q cannot be it", r.From, args[0])
	}
	return nil
}

// take takes over what the command line asks for.
func (r *asking) take(a *app, c *cobra.Command, args []string) error {
	if c.Flags().Changed("seed") {
		r.Seed = &r.seed
	}
	switch {
	case r.From != "":
		if err := r.Take(a.site); err != nil {
			return err
		}
	case r.Trust:
		return usageError("--trust is of another's experiment: it goes with --from DIR")
	default:
		r.Name = args[0]
	}
	r.takeBlocks(c)
	if c.Flags().Changed("only") {
		r.Set = append(r.Set, planning.SetCases(planning.JoinOptions(r.only)))
	}
	if !c.Flags().Changed("platforms") {
		return nil
	}
	r.Platforms = planning.JoinOptions(r.Platforms)
	return a.known(r.Platforms)
}

// known is an error unless platforms are named and each is one.
func (a *app) known(platforms []string) error {
	if len(platforms) == 0 {
		return usageError("--platforms: none is named%w", bench.Hint("such as --platforms 'native,docker[net=host]'; tare list platforms shows them"))
	}
	words := a.catalog().Words()
	for _, p := range platforms {
		if err := spec.CheckPlatform(p, words); err != nil {
			return fmt.Errorf("--platforms %s: %w", strings.Join(platforms, ","), err)
		}
	}
	return nil
}

func planCommand(a *app) *cobra.Command {
	var r asking
	var asJSON bool
	var archive []string
	c := &cobra.Command{
		Use:   "plan SPEC|NAME",
		Short: "Show the trials an experiment would run, in order; run nothing",
		Long: `Shows every trial of a specification in order, the seed, where each actor
would run and the time it would take, with --power that of the stretches of
rest around each block as well. SPEC is a YAML file or the name of a
built-in experiment.

With --archive, it says instead what the answer will take: by how much the launches
of earlier runs of this host scatter and what each cost, the number of blocks and the
time until each row is as narrow as asked for or decided, with a chance of 90 %, and
which measured window would take the least time.`,
		Example: `  tare plan quick
  tare plan my.yaml --set blocks=10 --seed 7 --json
  tare plan my.yaml --archive results --set until.interval=2%
  tare plan --from results/20260102-030405-abcd`,
		Args: r.args,
		RunE: func(c *cobra.Command, args []string) error {
			if err := r.take(a, c, args); err != nil {
				return err
			}
			if err := session.CheckPower(r.Meters); err != nil {
				return err
			}
			p, err := a.catalog().Plan(c.Context(), &r.Request, nil)
			if err != nil {
				return err
			}
			if err := p.CheckFiles(); err != nil {
				p.Warnings = slices.Insert(p.Warnings, 0, "it cannot run yet: "+withHint(err))
			}
			var faults spec.Errors
			if errors.As(p.CheckPrograms(), &faults) {
				for i, f := range faults {
					p.Warnings = slices.Insert(p.Warnings, i, fmt.Sprintf("it cannot run yet: %s: %s", f.Place, withHint(f.Err)))
				}
			}
			if err := p.Vet(); err != nil {
				p.Warnings = slices.Insert(p.Warnings, 0, withHint(err))
			}
			if archive != nil {
				return a.forecast(p, archive, asJSON)
			}
			return a.show(asJSON, p.Plan, func(w io.Writer) error { return plan.Render(w, p.Plan) })
		},
	}
	r.flags(c)
	c.Flags().StringArrayVar(&r.Meters, "power", nil, "plan as with this power meter, which is not asked (repeatable; tare list meters)")
	c.Flags().StringSliceVar(&archive, "archive", nil, "say what it will take, by this earlier run or the runs in this folder (repeatable)")
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}

// withHint is what an error says, with its hint, in one line.
func withHint(err error) string {
	if h := bench.HintOf(err); h != "" {
		return bench.Reason(err) + "; " + h
	}
	return bench.Reason(err)
}

// forecast says what a plan takes by the runs that folders are, or hold.
func (a *app) forecast(p *planning.Planned, archive []string, asJSON bool) error {
	dirs, err := runsIn(archive)
	if err != nil {
		return err
	}
	var runs []*store.Run
	for _, dir := range dirs {
		r, err := store.Open(dir)
		if err != nil {
			return err
		}
		defer r.Close()
		runs = append(runs, r)
	}
	f, err := p.Forecast(runs)
	if err != nil {
		return err
	}
	f.Warnings = append(f.Warnings, p.Warnings...)
	return a.show(asJSON, f, func(w io.Writer) error { return report.Forecast(w, f) })
}
