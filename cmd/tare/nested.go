package main

import (
	"os"

	"github.com/spf13/cobra"

	"tare/internal/nested"
	"tare/internal/platform/all"
	"tare/internal/platform/launch"
)

// nestedCommand is what this program is in the outer guest of a nesting. It is
// hidden: nobody but package nest calls it.
func (a *app) nestedCommand() *cobra.Command {
	return &cobra.Command{
		Use: "nested", Hidden: true, Args: cobra.NoArgs,
		Short:   "Serve as the half of a nesting that runs in the outer guest",
		Example: "  tare nested",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := os.Setenv("PATH", launch.SearchPath(os.Getenv("PATH"))); err != nil {
				return err
			}
			return nested.Serve(c.Context(), all.Platforms)
		},
	}
}
