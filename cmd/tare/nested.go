package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"tare/internal/bench"
	"tare/internal/nested"
	"tare/internal/nested/wire"
	"tare/internal/platform/all"
	"tare/internal/platform/launch"
	"tare/internal/platform/nest"
)

// nestedCommand is what this program is in the outer guest of a nesting. It is
// hidden: nobody but package nest calls it.
func (a *app) nestedCommand() *cobra.Command {
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
