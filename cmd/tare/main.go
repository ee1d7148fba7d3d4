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
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tare/internal/app/planning"
	"tare/internal/app/site"
	"tare/internal/bench"
	"tare/internal/report"
)

// app is what every verb shares.
type app struct {
	stdout, stderr io.Writer // both plain: a terminal obeys nothing that is said in them
	screen         io.Writer // where progress is drawn
	// repeat is the command that repeats what is under way, where that is not the command line.
	repeat []string
	site   *site.Site
}

func main() { os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr)) }

// execute runs the command line and returns the exit status.
func execute(args []string, stdout, stderr io.Writer) int {
	a := newApp(stdout, stderr)
	ctx, done := stoppable(a.stderr)
	defer done()
	root := a.command()
	root.SetArgs(args)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	err := root.ExecuteContext(ctx)
	a.say(err)
	return statusOf(err)
}

// oneStop is how long after a signal further ones are of the same wish to stop: timeout(1) signals its
// child and then the whole group.
const oneStop = time.Second

// stoppable is a context that ends with Ctrl-C or when the program is asked to stop. A signal more than
// [oneStop] after that ends the program at once.
func stoppable(notes io.Writer) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		var which os.Signal
		select {
		case <-ctx.Done():
			return
		case which = <-signals:
		}
		fmt.Fprintln(notes, "stopping: again to stop at once; then tare clean")
		cancel(fmt.Errorf("%v signal received", which))
		time.Sleep(oneStop)
		signal.Stop(signals)
	}()
	return ctx, func() { signal.Stop(signals); cancel(nil) }
}

func newApp(stdout, stderr io.Writer) *app {
	notes := report.Plain(stderr)
	return &app{stdout: report.Plain(stdout), stderr: notes, screen: stderr,
		site: &site.Site{Notes: notes, Apart: []string{"/proc/self/exe", removeWord}}}
}

// catalog is what can be measured with.
func (a *app) catalog() planning.Catalog { return planning.Catalog{Dir: a.site.Dir} }

// show prints v as JSON, or as text.
func (a *app) show(asJSON bool, v any, text func(io.Writer) error) error {
	if asJSON {
		return report.IndentedJSON(a.stdout, v)
	}
	return text(a.stdout)
}

func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:     "tare",
		Version: version,
		Short:   "Weigh isolation: what containers and virtual machines cost a workload on this host",
		Long: `Tare measures what isolation costs: it runs the same workloads natively, in
containers and in virtual machines, from one image and under one clock, watches
guest, layer and host at the same time, and says how sure it is.

` + statusTable,
		Example:       "  tare doctor\n  tare run quick\n  tare report results/ID",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.PersistentFlags().StringVar(&a.site.Dir, "state", defaultState(), "where images, daemons' data and the list of what is to be cleaned up are kept")
	root.PersistentPreRunE = func(*cobra.Command, []string) (err error) {
		a.site.Dir, err = filepath.Abs(a.site.Dir)
		return err
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return &statusError{exitUsage, fmt.Errorf("%w%w", flagError(c, err), bench.Hint("see "+c.CommandPath()+" --help"))}
	})
	// What is asked for with several is asked for with one.
	root.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "platform" {
			name = "platforms"
		}
		return pflag.NormalizedName(name)
	})
	root.AddCommand(
		doctorCommand(a), listCommand(a), imageCommand(a), planCommand(a), runCommand(a), tryCommand(a), abCommand(a),
		resumeCommand(a), reportCommand(a), reproduceCommand(a), compareCommand(a), gateCommand(a),
		selftestCommand(a), nestedCommand(), nodeCommand(a), nodeResultsCommand(a), watchdogCommand(a), removeCommand(a), cleanCommand(a), versionCommand(a),
	)
	usageStatus(root)
	return root
}

// flagTakes is what the values of flags are, by their type.
var flagTakes = map[string]string{
	"uint64": "a whole number from 0 to 18446744073709551615", "int": "a whole number", "intSlice": "whole numbers, such as 10,30",
	"duration": "a time with its unit, such as 90s, 10m or 1h30m", "bool": "true or false",
}

// flagError names the nearest of a verb's flags, and says of a value that cannot be read what would be.
func flagError(c *cobra.Command, err error) error {
	var none *pflag.NotExistError
	if errors.As(err, &none) && len(none.GetSpecifiedName()) > 1 {
		var flags []string
		c.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, "--"+f.Name) })
		return fmt.Errorf("%w%s", err, bench.DidYouMean("--"+none.GetSpecifiedName(), flags))
	}
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err
	}
	takes, known := flagTakes[bad.GetFlag().Value.Type()]
	if !known {
		return err
	}
	return fmt.Errorf("--%s %q: it takes %s", bad.GetFlag().Name, bad.GetValue(), takes)
}

// usageStatus makes a wrong number of arguments a usage error, for c and below,
// and names the nearest of the words that would do.
func usageStatus(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			err := check(c, args)
			if err == nil {
				return nil
			}
			words := slices.Clone(c.ValidArgs)
			for _, sub := range c.Commands() {
				if sub.IsAvailableCommand() {
					words = append(words, sub.Name())
				}
			}
			if said := err.Error(); strings.HasPrefix(said, "accepts ") || strings.HasPrefix(said, "requires ") {
				_, wanted, _ := strings.Cut(c.Use, " ")
				err = fmt.Errorf("%s takes %s; %s given", c.CommandPath(), wanted, are(len(args), "argument"))
			} else if len(args) > 0 {
				err = fmt.Errorf("%w%s", err, didYouMean(c, args[0], words))
			}
			return &statusError{exitUsage, fmt.Errorf("%w%w", err, bench.Hint("see "+c.CommandPath()+" --help"))}
		}
	}
	for _, sub := range c.Commands() {
		usageStatus(sub)
	}
}

// didYouMean asks for the verb below c that goes by another word, or for the nearest of the words.
func didYouMean(c *cobra.Command, word string, words []string) string {
	for _, sub := range c.Commands() {
		if slices.Contains(sub.SuggestFor, word) {
			return fmt.Sprintf("; did you mean %q?", sub.Name())
		}
	}
	return bench.DidYouMean(word, words)
}

// defaultState is $TARE_STATE or a directory on the disk that daemons use as well.
func defaultState() string {
	if s := os.Getenv("TARE_STATE"); s != "" {
		return s
	}
	return "/var/lib/tare"
}

// needRoot is an error for anyone who cannot make namespaces and cgroups.
func needRoot(what string) error {
	if os.Geteuid() == 0 {
		return nil
	}
	return fmt.Errorf("%s needs root: it makes containers, virtual machines and network namespaces: %w%w",
		what, bench.ErrUnavailable, bench.Hint("sudo tare ..."))
}

// version is this program's, written into every run.
const version = "0.1.0"

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Example: "  tare version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.stdout, "tare %s (%s)\n", version, runtime.Version())
			return err
		},
	}
}
