package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tare/internal/app/prove"
	"tare/internal/bench"
	"tare/internal/plan"
	"tare/internal/result/store"
)

func resumeCommand(a *app) *cobra.Command {
	var m manner
	var more plan.More
	c := &cobra.Command{
		Use:   "resume DIR",
		Short: "Go on with a run that was stopped, or with one that has not decided",
		Long: `Runs the trials of a run that have no outcome yet, in the planned order, and
reports. Finished trials, failed ones among them, are kept as they are. A
stopping rule decides as if the run had not been stopped. A part of the
self-test ends as it would have: with its finding, kept in the certificate.

With --blocks or --budget the run gets more than was planned: it goes on where a
platform is not decided, and intervals are made at the levels of a rule that looks more
than once.

Only what began on this host is resumed, as it was settled then: the state
directory remembers it. What a folder from elsewhere says is not obeyed; tare run
--from DIR measures its experiment anew. Trials of another machine, processor,
kernel or version of Tare are not mixed, unless --allow-mixed says so; then each
of them, and every report, tells what was otherwise.`,
		Example: `  tare resume results/20260102-030405-abcd
  tare resume results/20260102-030405-abcd --budget +5m`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := m.check(); err != nil {
				return err
			}
			if more.Blocks < 0 || c.Flags().Changed("blocks") && more.Blocks == 0 {
				return usageError("--blocks %d: at least one more", more.Blocks)
			}
			if more.Budget < 0 || c.Flags().Changed("budget") && more.Budget == 0 {
				return usageError("--budget %v: the time that the run is given from now on", more.Budget)
			}
			m.More = more
			return a.resume(c.Context(), args[0], m)
		},
	}
	m.flags(c)
	c.Flags().IntVar(&more.Blocks, "blocks", 0, "add so many blocks to the most there may be, such as +10")
	c.Flags().DurationVar(&more.Budget, "budget", 0, "measure for so long from now on, where nothing is decided, such as +5m")
	c.Flags().BoolVar(&m.AllowMixed, "allow-mixed", false, "go on although host or program are not as when the run began; every report says so")
	return c
}

// resume runs what of the run in the folder has no outcome.
func (a *app) resume(ctx context.Context, dir string, m manner) error {
	if err := needRoot("resume"); err != nil {
		return err
	}
	runs := m.runs(a)
	h, err := runs.Began(dir)
	if err != nil {
		return err
	}
	part := prove.PartOf(h)
	if part == "" || m.end != nil {
		return runs.Resume(ctx, dir)
	}
	if m.More.Blocks > 0 || m.More.Budget > 0 {
		return usageError("--blocks, --budget: a part of the self-test has the blocks that it was begun with%w", bench.Hint("begin the part anew: tare selftest "+part))
	}
	if m.AllowMixed {
		return usageError("--allow-mixed: the certificate of the self-test speaks for one host and one version%w", bench.Hint("begin the part anew: tare selftest "+part))
	}
	again := newApp(a.stdout, a.screen).command()
	again.SetArgs(selftestAgain(a.site.Dir, h, part, dir, m))
	return again.ExecuteContext(ctx)
}

// selftestAgain returns the command line that goes on with a run in dir which a
// part of the self-test began, on this host.
func selftestAgain(state string, h store.Header, name, dir string, m manner) []string {
	args := []string{"selftest", name}
	_, flags := partCommand(h, name) // what the header says is obeyed only if it is that part
	args = append(args, flags...)
	return append(args, "--state", state, "--output", dir, "--max-time", m.MaxTime.String(),
		fmt.Sprintf("--json=%t", m.asJSON), fmt.Sprintf("--verbose=%t", m.verbose), fmt.Sprintf("--allow-unfair=%t", m.allowUnfair))
}

// ofOneRun are flags that say where a run lies and how it is shown.
var ofOneRun = []string{"state", "output", "json", "verbose", "wait", "force", "help"}

// selftestRepeat returns the command line that measures anew what a part of the
// self-test began; nil if none did.
func selftestRepeat(h store.Header) []string {
	name := prove.PartOf(h)
	if name == "" {
		return nil
	}
	args := []string{"tare", "selftest", name}
	c, words := partCommand(h, name)
	if c == nil {
		return args
	}
	c.InheritedFlags() // which makes them known to Flags
	err := c.Flags().ParseAll(words, func(f *pflag.Flag, value string) error {
		switch {
		case slices.Contains(ofOneRun, f.Name):
		case f.Value.Type() == "bool":
			args = append(args, "--"+f.Name+"="+value)
		default:
			args = append(args, "--"+f.Name, value)
		}
		return nil
	})
	if err != nil { // it is not what began the run
		return args[:3]
	}
	return args
}

// partCommand returns the command of a part of the self-test and its flags, as the
// header gives them; nil if the header names another.
func partCommand(h store.Header, name string) (*cobra.Command, []string) {
	words := h.Command[min(1, len(h.Command)):]
	if len(words) == 0 {
		return nil, nil
	}
	c, flags, err := newApp(io.Discard, io.Discard).command().Find(words)
	if err != nil || c.CommandPath() != "tare selftest "+name {
		return nil, nil
	}
	return c, flags
}
