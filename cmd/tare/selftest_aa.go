package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tare/internal/bench"
	"tare/internal/selftest"
	"tare/internal/stop"
	"tare/internal/store"
)

// trialSet is what the parts of the self-test have in common.
type trialSet struct {
	platforms []string
	cases     []string
	group     int
	out       string
	set       []string // values of the specification to replace
	keeping
	m manner
}

func (t *trialSet) flags(c *cobra.Command, platforms, cases []string, group int) {
	t.flagsOf(c, platforms, cases, selftest.Cases(), group)
}

// flagsOf are the flags of a part with cases of its own, which are known.
func (t *trialSet) flagsOf(c *cobra.Command, platforms, cases, known []string, group int) {
	f := c.Flags()
	f.StringSliceVar(&t.platforms, "platforms", platforms, "the platforms to test")
	f.StringSliceVar(&t.cases, "cases", cases, "the cases: "+strings.Join(known, ", "))
	f.IntVar(&t.group, "blocks", group, "blocks of each comparison, at least 3")
	f.StringVarP(&t.out, "output", "o", "", "directory of the run (default results/ID); one that is there is gone on with")
	t.forceFlag(c)
	t.m.flags(c)
}

func (t *trialSet) check(a *app) error { return t.checkOf(a, selftest.Cases()) }

func (t *trialSet) checkOf(a *app, cases []string) error {
	if t.group < 3 {
		return usageError("--blocks %d: an interval needs at least 3", t.group)
	}
	for _, n := range t.cases {
		if !slices.Contains(cases, n) {
			return usageError("--cases %q: it is one of %s", n, strings.Join(cases, ", "))
		}
	}
	if len(t.cases) == 0 {
		return usageError("--cases: none is named; there are %s", strings.Join(cases, ", "))
	}
	return t.checkPlatforms(a)
}

// checkPlatforms looks at the platforms before the specification names each
// several times.
func (t *trialSet) checkPlatforms(a *app) error {
	t.platforms = joinOptions(t.platforms)
	if len(t.platforms) == 0 {
		return errNoPlatform()
	}
	for _, p := range t.platforms {
		if strings.Contains(p, bench.AliasOption+"=") {
			return usageError("--platforms %s: the self-test gives the second name itself", p)
		}
	}
	if err := a.known(t.platforms); err != nil {
		return err
	}
	return t.m.check()
}

// trials begins the experiment, or goes on with it where its directory is there.
func (a *app) trials(ctx context.Context, part selftest.Part, text []byte, t *trialSet, end func(*store.Run) error) error {
	t.m.end = end
	if _, err := os.Stat(filepath.Join(t.out, "run.json")); t.out != "" && err == nil {
		if err := isRunOf(t.out, text); err != nil {
			return err
		}
		return a.resume(ctx, t.out, t.m)
	}
	r := &request{name: selftestSpec + string(part), text: text, set: t.set}
	return a.run(ctx, r, t.out, t.m)
}

// selftestSpec begins the name of a self-test's specification.
const selftestSpec = "selftest-"

// selftestOf names the part of the self-test that began a run; "" if none did.
func selftestOf(h store.Header) string {
	name, ok := strings.CutPrefix(h.Spec, selftestSpec)
	if !ok || !slices.Contains(selftest.Parts(), selftest.Part(name)) {
		return ""
	}
	return name
}

// selftestAgain returns the command line that goes on with a run in dir which a
// part of the self-test began, on this host.
func (a *app) selftestAgain(h store.Header, name, dir string, m manner) []string {
	args := []string{"selftest", name}
	_, flags := partCommand(h, name) // what the header says is obeyed only if it is that part
	args = append(args, flags...)
	return append(args, "--state", a.state, "--output", dir, "--max-time", m.maxTime.String(),
		fmt.Sprintf("--json=%t", m.asJSON), fmt.Sprintf("--verbose=%t", m.verbose), fmt.Sprintf("--allow-unfair=%t", m.allowUnfair))
}

// ofOneRun are flags that say where a run lies and how it is shown.
var ofOneRun = []string{"state", "output", "json", "verbose", "wait", "force", "help"}

// selftestRepeat returns the command line that measures anew what a part of the
// self-test began; nil if none did.
func selftestRepeat(h store.Header) []string {
	name := selftestOf(h)
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
	c, flags, err := (&app{}).command().Find(words)
	if err != nil || c.CommandPath() != "tare selftest "+name {
		return nil, nil
	}
	return c, flags
}

// isRunOf is an error unless the run in dir is of exactly this specification.
func isRunOf(dir string, text []byte) error {
	r, err := store.Open(dir)
	if err != nil {
		return err
	}
	defer r.Close()
	found, err := r.Spec()
	if err != nil {
		return err
	}
	if !bytes.Equal(found, text) {
		return usageError("-o %s: there is a run of something else, %q: go on with it by tare resume, or by the command and flags that began it", dir, r.Plan().Experiment)
	}
	return nil
}

func (a *app) selftestAACommand() *cobra.Command {
	var t trialSet
	var comparisons int
	c := &cobra.Command{
		Use:   "aa",
		Short: "Compare platforms with themselves: how often are they called different?",
		Long: `Measures each platform under two names, in blocks. Every so many consecutive
blocks are one comparison, decided just as a report decides. Nothing differs, so
each "differs" is a mistake; the share of mistakes is given with its exact
binomial interval. Intervals that exclude 1 are counted apart: 5 % of them are to
be expected.

Exit status: 0 the claim holds; 2 it is open; 4 the mistakes are surely more than 5 %.`,
		Example: "  tare selftest aa\n  tare selftest aa --comparisons 60 --cases startup,cpu -o aa --max-time 5m",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := t.check(a); err != nil {
				return err
			}
			if comparisons < 1 {
				return usageError("--comparisons %d: must be positive", comparisons)
			}
			blocks := selftest.AABlocks(comparisons, t.group, len(t.platforms), len(t.cases))
			text, err := selftest.AASpec(t.platforms, t.cases, blocks)
			if err != nil {
				return err
			}
			return a.trials(c.Context(), selftest.PartAA, text, &t, func(r *store.Run) error { return a.endAA(r, t) })
		},
	}
	t.flags(c, []string{"native", "lxc", "docker"}, selftest.Cases(), 5)
	c.Flags().IntVar(&comparisons, "comparisons", 200, "comparisons to make, at least")
	return c
}

func (a *app) endAA(r *store.Run, t trialSet) error {
	aa, err := selftest.EvaluateAA(r.Plan(), r.Outcomes(), t.group)
	if err != nil {
		return err
	}
	t.asJSON = t.m.asJSON
	done, err := measured(r)
	if err != nil {
		return err
	}
	return a.keep(aa.Finding(done), originOf(r), *r.Host(), t.keeping)
}

// measured reports whether every trial of the run that is needed has an outcome.
func measured(r *store.Run) (bool, error) {
	finished := map[string]bool{}
	for o, err := range r.Outcomes() {
		if err != nil {
			return false, err
		}
		finished[o.Trial] = o.Status != bench.Aborted
	}
	open, err := stop.Left(r.Plan(), r.Outcomes(), finished)
	return open == 0, err
}
