package main

import (
	"errors"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tare/internal/bench"
	"tare/internal/image"
	"tare/internal/ledger"
	"tare/internal/report"
)

// imageForms is the JSON of tare image forms.
type imageForms struct {
	Digest   string       `json:"digest"`
	Packages int          `json:"packages"`
	Files    int          `json:"files"`
	Bytes    bench.Bytes  `json:"bytes"`
	Forms    []image.Made `json:"forms"`
}

func (a *app) imageFormsCommand() *cobra.Command {
	var asJSON bool
	var page string
	c := &cobra.Command{
		Use:   "forms",
		Short: "Measure how long the image takes to make in each form, and how large it is",
		Long: `Makes the golden image anew in each form that platforms use, in a directory
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
			if err := a.closeState(); err != nil {
				return err
			}
			led, err := ledger.Open(a.state, "image")
			if err != nil {
				return err
			}
			store := a.images(led)
			img, err := store.Open(c.Context())
			if err != nil {
				return err
			}
			defer img.Close()
			made, err := store.Measure(c.Context(), img, a.importers(img, led, fmt.Sprintf("forms-%d", os.Getpid()))...)
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
				return writeJSON(a.stdout, imageForms{m.Digest, len(m.Packages), m.Files, bench.Bytes(m.Bytes), made})
			}
			fmt.Fprintf(a.stdout, "image %s: %d packages, %d files, %s\n\n", m.Digest[:19], len(m.Packages), m.Files, bench.Bytes(m.Bytes))
			w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "FORM\tFROM\tSECONDS\tSIZE\tON DISK\tWHAT")
			for _, f := range made {
				if f.Problem != "" {
					fmt.Fprintf(w, "%s\t%s\t-\t-\t-\tnot made: %s\n", f.Form, f.From, f.Problem)
					continue
				}
				fmt.Fprintf(w, "%s\t%s\t%.1f\t%s\t%s\t%s\n", f.Form, f.From, f.Seconds, f.Size, f.OnDisk, f.What)
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
		page.Forms = append(page.Forms, report.Form{Name: f.Form, What: f.What, From: f.From, Seconds: f.Seconds, Size: f.Size, OnDisk: f.OnDisk, Problem: f.Problem, Command: f.Command})
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
