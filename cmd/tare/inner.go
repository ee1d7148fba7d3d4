package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"tare/internal/bench"
	"tare/internal/guest/nested"
	"tare/internal/guest/nested/wire"
	"tare/internal/platform/all"
	"tare/internal/platform/launch"
	"tare/internal/platform/nest"
	"tare/internal/run/containment"
	"tare/internal/state/ledger"
)

// nestedCommand is what this program is in the outer guest of a nesting. It is
// hidden: nobody but package nest calls it.
func nestedCommand() *cobra.Command {
	return &cobra.Command{
		Use: "nested", Hidden: true, Args: cobra.NoArgs,
		Short:   "Serve as the half of a nesting that runs in the outer guest",
		Example: "  tare nested",
		RunE: func(c *cobra.Command, _ []string) error {
			path := launch.SearchPath(os.Getenv("PATH"))
			if err := os.Setenv("PATH", wire.Carried+string(os.PathListSeparator)+path); err != nil {
				return err
			}
			return nested.Serve(c.Context(), func(state string) []bench.Platform {
				return all.Inside(state, nest.Setup{
					Hosts:    func(context.Context) (nest.HostImage, error) { return nested.Hosts{}, nil },
					Versions: nested.Versions, Tools: nested.Tools,
				})
			})
		},
	}
}

// removeWord is the command by which cleaning has another process remove one thing.
const removeWord = "remove-apart"

// removeCommand is what this program is while it removes one thing that may hang
// in the kernel. It is hidden: nobody but [site.Site.Cleaner] calls it.
func removeCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: removeWord, Hidden: true, Args: cobra.NoArgs,
		Short:   "Remove one thing for a process that cleans",
		Example: "  tare " + removeWord,
		RunE:    func(c *cobra.Command, _ []string) error { return ledger.RemoveApart(c.Context(), os.Stdin, a.stdout) },
	}
}

// watchdogWord is the command by which a run starts its watchdog.
const watchdogWord = "watchdog"

// watchdogCommand is what this program is while something in a scene means
// harm. It is hidden: nobody but a run calls it.
func watchdogCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: watchdogWord, Hidden: true, Args: cobra.NoArgs,
		Short:   "Watch the host beside an adversary, and kill that when the host suffers",
		Example: "  tare watchdog",
		RunE:    func(*cobra.Command, []string) error { return containment.Watchdog(os.Stdin, a.stdout) },
	}
}
