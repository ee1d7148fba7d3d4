package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/bench"
	"tare/internal/spec"
)

func abCommand(a *app) *cobra.Command {
	var r asking
	var out string
	var m manner
	c := &cobra.Command{
		Use:   "ab A B [SPEC|NAME]",
		Short: "Measure two builds or variants of one platform in one run, B against A",
		Long: `Measures the same platform with two programs or two sets of options as two
subjects of one interleaved run (quick, unless another experiment is named): A is
the baseline, and B is set against it, block by block. What differs from one run
to the next is the same for both, so B against A is about the platform.

The option program names another build (tare list platforms shows which platforms
have it). Its path, digest and version are recorded with the run. tare gate RUN
decides on such a run.

Exit status: as of tare run.`,
		Example: `  tare ab crun 'crun[program=./crun-new]'
  tare ab 'crun[program=./old/crun]' 'crun[program=./new/crun]' startup --set blocks=20
  tare ab 'docker[driver=overlay2]' 'docker[driver=vfs]' -o results/driver`,
		Args: cobra.RangeArgs(2, 3),
		RunE: func(c *cobra.Command, args []string) error {
			if err := r.two(a, args); err != nil {
				return err
			}
			r.takeBlocks(c)
			if c.Flags().Changed("seed") {
				r.Seed = &r.seed
			}
			if err := m.check(); err != nil {
				return err
			}
			return a.run(c.Context(), &r.Request, out, m)
		},
	}
	c.Flags().StringArrayVar(&r.Set, "set", nil, "replace a value of the specification: path=value, such as timing.measure=10s (repeatable)")
	r.blocksFlag(c)
	c.Flags().Uint64Var(&r.seed, "seed", 0, "seed of the order of trials (default: chosen and recorded)")
	c.Flags().StringVarP(&out, "output", "o", "", "directory of the results (default results/ID)")
	c.Flags().BoolVar(&m.KeepTrying, "keep-trying", false, "give up no platform, though its launches fail twice in the same way")
	m.flags(c)
	return c
}

// two asks for an experiment on the two platforms, the first of them the baseline.
func (r *asking) two(a *app, args []string) error {
	words := a.catalog().Words()
	var refs []bench.PlatformRef
	for _, text := range args[:2] {
		if err := spec.CheckPlatform(text, words); err != nil {
			return fmt.Errorf("tare ab %s: %w", text, err)
		}
		ref, err := words.Ref(text)
		if err != nil {
			return fmt.Errorf("tare ab %s: %w: %w", text, err, bench.ErrInvalid)
		}
		refs = append(refs, ref)
	}
	x, y := refs[0], refs[1]
	switch {
	case x.Driver() != y.Driver():
		return usageError("tare ab is of one platform, and %s and %s are two%w", x.Driver(), y.Driver(),
			bench.Hint("tare run quick --platforms "+strings.Join(args[:2], ",")))
	case x.String() == y.String():
		return usageError("tare ab: A and B are both %s%w", x, bench.Hint("name another program or option; to compare it with itself, "+x.Driver()+"[as=b]"))
	}
	r.Name = "quick"
	if len(args) > 2 {
		r.Name = args[2]
	}
	// With the programs' paths as they are from here.
	r.Platforms = []string{x.String(), y.String()}
	r.Set = append(r.Set, "baseline="+fmt.Sprintf("%q", x.String()))
	if x.Options[bench.AliasOption] != "" { // it has its second name
		r.Set = append(r.Set, "controls=false")
	}
	return nil
}
