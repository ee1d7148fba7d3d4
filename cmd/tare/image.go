package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/bench"
	"tare/internal/image"
	"tare/internal/kept"
	"tare/internal/ledger"
)

func (a *app) imageCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "image",
		Short:   "Build, list and remove golden images",
		Example: "  tare image build\n  tare image list --json",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.imageBuildCommand(), a.imageListCommand(), a.imageFormsCommand(), a.imageRemoveCommand())
	return c
}

// images is the store of golden images; what a build makes is registered in led.
func (a *app) images(led bench.Ledger) *image.Store { return a.equip(image.New(a.state), led) }

// hosts is the store of the image that outer guests of nestings boot from.
func (a *app) hosts(led bench.Ledger) *image.Store { return a.equip(image.NewHosts(a.state), led) }

// xenHosts is that of the image of those that boot under Xen.
func (a *app) xenHosts(led bench.Ledger) *image.Store {
	return a.equip(image.NewXenHosts(a.state), led)
}

func (a *app) equip(s *image.Store, led bench.Ledger) *image.Store {
	s.Ledger = led
	s.Progress = func(line string) { fmt.Fprintln(a.stderr, line) }
	return s
}

func (a *app) imageBuildCommand() *cobra.Command {
	var asJSON, verify, hosts, xen bool
	c := &cobra.Command{
		Use:   "build",
		Short: "Build the golden image, unless it is there",
		Long: `Builds the root file system every platform runs: Debian packages by
mmdebstrap, the same bytes on each platform. It is built again only when its
recipe changes. With --hosts it builds instead the image that the outer guest
of a nesting (such as docker@qemu-tcg) boots from, which the first run of a
nesting builds otherwise; with --xen-hosts that of one that boots under Xen
(such as xen-pv@qemu-tcg).`,
		Example: "  tare image build\n  tare image build --verify\n  tare image build --hosts",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := needRoot("image build"); err != nil {
				return err
			}
			if err := a.closeState(); err != nil {
				return err
			}
			led, err := ledger.Open(a.state, "image")
			if err != nil {
				return err
			}
			store := a.images(led)
			if hosts {
				store = a.hosts(led)
			}
			if xen {
				store = a.xenHosts(led)
			}
			img, err := store.Build(c.Context())
			if err != nil {
				return err
			}
			defer img.Close()
			if verify {
				if err := img.Verify(c.Context()); err != nil {
					return err
				}
			}
			m := img.Manifest()
			if asJSON {
				return writeJSON(a.stdout, m)
			}
			_, err = fmt.Fprintf(a.stdout, "image %s: %d packages, %d files, %s\n",
				m.Digest[:19], len(m.Packages), m.Files, bench.Bytes(m.Bytes))
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the manifest as JSON")
	c.Flags().BoolVar(&hosts, "hosts", false, "build the image of nestings' outer guests")
	c.Flags().BoolVar(&xen, "xen-hosts", false, "build the image of outer guests under Xen")
	c.MarkFlagsMutuallyExclusive("hosts", "xen-hosts")
	c.Flags().BoolVar(&verify, "verify", false, "read every byte and compare with the digest")
	return c
}

func (a *app) imageListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List the images on this host, and what else is kept for the next run", Example: "  tare image list", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			infos, err := a.images(nil).List()
			if err != nil {
				return err
			}
			if asJSON {
				if infos == nil {
					infos = []image.Info{}
				}
				return writeJSON(a.stdout, infos)
			}
			things, err := kept.List(a.state)
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "DIGEST\tROLE\tCREATED\tSIZE\tFORMS")
			for _, i := range infos {
				if i.Problem != "" {
					fmt.Fprintf(w, "%s\t\t\t%s\tunusable: %s\n", i.Recipe, i.Size, i.Problem)
					continue
				}
				forms := append([]string{"root"}, slices.Sorted(maps.Keys(i.Forms))...)
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", i.Digest[:19], cmp.Or(i.Role, "golden"), i.Created.Format(time.DateTime), i.Size, strings.Join(forms, ", "))
			}
			if len(things) > 0 {
				fmt.Fprintln(w, "\nALSO KEPT\tSIZE\tWHAT")
			}
			for _, t := range things {
				fmt.Fprintf(w, "%s\t%s\t%s\n", t.Name, t.Size, t.What)
			}
			if len(infos)+len(things) > 0 {
				fmt.Fprintf(w, "\nall in %s; tare image rm removes an image, tare clean --all everything here\n", a.state)
			}
			return w.Flush()
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}

func (a *app) imageRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "rm DIGEST...",
		Short:   "Remove images, by digest or the beginning of one",
		Example: "  tare image rm sha256:3f2a",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.closeState(); err != nil {
				return err
			}
			led, err := ledger.Open(a.state, "image")
			if err != nil {
				return err
			}
			for _, d := range args {
				gone, err := a.images(led).Remove(c.Context(), d)
				if err != nil {
					return err
				}
				fmt.Fprintln(a.stdout, "removed", gone.Digest)
			}
			return nil
		},
	}
}

// writeJSON prints v as people read JSON.
func writeJSON(w interface{ Write([]byte) (int, error) }, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
