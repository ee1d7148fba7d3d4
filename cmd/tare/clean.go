package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tare/internal/bench"
	"tare/internal/state/ledger"
)

func cleanCommand(a *app) *cobra.Command {
	var asJSON, all bool
	var e elsewhere
	var runs []string
	c := &cobra.Command{
		Use:   "clean",
		Short: "Remove everything an earlier run left on the host",
		Long: `Removes what runs that have ended left behind: processes, containers, virtual
machines, network namespaces, cgroups, mounts and directories. Only things Tare
registered before it made them are touched; images, results and runs that are
still going on stay, on this machine and on others that share the state directory.
Each removal has 20 seconds (swap space 5 minutes); what is not gone by then is
reported, and the rest is removed all the same.

With --on kubernetes it removes what runs have left in a namespace of a cluster, and
fetches first what they have finished, into results/ID. A run that another host has
begun and that may be going on is left alone, unless --run names it.

With --all also what is kept in the state directory for the next run, which then
takes minutes to make it again: the images and Docker's stores of them (tare image
list shows both). Runs that were stopped can no longer be resumed then. Results and
the certificate of the self-test stay.`,
		Example: "  tare clean\n  tare clean --json\n  tare clean --all\n  tare clean --on kubernetes --namespace tare",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := e.check(c); err != nil {
				return err
			}
			if e.on == "" {
				if err := needRoot("clean"); err != nil {
					return err
				}
			}
			rows := []removed{}
			report := func(r removed, err error) {
				if err != nil {
					r.Error = err.Error()
				}
				rows = append(rows, r)
				if !asJSON {
					fmt.Fprintln(a.stdout, &r)
				}
			}
			var err error
			if e.on == kubernetes {
				err = a.cleanOn(c.Context(), &e, runs, report)
			} else {
				err = a.site.Cleaner().Clean(c.Context(), func(r ledger.Removed) {
					report(removed{Kind: r.Kind, Name: r.Name, Run: r.Run, Left: r.Left}, r.Err)
				})
			}
			if all {
				err = errors.Join(err, a.site.RemoveKept(c.Context(), func(kind, name string, size bench.Bytes, err error) {
					report(removed{Kind: kind, Name: name, Size: size}, err)
				}))
			}
			if jerr := a.show(asJSON, rows, func(w io.Writer) error {
				if len(rows) == 0 && err == nil {
					fmt.Fprintln(w, "nothing was left behind")
				}
				return nil
			}); jerr != nil {
				return jerr
			}
			return err
		},
	}
	c.Flags().BoolVar(&all, "all", false, "remove also what is kept for the next run: images, Docker's stores of them")
	e.whereFlags(c)
	c.Flags().StringSliceVar(&runs, "run", nil, "with --on kubernetes: remove this run, though it was begun elsewhere and may be going on (repeatable)")
	c.MarkFlagsMutuallyExclusive("all", "on")
	c.Flags().BoolVar(&asJSON, "json", false, "print what was removed as JSON")
	return c
}

// removed is one thing that was to be removed.
type removed struct {
	Kind  string      `json:"kind"`
	Name  string      `json:"name"`
	Run   string      `json:"run,omitempty"`
	Size  bench.Bytes `json:"size,omitempty"` // on disk, of what was kept
	Error string      `json:"error,omitempty"`
	Left  string      `json:"left_alone,omitempty"` // why nothing was done about it
}

func (r *removed) String() string {
	switch {
	case r.Left != "":
		return fmt.Sprintf("left alone: %s %s, %s", r.Kind, r.Name, r.Left)
	case r.Error != "":
		return fmt.Sprintf("still there: %s %s: %s", r.Kind, r.Name, r.Error)
	case r.Size > 0:
		return fmt.Sprintf("removed %s %s, %v", r.Kind, r.Name, r.Size)
	}
	return fmt.Sprintf("removed %s %s", r.Kind, r.Name)
}
