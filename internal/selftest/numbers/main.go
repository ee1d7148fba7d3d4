// Numbers measures on this host the figures the project promises and prints
// them beside their targets. It is run by scripts/numbers; docs/NUMBERS.md says
// what each figure means.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"tare/internal/bench"
	"tare/internal/host/tree"
	"tare/internal/selftest"
)

// exitUsage is the exit status of bad arguments; the others are those of claims,
// and that a figure could not be measured is as one that does not hold.
const exitUsage = 64

// part is a group of figures measured together.
type part struct {
	name    selftest.Part
	measure func(context.Context, *numbers) ([]selftest.Measured, error)
}

func parts() []part {
	return []part{
		{selftest.PartObserve, observe}, {selftest.PartDensity, density}, {selftest.PartProcedure, procedure}, {selftest.PartStartup, startup},
		{selftest.PartShare, share}, {selftest.PartByHand, byHand}, {selftest.PartApplications, applicationsByHand},
		{selftest.PartRepeat, repeat}, {selftest.PartReport, report},
	}
}

// numbers is what every part needs to know.
type numbers struct {
	tare tare
	dir  string // for what the parts write, removed at the end
	// platforms are those of the part share; none: all.
	platforms []string
	run       string // that part repeat is worked out from, in the place of a new one
	quick     bool   // few repetitions, to see that all works
	stderr    io.Writer
}

// repeat is how often to do what a real measurement does n times.
func (n *numbers) repeat(times int) int {
	if n.quick {
		return max(3, times/10)
	}
	return times
}

func (n *numbers) say(format string, args ...any) { fmt.Fprintf(n.stderr, format+"\n", args...) }

func main() {
	if w, ok := wrapping(); ok { // see wrapper.go
		os.Exit(w.run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:])
	stop()
	os.Exit(status)
}

func run(ctx context.Context, args []string) int {
	if len(args) > 0 {
		switch args[0] {
		case "stopwatch": // see stopwatch.go
			return exit(stopwatch(args[1:], os.Stdin, os.Stdout))
		case "generate": // see report.go
			return exit(generate(args[1:]))
		}
	}
	flags := flag.NewFlagSet("numbers", flag.ContinueOnError)
	bin := flags.String("tare", "./tare", "the program to measure; tare-agent lies beside it")
	state := flags.String("state", bench.StateDir, "its state directory, on the disk under test")
	quick := flags.Bool("quick", false, "few repetitions: to see that it works, not to quote")
	platforms := flags.String("platforms", "", "those of the part share, separated by commas; all if not given")
	from := flags.String("run", "", "for the part repeat: a run that is there, in the place of a new one")
	asJSON := flags.Bool("json", false, "print the figures as JSON")
	if err := flags.Parse(args); err != nil {
		return exitUsage
	}
	chosen, err := choose(flags.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "numbers:", err)
		return exitUsage
	}
	n := &numbers{tare: tare{*bin, *state}, run: *from, quick: *quick, stderr: os.Stderr}
	if *platforms != "" {
		n.platforms = strings.Split(*platforms, ",")
	}
	found, err := measure(ctx, n, chosen)
	if err = errors.Join(err, selftest.WriteMeasured(os.Stdout, found, *asJSON)); err != nil {
		return exit(err)
	}
	var claims []selftest.Claim
	for _, m := range found {
		claims = append(claims, m.Claim)
	}
	status, broken := selftest.Status(claims)
	exit(broken)
	return status
}

// exit prints the error, if any, and returns the exit status.
func exit(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "numbers:", err)
	if hint := bench.HintOf(err); hint != "" {
		fmt.Fprintln(os.Stderr, "hint:", hint)
	}
	return selftest.ExitBroken
}

// choose returns the parts of the names, all of them if there are none.
func choose(names []string) ([]part, error) {
	all := parts()
	if len(names) == 0 {
		return all, nil
	}
	var chosen []part
	for _, name := range names {
		i := slices.IndexFunc(all, func(p part) bool { return string(p.name) == name })
		if i < 0 {
			var known []string
			for _, p := range all {
				known = append(known, string(p.name))
			}
			return nil, fmt.Errorf("no part %q; there are %s", name, strings.Join(known, ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// measure goes on with the next part when one fails.
func measure(ctx context.Context, n *numbers, chosen []part) (all []selftest.Measured, err error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("containers need root")
	}
	// Results are read back at once, so they lie where temporary files do.
	if n.dir, err = os.MkdirTemp("", "numbers"); err != nil {
		return nil, err
	}
	defer tree.Remove(n.dir)
	var errs []error
	for _, p := range chosen {
		n.say("measuring %s", p.name)
		found, err := p.measure(ctx, n)
		all = append(all, found...)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return all, errors.Join(errs...)
}
