package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

// version is this program's, written into every run.
const version = "0.1.0"

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Example: "  tare version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.stdout, "tare %s (%s)\n", version, runtime.Version())
			return err
		},
	}
}
