package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/analysis"
	"tare/internal/app/planning"
	"tare/internal/app/prove"
	"tare/internal/app/session"
	"tare/internal/bench"
	"tare/internal/report"
	"tare/internal/result"
	"tare/internal/result/store"
	"tare/internal/run"
)

func runCommand(a *app) *cobra.Command {
	var r asking
	var out string
	var m manner
	var e elsewhere
	var asked []string
	c := &cobra.Command{
		Use:        "run SPEC|NAME",
		SuggestFor: []string{"benchmark", "bench", "measure", "start"},
		Short:      "Run an experiment and report what isolation costs",
		Long: `Runs an experiment: a YAML file, or a built-in one by name (tare list
experiments). Every case, a kind of work, is launched afresh on every platform once in
each block, and there are several blocks. Every trial, one such launch, is stored as
soon as it is finished, so a run that is stopped, by Ctrl-C or --max-time, can be
resumed.

With --from DIR it is the experiment of the run in DIR, with its --set values,
planned anew for this host; of the rest of DIR nothing is obeyed, and power meters
are read only if --power names them. Unless that run began on this host, its own
programs and the files of this host that it would copy are told and refused: once
you have read them, --trust takes them.

With --on kubernetes, a node of a cluster runs it, in a job that is made for it and
removed: the node itself (native) and a pod of each RuntimeClass that it has, unless
--platforms names others. The results are fetched into the folder here. No root is
needed here; the pod that measures there is privileged.

Exit status: 0 every case's main metric is decided on every platform; 2 not all of
them, or the run was stopped; 3 the specification is invalid or a comparison unfair;
4 a trial failed.`,
		Example: `  tare run quick
  tare run quick --platforms native,docker --set blocks=10
  tare run my.yaml -o results/mine --seed 7 --max-time 1h
  tare run energy --power 'snmp://pdu/raritan?outlet=3'
  tare run --from results/20260102-030405-abcd
  tare run quick --on kubernetes --namespace tare --node node1 --image registry.example/tare:1`,
		Args: r.args,
		RunE: func(c *cobra.Command, args []string) error {
			if err := r.take(a, c, args); err != nil {
				return err
			}
			if err := errors.Join(m.check(), e.check(c)); err != nil {
				return err
			}
			if e.on == kubernetes {
				return a.runOn(c.Context(), &e, &r, out, m)
			}
			if m.ID != "" { // whoever says it reports the run
				a.repeat, m.end = asked, func(*store.Run) error { return nil }
			}
			return a.run(c.Context(), &r.Request, out, m)
		},
	}
	r.flags(c)
	c.Flags().BoolVar(&r.Trust, "trust", false, "with --from: run the programs, boot the kernels, and copy the files of this host, that its specification names")
	c.Flags().StringVarP(&out, "output", "o", "", "directory of the results (default results/ID)")
	c.Flags().BoolVar(&m.KeepTrying, "keep-trying", false, "give up no platform, though its launches fail twice in the same way")
	c.Flags().StringArrayVar(&r.Meters, "power", nil, "read this power meter, such as rapl: or 'snmp://pdu/raritan?outlet=3' (repeatable; tare list meters)")
	m.flags(c)
	e.flags(c)
	c.Flags().StringVar(&m.ID, "id", "", "the run's id: whoever gives it reports the run")
	c.Flags().StringArrayVar(&asked, "asked", nil, "with --id: the command that repeats the run")
	for _, name := range []string{"id", "asked"} {
		_ = c.Flags().MarkHidden(name) // it is there
	}
	return c
}

// manner is how a run is carried out and shown, whether begun or resumed.
type manner struct {
	session.Runs
	asJSON, verbose, allowUnfair bool
	elsewhere                    bool // another host measures
	// end is what a run ends with, finished or stopped; nil for the report.
	end func(*store.Run) error
}

func (m *manner) flags(c *cobra.Command) {
	c.Flags().DurationVar(&m.MaxTime, "max-time", 0, "stop after this time; tare resume goes on later")
	c.Flags().BoolVar(&m.asJSON, "json", false, "print the result as JSON")
	c.Flags().BoolVarP(&m.verbose, "verbose", "v", false, "print a line for each phase of each trial")
	c.Flags().DurationVar(&m.QuietWait, "quiet-wait", 0, "before each block, wait up to this long for other work on the host to end")
	waitFlag(c, &m.Wait)
	allowUnfairFlag(c, &m.allowUnfair)
}

func waitFlag(c *cobra.Command, wait *bool) {
	c.Flags().BoolVar(wait, "wait", false, "if another run is measuring on this host, wait until it has ended")
}

func (m *manner) check() error {
	if m.MaxTime < 0 {
		return usageError("--max-time %v is negative", m.MaxTime)
	}
	if m.QuietWait < 0 {
		return usageError("--quiet-wait %v is negative", m.QuietWait)
	}
	return nil
}

// runs carries runs out in this manner.
func (m manner) runs(a *app) *session.Runs {
	rs := m.Runs
	rs.Site, rs.Version, rs.Watchdog = a.site, version, watchdogWord
	rs.Watch = func(p *bench.Plan, finished int, spent time.Duration) (func(run.Event), func()) {
		g := newProgress(a.screen, session.NewTally(p, finished, spent), p, m.verbose)
		return g.notify, g.close
	}
	rs.Conclude = func(r *store.Run, e session.Ending) error { return m.conclude(a, r, e) }
	return &rs
}

// run plans and carries out an experiment and reports it.
func (a *app) run(ctx context.Context, r *planning.Request, out string, m manner) error {
	if err := needRoot("run"); err != nil {
		return err
	}
	return m.runs(a).Begin(ctx, r, out, a.asked())
}

// conclude shows what a run has found, also one that was stopped before its end.
func (m manner) conclude(a *app, r *store.Run, e session.Ending) error {
	if e.Failed != nil {
		return worst(e.Failed, e.Unclosed)
	}
	if m.end != nil {
		ended := m.end(r)
		switch {
		case e.Stopped == nil:
		case e.Stopped.TimeUp: // what was found until then decides
			a.say(e.Stopped)
		default:
			return worst(e.Stopped, e.Unclosed, ended)
		}
		return worst(e.Unclosed, ended)
	}
	result, err := m.publish(a, r)
	switch {
	case err == nil && e.Stopped == nil:
		err = resultStatus(a.stderr, m.resumable(r), result)
	case err == nil: // why it was stopped says enough
		err = &statusError{status: statusOf(resultStatus(a.stderr, m.resumable(r), result))}
	}
	if e.Stopped == nil {
		return worst(e.Unclosed, err)
	}
	return worst(e.Stopped, e.Unclosed, err)
}

// resumable is the folder by which the run may be resumed here, "" if it began elsewhere.
func (m manner) resumable(r *store.Run) string {
	if m.elsewhere {
		return ""
	}
	return r.Dir()
}

// publish writes report.html and prints the table.
func (m manner) publish(a *app, r *store.Run) (*result.Result, error) {
	result, err := analyze(r, analysis.Options{AllowUnfair: m.allowUnfair})
	if err != nil {
		return nil, err
	}
	prove.Cite(a.site, result, r)
	if err := r.WriteReport(func(w io.Writer) error { return report.HTML(w, result) }); err != nil {
		return nil, err
	}
	if m.asJSON {
		return result, report.IndentedJSON(a.stdout, result)
	}
	if err := report.Brief(a.stdout, result); err != nil {
		return nil, err
	}
	fmt.Fprintln(a.stdout)
	if result.SelfTest == nil {
		fmt.Fprintln(a.stdout, "no self-test on this host: run tare selftest")
	}
	_, err = fmt.Fprintf(a.stdout, "page: %s; all of it here: tare report %s --all\n", filepath.Join(r.Dir(), "report.html"), r.Dir())
	return result, err
}

// asked is the command that repeats what is under way.
func (a *app) asked() []string {
	if a.repeat != nil {
		return a.repeat
	}
	return append([]string{"tare"}, os.Args[1:]...)
}
