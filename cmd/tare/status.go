package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/compare"
	"tare/internal/figure"
	"tare/internal/result"
	"tare/internal/selftest"
	"tare/internal/spec"
)

// Exit statuses. A status is about the results that a verb shows, so the same
// results have the same status by whichever verb and in whichever format; of
// several the highest. A verb that shows none ends with 0 when it has done its work.
const (
	exitDone       = 0
	exitRegression = 1
	exitUndecided  = 2
	exitInvalid    = 3
	exitHost       = 4
	exitUsage      = 64
)

// statusTable is what tare help says of them, as the README does.
const statusTable = `Exit status, the same for the same results by whichever verb they are shown:
   0  done, and what was asked is decided
   1  gate: a regression
   2  the results do not decide: a headline effect or change is undecided, a
      claim of the self-test is open, or the run was stopped before its end
   3  invalid: a bad specification, a folder that is no run, an unfair comparison
   4  the host, a platform or a trial failed, or a claim of the self-test does
      not hold here
  64  usage
Where scenes are set against others on the same platform (relative) the cells
of that table count, undecided or unfair, in the place of their cases; one that
did not finish beside its neighbour is decided, one whose cage was over too
soon is not.`

// statusError ends the program with a status other than its error implies.
type statusError struct {
	status int
	err    error // nil to end without a message
}

func (e *statusError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.status)
	}
	return e.err.Error()
}

func (e *statusError) Unwrap() error { return e.err }

// usageError is a mistake on the command line.
func usageError(format string, args ...any) error {
	return &statusError{exitUsage, fmt.Errorf(format, args...)}
}

// status prints an error with its hint and maps it to an exit status.
func (a *app) status(err error) int {
	a.say(err)
	return statusOf(err)
}

// say prints an error with its hint, unless it is a status and no more.
func (a *app) say(err error) {
	var s *statusError
	var faults spec.Errors
	switch {
	case err == nil:
	case errors.As(err, &faults):
		fmt.Fprint(a.stderr, faults.Text())
	case !errors.As(err, &s) || s.err != nil:
		fmt.Fprintf(a.stderr, "tare: %s\n", bench.Reason(err))
		if h := bench.HintOf(err); h != "" {
			fmt.Fprintf(a.stderr, "hint: %s\n", h)
		}
	}
}

func statusOf(err error) int {
	var s *statusError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &s):
		return s.status
	case errors.Is(err, bench.ErrInvalid):
		return exitInvalid
	}
	return exitHost
}

// worst is an error with the highest status of several and all their messages.
func worst(errs ...error) error {
	var w *statusError
	for _, err := range errs {
		if err == nil {
			continue
		}
		if w == nil {
			w = &statusError{}
		}
		w.status = max(w.status, statusOf(err))
		if s := (*statusError)(nil); !errors.As(err, &s) || s.err != nil {
			w.err = errors.Join(w.err, err)
		}
	}
	if w == nil {
		return nil
	}
	return w
}

// resultStatus is the status a run's results deserve.
func (a *app) resultStatus(dir string, r *result.Result) error {
	if n := r.Trials.Failed; n > 0 {
		return &statusError{exitHost, fmt.Errorf("%d of %d trials failed: see the report", n, r.Trials.Planned)}
	}
	if err := unfairStatus(r); err != nil {
		return err
	}
	if !r.Complete {
		return &statusError{exitUndecided, fmt.Errorf("%d of %d trials have no outcome yet%w", r.Trials.Missing, r.Trials.Planned,
			bench.Hint("tare resume "+dir))}
	}
	if n := undecided(r); n > 0 {
		fmt.Fprintf(a.stderr, "%s undecided: a quieter host or more blocks may decide, in a new run: %s\n", are(n, "effect"), withMore(r))
		return &statusError{status: exitUndecided}
	}
	return nil
}

// mostBlocks is the most that a specification can have.
const mostBlocks = 1000

// withMore is the command that measures the run's experiment anew with more blocks,
// or as before where that is not for tare run.
func withMore(r *result.Result) string {
	if !strings.HasPrefix(r.Repeat, "tare run ") {
		return r.Repeat
	}
	if u := r.Until; u != nil {
		return fmt.Sprintf("%s --set until.interval=%.2g%% --set until.max=%d", withoutSets(r.Repeat, "until.interval", "until.max"), 50*u.Interval, min(mostBlocks, 3*u.Max))
	}
	return fmt.Sprintf("%s --set blocks=%d", withoutSets(r.Repeat, "blocks"), min(mostBlocks, max(10, 3*r.Blocks)))
}

// oneSet is an override in a command line for a shell, quoted where it needs be.
var oneSet = regexp.MustCompile(` --set (?:'[^']*'|\S+)`)

// withoutSets is the command without the overrides of these paths.
func withoutSets(command string, paths ...string) string {
	return oneSet.ReplaceAllStringFunc(command, func(set string) string {
		path, _, _ := strings.Cut(strings.Trim(strings.TrimPrefix(set, " --set "), "'"), "=")
		if slices.Contains(paths, strings.TrimSpace(path)) {
			return ""
		}
		return set
	})
}

// are says how many there are: "1 effect is", "2 effects are".
func are(n int, noun string) string {
	if n == 1 {
		return figure.Count(n, noun) + " is"
	}
	return figure.Count(n, noun) + " are"
}

// undecided counts the headline effects the results do not decide. Of cases
// that are set against others on the same platform these are the ones asked
// for. What did not finish beside a neighbour is decided.
func undecided(r *result.Result) int {
	n := 0
	within := r.Relative.Cases()
	if r.Relative != nil {
		for _, row := range r.Relative.Rows {
			for _, cell := range row.Cells {
				if cell != nil && row.Metric.Headline && cell.DNF == 0 && open(cell.Effect.Verdict) {
					n++
				}
			}
		}
	}
	for _, c := range r.Cases {
		if within[c.Name] {
			continue
		}
		for _, row := range c.Rows {
			if row.Metric.Headline && row.Effect != nil && row.DNF == 0 && open(row.Effect.Verdict) {
				n++
			}
		}
	}
	return n
}

func open(v result.Verdict) bool { return v == result.Inconclusive || v == result.Refused }

// changeStatus is the status that a comparison of two runs deserves.
func (a *app) changeStatus(c *compare.Comparison) error {
	n := 0
	for i := range c.Rows {
		r := &c.Rows[i]
		if r.Change.Verdict == result.Unfair {
			return &statusError{exitInvalid, fmt.Errorf("%s on %s: %w%w", r.Case, r.Platform, errUnfair,
				bench.Hint("measure both alike, or see the ratios with --allow-unfair"))}
		}
		if r.Metric.Headline && open(r.Change.Verdict) {
			n++
		}
	}
	if n > 0 {
		fmt.Fprintf(a.stderr, "%s undecided: more blocks in both runs or a quieter host may decide\n", are(n, "change"))
		return &statusError{status: exitUndecided}
	}
	return nil
}

// gateStatus is the status of a gate's decision.
func gateStatus(d compare.Decision) error {
	switch d {
	case compare.Regression:
		return &statusError{status: exitRegression}
	case compare.Undecided:
		return &statusError{status: exitUndecided}
	case compare.Unfair:
		return &statusError{exitInvalid, fmt.Errorf("gate: %w%w", errUnfair, bench.Hint("measure both alike, or see what comes out with --allow-unfair"))}
	}
	return nil
}

// claimStatus is the status that claims of the self-test deserve.
func claimStatus(claims []selftest.Claim) error {
	var broken []string
	open := false
	for _, c := range claims {
		switch c.Held {
		case selftest.No:
			broken = append(broken, c.Claim+", but found "+c.Found)
		case selftest.Open:
			open = true
		}
	}
	switch {
	case len(broken) > 0:
		return &statusError{exitHost, errors.New(strings.Join(broken, "; "))}
	case open:
		return &statusError{status: exitUndecided}
	}
	return nil
}
