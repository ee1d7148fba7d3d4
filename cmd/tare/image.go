package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/app/session"
	"tare/internal/app/site"
	"tare/internal/bench"
	"tare/internal/image"
	"tare/internal/image/own"
	"tare/internal/platform/all"
	"tare/internal/report"
	"tare/internal/state/cache"
)

func imageCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "image",
		Short:   "Build, list and remove images: the files that every instance runs",
		Example: "  tare image build\n  tare image list --json",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(imageBuildCommand(a), imageListCommand(a), imageFormsCommand(a), imageSaveCommand(a), imageRemoveCommand(a))
	return c
}

func imageBuildCommand(a *app) *cobra.Command {
	var asJSON, verify, hosts, xen bool
	c := &cobra.Command{
		Use:   "build",
		Short: "Build the image that every instance runs, unless it is there",
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
			led, err := a.site.ForImages()
			if err != nil {
				return err
			}
			of := image.New
			if hosts {
				of = image.NewHosts
			}
			if xen {
				of = image.NewXenHosts
			}
			img, err := a.site.Images(of, led).Build(c.Context())
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
			return a.show(asJSON, m, func(w io.Writer) error { return printManifest(w, m) })
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the manifest as JSON")
	c.Flags().BoolVar(&hosts, "hosts", false, "build the image of nestings' outer guests")
	c.Flags().BoolVar(&xen, "xen-hosts", false, "build the image of outer guests under Xen")
	c.MarkFlagsMutuallyExclusive("hosts", "xen-hosts")
	c.Flags().BoolVar(&verify, "verify", false, "read every byte and compare with the digest")
	return c
}

func printManifest(w io.Writer, m image.Manifest) error {
	_, err := fmt.Fprintf(w, "image %s: %d packages, %d files, %s\n", m.Digest[:19], len(m.Packages), m.Files, bench.Bytes(m.Bytes))
	return err
}

func imageListCommand(a *app) *cobra.Command {
	var asJSON, programs bool
	c := &cobra.Command{
		Use: "list", Short: "List the images on this host, and what else is kept for the next run",
		Example: "  tare image list\n  tare image list --programs", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			infos, err := a.site.Images(image.New, nil).List()
			if err != nil {
				return err
			}
			if asJSON {
				if infos == nil {
					infos = []image.Info{}
				}
				return report.IndentedJSON(a.stdout, infos)
			}
			if programs {
				return listPrograms(a.stdout, infos)
			}
			things, err := cache.List(a.site.Dir, all.Platforms(a.site.Dir))
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
				forms := append([]string{"root"}, slices.Sorted(maps.Keys(i.Formats))...)
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", i.Digest[:19], roleOf(i), i.Created.Format(time.DateTime), i.Size, strings.Join(forms, ", "))
			}
			if len(things) > 0 {
				fmt.Fprintln(w, "\nALSO KEPT\tSIZE\tWHAT")
			}
			for _, t := range things {
				fmt.Fprintf(w, "%s\t%s\t%s\n", t.Name, t.Size, t.What)
			}
			if len(infos)+len(things) > 0 {
				fmt.Fprintf(w, "\nall in %s; tare image rm removes an image, tare clean --all everything here\n", a.site.Dir)
			}
			return w.Flush()
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	c.Flags().BoolVar(&programs, "programs", false, "list instead the programs of each image that workloads run, with their versions")
	return c
}

// roleOf names an image's role, and what it has beyond the base, or where one's own was taken from.
func roleOf(i image.Info) string {
	if i.From != "" {
		return "own: " + i.From
	}
	return strings.Join(append([]string{cmp.Or(i.Role, "golden")}, i.Beyond...), "+")
}

// listPrograms lists the programs of each image.
func listPrograms(to io.Writer, infos []image.Info) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "DIGEST\tROLE\tPROGRAM\tVERSION")
	for _, i := range infos {
		for _, name := range slices.Sorted(maps.Keys(i.Program)) {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", i.Digest[:19], roleOf(i), name, i.Program[name])
		}
	}
	return w.Flush()
}

func imageSaveCommand(a *app) *cobra.Command {
	var ref string
	c := &cobra.Command{
		Use:   "save FILE",
		Short: "Save the image, with this program, as an archive that container engines load",
		Long: `Writes the image that every instance runs, with this program and its agent in a layer
of their own, to an archive as of docker save. docker load, podman load and ctr images
import take it, so that it can be brought to another machine, a registry or the nodes of
a cluster: tare run --on kubernetes has nodes run it. The image must have been built.`,
		Example: "  tare image save tare.tar\n  tare image save tare.tar --as registry.example/tare:1\n  ctr -n k8s.io images import tare.tar",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := needRoot("image save"); err != nil {
				return err
			}
			led, err := a.site.ForImages()
			if err != nil {
				return err
			}
			beside, err := site.Programs()
			if err != nil {
				return err
			}
			img, err := a.site.Images(image.New, led).Open(c.Context())
			if err != nil {
				return err
			}
			defer img.Close()
			if ref == "" {
				ref = image.SavedName(img.Digest())
			}
			root, err := img.Tar(c.Context())
			if err != nil {
				return err
			}
			maps.Copy(beside, img.Beside())
			if err := own.Save(args[0], ref, root, beside); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "saved %s as %s\n", ref, args[0])
			return err
		},
	}
	c.Flags().StringVar(&ref, "as", "", "the image's name (default localhost/tare: and the digest's first 12 digits)")
	return c
}

func imageRemoveCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "rm DIGEST...",
		Short:   "Remove images, by digest or the beginning of one",
		Example: "  tare image rm sha256:3f2a",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			led, err := a.site.ForImages()
			if err != nil {
				return err
			}
			for _, d := range args {
				gone, err := a.site.Images(image.New, led).Remove(c.Context(), d)
				if err != nil {
					return err
				}
				fmt.Fprintln(a.stdout, "removed", gone.Digest)
			}
			return nil
		},
	}
}

// imageForms is the JSON of tare image forms.
type imageForms struct {
	Digest   string       `json:"digest"`
	Packages int          `json:"packages"`
	Files    int          `json:"files"`
	Bytes    bench.Bytes  `json:"bytes"`
	Forms    []image.Made `json:"forms"`
}

func imageFormsCommand(a *app) *cobra.Command {
	var asJSON bool
	var page string
	c := &cobra.Command{
		Use:   "forms",
		Short: "Measure how long the image takes to make in each form, and how large it is",
		Long: `Makes the image anew in each form that platforms use, in a directory
that is removed afterwards, and tells how long that took, how large the form is
and what it takes on the disk. FROM is what it is made from, whose own time is
not counted again; the tree is what tare image build has made from packages. Docker's is what its daemon's store takes, with an
empty daemon's own files.`,
		Example: "  tare image forms\n  tare image forms --html forms.html\n  tare image forms --json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := needRoot("image forms"); err != nil {
				return err
			}
			led, err := a.site.ForImages()
			if err != nil {
				return err
			}
			store := a.site.Images(image.New, led)
			img, err := store.Open(c.Context())
			if err != nil {
				return err
			}
			defer img.Close()
			made, err := store.Measure(c.Context(), img, session.Importers(img, led, fmt.Sprintf("forms-%d", os.Getpid()))...)
			if err != nil {
				return err
			}
			m := img.Manifest()
			if page != "" {
				if err := writeForms(page, m, made); err != nil {
					return err
				}
			}
			if asJSON {
				return report.IndentedJSON(a.stdout, imageForms{m.Digest, len(m.Packages), m.Files, bench.Bytes(m.Bytes), made})
			}
			if err := printManifest(a.stdout, m); err != nil {
				return err
			}
			fmt.Fprintln(a.stdout)
			w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "FORM\tFROM\tSECONDS\tSIZE\tON DISK\tWHAT")
			for _, f := range made {
				if f.Problem != "" {
					fmt.Fprintf(w, "%s\t%s\t-\t-\t-\tnot made: %s\n", f.Format, f.From, f.Problem)
					continue
				}
				fmt.Fprintf(w, "%s\t%s\t%.1f\t%s\t%s\t%s\n", f.Format, f.From, f.Seconds, f.Size, f.OnDisk, f.What)
			}
			return w.Flush()
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	c.Flags().StringVar(&page, "html", "", "write a page with figures to the file, too")
	return c
}

// writeForms writes the page of tare image forms.
func writeForms(path string, m image.Manifest, made []image.Made) error {
	page := report.Forms{Digest: m.Digest, Packages: len(m.Packages), Files: m.Files, Bytes: bench.Bytes(m.Bytes)}
	for _, f := range made {
		page.Forms = append(page.Forms, report.Form{Name: f.Format, What: f.What, From: f.From, Seconds: f.Seconds, Size: f.Size, OnDisk: f.OnDisk, Problem: f.Problem, Command: f.Command})
	}
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	if err := errors.Join(report.FormsHTML(file, page), file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
