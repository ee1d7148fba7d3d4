package main

import (
	"errors"
	"fmt"
	"io"

	"tare/internal/analysis/compare"
	"tare/internal/analysis/stats"
	"tare/internal/app/session"
	"tare/internal/bench"
	"tare/internal/bench/figure"
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
   1  gate: a regression of the platform
   2  the results do not decide: an effect or change in a case's main metric is
      undecided, a regression is one of two runs and may not be one of the
      platform, a claim of the self-test is open, or the run was stopped before
      its end
   3  invalid: a bad specification, a folder that is no run, an unfair comparison
   4  the host, a platform or a trial failed, or a claim of the self-test does
      not hold here
  64  usage
Where scenes are set against others on the same platform (relative) the cells
of that table count, undecided or unfair, in the place of their cases; one that
did not finish beside its neighbour is decided, one whose neighbour was ended by
Tare's own limits too soon is not.`

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
	var stopped *session.Stopped
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &s):
		return s.status
	case errors.As(err, &stopped):
		return exitUndecided
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

// resultStatus is the status a run's results deserve. The folder is the one to resume, "" for a run that
// began elsewhere.
func resultStatus(notes io.Writer, dir string, r *result.Result) error {
	undecided, unfair := unsettled(r)
	switch {
	case r.Trials.Failed > 0:
		return &statusError{exitHost, fmt.Errorf("%d of %d trials failed: see the report", r.Trials.Failed, r.Trials.Asked)}
	case unfair > 0: // and not allowed
		return &statusError{exitInvalid, fmt.Errorf("%s unfair: the report says why%w", are(unfair, "comparison"),
			bench.Hint("remove the cause and measure again, or see the ratios with --allow-unfair"))}
	case !r.Complete && r.Going:
		return &statusError{exitUndecided, fmt.Errorf("the run is still going on: %d of %d trials have no outcome yet%w", r.Trials.Missing, r.Trials.Asked,
			bench.Hint("report it again when it has ended"))}
	case !r.Complete:
		way := bench.Hint("tare resume " + dir)
		if dir == "" {
			way = bench.Hint("measure anew: " + r.Repeat)
		}
		return &statusError{exitUndecided, fmt.Errorf("%d of %d trials have no outcome yet%w", r.Trials.Missing, r.Trials.Asked, way)}
	case undecided > 0:
		fmt.Fprintf(notes, "%s undecided%s: %s\n", are(undecided, "effect"), knownClosely(r), wayOn(dir, r))
		return &statusError{status: exitUndecided}
	}
	return nil
}

// knownClosely says how many of the undecided effects are known as closely as the stopping rule asks.
func knownClosely(r *result.Result) string {
	if r.Until == nil {
		return ""
	}
	n := 0
	for e := range r.Headlines() {
		if e.Verdict == result.Inconclusive && (e.High-e.Low)/2/e.Ratio <= r.Until.Interval {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d of them known to within ±%s", n, figure.Share(r.Until.Interval))
}

// wayOn says what may decide the undecided effects, with the commands for it: by the estimates that
// the report gives, where it gives some.
func wayOn(dir string, r *result.Result) string {
	m := r.More()
	if m.Beyond == m.Open {
		return fmt.Sprintf("more than %d blocks would be needed, so a quieter host, a longer window or a wider margin: %s", stats.MostNeeded, r.Repeat)
	}
	if dir == "" {
		return "a quieter host or more blocks may decide, in a new run: " + r.WithMore()
	}
	command := fmt.Sprintf("tare resume %s --blocks +%d", dir, m.Added)
	if r.Until != nil && r.Until.Budget > 0 {
		command = "tare resume " + dir + " --budget +" + result.Minutes(m.Seconds)
	}
	beyond := ""
	if m.Beyond > 0 {
		beyond = fmt.Sprintf(" (not %d of them, which would need more than %d)", m.Beyond, stats.MostNeeded)
	}
	took := ""
	if m.Seconds > 0 {
		took = fmt.Sprintf(" (at most about %s)", figure.Span(m.Seconds))
	}
	return fmt.Sprintf("a quieter host or more blocks may decide%s: %s%s, or in a new run: %s", beyond, command, took, r.WithMore())
}

// unsettled counts the headline effects that the results do not decide, and those whose
// comparison is invalid. What did not finish beside a neighbour is decided.
func unsettled(r *result.Result) (undecided, unfair int) {
	for e, dnf := range r.Headlines() {
		switch {
		case e.Verdict == result.Unfair:
			unfair++
		case dnf == 0 && open(e.Verdict):
			undecided++
		}
	}
	return undecided, unfair
}

// are says how many there are: "1 effect is", "2 effects are".
func are(n int, noun string) string {
	if n == 1 {
		return figure.Count(n, noun) + " is"
	}
	return figure.Count(n, noun) + " are"
}

func open(v result.Verdict) bool { return v == result.Inconclusive || v == result.Refused }

// seeFailures is the hint where launches failed.
const seeFailures = bench.Hint("see why: tare report of each run")

// changeStatus is the status that a comparison of two runs deserves.
func changeStatus(notes io.Writer, c *compare.Comparison) error {
	n, broke := 0, 0
	for i := range c.Rows {
		r := &c.Rows[i]
		if r.Change.Verdict == result.Unfair {
			return &statusError{exitInvalid, fmt.Errorf("%s on %s: %w%w", r.Case, r.Platform, errUnfair,
				bench.Hint("measure both alike, or see the ratios with --allow-unfair"))}
		}
		if r.Metric.Headline && open(r.Change.Verdict) {
			n++
			if r.Broke() {
				broke++
			}
		}
	}
	if broke > 0 {
		return &statusError{exitHost, fmt.Errorf("of %s no launch finished on a side, since they failed%w", figure.Count(broke, "change"), seeFailures)}
	}
	if n > 0 {
		more := "blocks in both runs"
		if c.SpeaksFor == compare.ThePlatform {
			more = "runs"
		}
		fmt.Fprintf(notes, "%s undecided: more %s or a quieter host may decide\n", are(n, "change"), more)
		return &statusError{status: exitUndecided}
	}
	return nil
}

// gateStatus is the status of a gate's decision.
func gateStatus(d compare.Decision) error {
	switch d {
	case compare.Regression:
		return &statusError{status: exitRegression}
	case compare.Failed:
		return &statusError{exitHost, fmt.Errorf("gate: launches failed, so that nothing can be decided%w", seeFailures)}
	case compare.Undecided, compare.RegressionOfRuns:
		return &statusError{status: exitUndecided}
	case compare.Unfair:
		return &statusError{exitInvalid, fmt.Errorf("gate: %w%w", errUnfair, bench.Hint("measure both alike, or see what comes out with --allow-unfair"))}
	}
	return nil
}

// claimStatus is the status that claims of the self-test deserve.
func claimStatus(claims []selftest.Claim) error {
	status, broken := selftest.Status(claims)
	if status != 0 {
		return &statusError{status, broken}
	}
	return nil
}
