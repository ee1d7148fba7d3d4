package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"tare/internal/ledger"
)

func (a *app) cleanCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "clean",
		Short: "Remove everything an earlier run left on the host",
		Long: `Removes what runs that have ended left behind: processes, containers, virtual
machines, network namespaces, cgroups, mounts and directories. Only things Tare
registered before it made them are touched; images, results and runs that are
still going on stay.`,
		Example: "  tare clean\n  tare clean --json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := needRoot("clean"); err != nil {
				return err
			}
			type row struct {
				Kind  string `json:"kind"`
				Name  string `json:"name"`
				Run   string `json:"run"`
				Error string `json:"error,omitempty"`
			}
			rows := []row{}
			err := ledger.Clean(c.Context(), a.state, false, func(r ledger.Removed) {
				x := row{Kind: r.Kind, Name: r.Name, Run: r.Run}
				if r.Err != nil {
					x.Error = r.Err.Error()
				}
				rows = append(rows, x)
				if asJSON {
					return
				}
				if r.Err != nil {
					fmt.Fprintf(a.stdout, "still there: %s %s: %v\n", r.Kind, r.Name, r.Err)
				} else {
					fmt.Fprintf(a.stdout, "removed %s %s\n", r.Kind, r.Name)
				}
			})
			if asJSON {
				if jerr := writeJSON(a.stdout, rows); jerr != nil {
					return jerr
				}
			} else if len(rows) == 0 && err == nil {
				fmt.Fprintln(a.stdout, "nothing was left behind")
			}
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print what was removed as JSON")
	return c
}
