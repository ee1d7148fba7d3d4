// Tare measures what isolation costs: natively, in containers and in virtual
// machines, from one image and under one clock, on this host.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"tare/internal/bench"
	"tare/internal/spec"
)

// Exit statuses.
const (
	exitDone       = 0
	exitRegression = 1  // a gate found a regression
	exitUndecided  = 2  // the results do not decide
	exitInvalid    = 3  // a bad specification, an unfair comparison
	exitHost       = 4  // the host or a platform failed
	exitUsage      = 64 // the command line
)

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

// app is what every verb shares.
type app struct {
	stdout, stderr io.Writer
	state          string // the state directory
	// repeat is the command that repeats what is under way, where that is not the command line.
	repeat []string
}

func main() { os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr)) }

// execute runs the command line and returns the exit status.
func execute(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// A second Ctrl-C ends the program at once; tare clean then removes what is left.
	context.AfterFunc(ctx, stop)

	a := &app{stdout: stdout, stderr: stderr}
	root := a.command()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return a.status(root.ExecuteContext(ctx))
}

// status prints an error with its hint and maps it to an exit status.
func (a *app) status(err error) int {
	if err == nil {
		return exitDone
	}
	var s *statusError
	isStatus := errors.As(err, &s)
	var faults spec.Errors
	switch {
	case errors.As(err, &faults):
		fmt.Fprintln(a.stderr, faults.Text())
	case !isStatus || s.err != nil:
		fmt.Fprintf(a.stderr, "tare: %v\n", err)
		if h := bench.HintOf(err); h != "" {
			fmt.Fprintf(a.stderr, "hint: %s\n", h)
		}
	}
	switch {
	case isStatus:
		return s.status
	case errors.Is(err, bench.ErrInvalid):
		return exitInvalid
	}
	return exitHost
}

func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:     "tare",
		Version: version,
		Short:   "Weigh isolation: what containers and virtual machines cost a workload on this host",
		Long: `Tare measures what isolation costs: it runs the same workloads natively, in
containers and in virtual machines, from one image and under one clock, watches
guest, layer and host at the same time, and says how sure it is.

Exit status: 0 done; 1 a gate found a regression; 2 the results do not decide;
3 invalid (a bad specification, an unfair comparison); 4 the host or a platform
failed; 64 usage.`,
		Example:       "  tare doctor\n  tare run quick\n  tare report results/ID",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.PersistentFlags().StringVar(&a.state, "state", defaultState(), "where images, daemons' data and the ledger are kept")
	root.PersistentPreRunE = func(*cobra.Command, []string) (err error) {
		a.state, err = filepath.Abs(a.state)
		return err
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &statusError{exitUsage, err} })
	root.AddCommand(
		a.doctorCommand(), a.listCommand(), a.imageCommand(), a.planCommand(), a.runCommand(),
		a.resumeCommand(), a.reportCommand(), a.compareCommand(), a.gateCommand(),
		a.selftestCommand(), a.nestedCommand(), a.watchdogCommand(), a.cleanCommand(), a.versionCommand(),
	)
	usageStatus(root)
	return root
}

// usageStatus makes a wrong number of arguments a usage error, for c and below.
func usageStatus(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return &statusError{exitUsage, fmt.Errorf("%w%w", err, bench.Hint("see "+c.CommandPath()+" --help"))}
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		usageStatus(sub)
	}
}

// defaultState is $TARE_STATE or a directory on the disk that daemons use as well.
func defaultState() string {
	if s := os.Getenv("TARE_STATE"); s != "" {
		return s
	}
	return "/var/lib/tare"
}

// agentPath is the agent binary beside this program.
func agentPath() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	path := filepath.Join(filepath.Dir(self), "tare-agent")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("find the agent: %w%w", err,
			bench.Hint("tare-agent is built with tare and must lie beside it: go build ./cmd/tare-agent"))
	}
	return path, nil
}

// needRoot is an error for anyone who cannot make namespaces and cgroups.
func needRoot(what string) error {
	if os.Geteuid() == 0 {
		return nil
	}
	return fmt.Errorf("%s needs root: it makes containers, virtual machines and network namespaces: %w%w",
		what, bench.ErrUnavailable, bench.Hint("sudo tare ..."))
}
