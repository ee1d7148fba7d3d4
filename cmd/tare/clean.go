package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"tare/internal/bench"
	"tare/internal/kept"
	"tare/internal/ledger"
)

func (a *app) cleanCommand() *cobra.Command {
	var asJSON, all bool
	c := &cobra.Command{
		Use:   "clean",
		Short: "Remove everything an earlier run left on the host",
		Long: `Removes what runs that have ended left behind: processes, containers, virtual
machines, network namespaces, cgroups, mounts and directories. Only things Tare
registered before it made them are touched; images, results and runs that are
still going on stay, on this machine and on others that share the state directory.
Each removal has 20 seconds (swap space 5 minutes); what is not gone by then is
reported, and the rest is removed all the same.

With --all also what is kept in the state directory for the next run, which then
takes minutes to make it again: the images and Docker's stores of them (tare image
list shows both). Runs that were stopped can no longer be resumed then. Results and
the certificate of the self-test stay.`,
		Example: "  tare clean\n  tare clean --json\n  tare clean --all",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := needRoot("clean"); err != nil {
				return err
			}
			g := cleaning{app: a, asJSON: asJSON, rows: []removed{}}
			err := a.cleaner().Clean(c.Context(), func(r ledger.Removed) {
				g.report(removed{Kind: r.Kind, Name: r.Name, Run: r.Run, Left: r.Left}, r.Err)
			})
			if all {
				err = errors.Join(err, g.kept(c.Context()))
			}
			if asJSON {
				if jerr := writeJSON(a.stdout, g.rows); jerr != nil {
					return jerr
				}
			} else if len(g.rows) == 0 && err == nil {
				fmt.Fprintln(a.stdout, "nothing was left behind")
			}
			return err
		},
	}
	c.Flags().BoolVar(&all, "all", false, "remove also what is kept for the next run: images, Docker's stores of them")
	c.Flags().BoolVar(&asJSON, "json", false, "print what was removed as JSON")
	return c
}

// removeWord is the command by which cleaning has another process remove one thing.
const removeWord = "remove-apart"

// removeCommand is what this program is while it removes one thing that may hang
// in the kernel. It is hidden: nobody but [app.cleaner] calls it.
func (a *app) removeCommand() *cobra.Command {
	return &cobra.Command{
		Use: removeWord, Hidden: true, Args: cobra.NoArgs,
		Short:   "Remove one thing for a process that cleans",
		Example: "  tare " + removeWord,
		RunE:    func(c *cobra.Command, _ []string) error { return ledger.RemoveApart(c.Context(), os.Stdin, a.stdout) },
	}
}

// cleaner removes what the dead have left in the state directory.
func (a *app) cleaner() ledger.Cleaner {
	c := ledger.Cleaner{Dir: a.state}
	if a.self != "" {
		c.Apart = []string{a.self, removeWord}
	}
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

// cleaning removes and says what.
type cleaning struct {
	*app
	asJSON bool
	rows   []removed
}

func (g *cleaning) report(r removed, err error) {
	if err != nil {
		r.Error = err.Error()
	}
	g.rows = append(g.rows, r)
	size := ""
	if r.Size > 0 {
		size = ", " + r.Size.String()
	}
	switch {
	case g.asJSON:
	case r.Left != "":
		fmt.Fprintf(g.stdout, "left alone: %s %s, %s\n", r.Kind, r.Name, r.Left)
	case err != nil:
		fmt.Fprintf(g.stdout, "still there: %s %s: %v\n", r.Kind, r.Name, err)
	default:
		fmt.Fprintf(g.stdout, "removed %s %s%s\n", r.Kind, r.Name, size)
	}
}

// kept removes what is kept for the next run.
func (g *cleaning) kept(ctx context.Context) error {
	if _, err := os.Stat(g.state); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	release, err := g.claim(ctx, cleaner, false) // no run may begin meanwhile
	var held *busy
	switch {
	case errors.As(err, &held) && held.by.Run == cleaner:
		return fmt.Errorf("another tare clean --all is at work on this host%v%w", held.by, bench.Hint("wait until it has ended"))
	case errors.As(err, &held):
		return fmt.Errorf("what is kept for the next run stays: a run is measuring on this host%v and may need it%w", held.by,
			bench.Hint("try again when it has ended; tare clean without --all can be run beside it"))
	case err != nil:
		return err
	}
	defer release()
	led, err := ledger.Open(g.state, "image")
	if err != nil {
		return err
	}
	images, err := g.images(led).List()
	if err != nil {
		return err
	}
	var errs []error
	for _, i := range images {
		_, err := g.images(led).Remove(ctx, i.Recipe)
		g.report(removed{Kind: "image", Name: cmp.Or(i.Digest, i.Recipe), Size: i.Size}, err)
		errs = append(errs, err)
	}
	things, err := kept.List(g.state)
	errs = append(errs, err)
	for _, t := range things {
		err := kept.Remove(g.state, t)
		g.report(removed{Kind: "kept", Name: t.Name, Size: t.Size}, err)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
