package main

import (
	"os"

	"github.com/spf13/cobra"

	"tare/internal/outercage"
)

// watchdogWord is the command by which a run starts its watchdog.
const watchdogWord = "watchdog"

// watchdogCommand is what this program is while something in a scene means
// harm. It is hidden: nobody but a run calls it.
func (a *app) watchdogCommand() *cobra.Command {
	return &cobra.Command{
		Use: watchdogWord, Hidden: true, Args: cobra.NoArgs,
		Short:   "Watch the host beside what means harm, and kill that when the host suffers",
		Example: "  tare watchdog",
		RunE:    func(*cobra.Command, []string) error { return outercage.Watchdog(os.Stdin, a.stdout) },
	}
}
