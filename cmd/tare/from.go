package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/bench"
	"tare/internal/figure"
	"tare/internal/store"
	"tare/internal/workload"
)

// args is an error unless the experiment is named once: as an argument, or by --from.
func (r *request) args(c *cobra.Command, args []string) error {
	if r.from == "" {
		return cobra.ExactArgs(1)(c, args)
	}
	if len(args) > 0 {
		return usageError("--from %s: the experiment is that folder's, so %q cannot be it", r.from, args[0])
	}
	return nil
}

// take takes over what is asked for; with --from the specification and overrides
// of a run, and nothing else of it.
func (r *request) take(a *app, c *cobra.Command, args []string) error {
	r.seeded = c.Flags().Changed("seed")
	if r.from == "" {
		if r.trust {
			return usageError("--trust is of another's experiment: it goes with --from DIR")
		}
		r.name = args[0]
		return nil
	}
	run, err := store.Open(r.from)
	if err != nil {
		return err
	}
	defer run.Close()
	if r.text, err = run.Spec(); err != nil {
		return err
	}
	h := run.Header()
	r.name = filepath.Join(r.from, "spec.yaml")
	r.set = append(slices.Clone(h.Set), r.set...)
	err = a.checkBegun(run)
	if r.ours = err == nil; err != nil && !errors.Is(err, bench.ErrInvalid) {
		return err
	}
	if len(h.Power) > 0 && len(r.meters) == 0 {
		fmt.Fprintf(a.stderr, "! the run in %s read %s; this one reads none but what --power names\n", r.from, figure.Count(len(h.Power), "power meter"))
	}
	return nil
}

// vet is an error for an experiment from elsewhere that brings programs of its
// own or copies files of this host, until its user has said that it may.
func (r *request) vet(p *bench.Plan) error {
	if r.from == "" || r.ours || r.trust {
		return nil
	}
	brings, err := carried(p)
	if err != nil || len(brings) == 0 {
		return err
	}
	return fmt.Errorf("the experiment of %s did not begin on this host, and would %s: %w%w", r.from, strings.Join(brings, "; "), bench.ErrInvalid,
		bench.Hint("on native that is as root of this host: read the specification, "+r.name+", and add --trust if you trust whoever wrote it"))
}

// carried says what of its own a plan would run and copy, each once.
func carried(p *bench.Plan) ([]string, error) {
	var all []string
	add := func(format string, arg any) {
		if what := fmt.Sprintf(format, arg); !slices.Contains(all, what) {
			all = append(all, what)
		}
	}
	for _, s := range p.Scenes {
		for _, actor := range s.Actors {
			if actor.Workload == "" {
				continue
			}
			w, err := workload.Find(actor.Workload)
			if err != nil {
				return nil, err
			}
			c, ok := w.(bench.Carrier)
			if !ok {
				continue
			}
			commands, files, err := c.Carries(actor.Params)
			if err != nil {
				return nil, err
			}
			for _, argv := range commands {
				add("run %q", argv)
			}
			for _, file := range files {
				path, err := filepath.Abs(file)
				if err != nil {
					return nil, err
				}
				if real, err := filepath.EvalSymlinks(path); err == nil {
					path = real
				}
				add("copy %q of this host", path)
			}
		}
	}
	return all, nil
}
