package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/app/cluster"
	"tare/internal/app/session"
	"tare/internal/bench"
	"tare/internal/image"
	"tare/internal/result/store"
)

// kubernetes is the word for a cluster, after --on.
const kubernetes = "kubernetes"

// elsewhere are the flags that name another place than this host.
type elsewhere struct {
	on string
	cluster.Asked
}

// whereFlags are those of every verb that goes to a cluster.
func (e *elsewhere) whereFlags(c *cobra.Command) {
	c.Flags().StringVar(&e.on, "on", "", `not on this host, but on a node of a cluster: "kubernetes"`)
	c.Flags().StringVar(&e.File, "kubeconfig", "", "with --on kubernetes: the kubeconfig (default $KUBECONFIG, or ~/.kube/config)")
	c.Flags().StringVar(&e.Context, "context", "", "with --on kubernetes: the context of the kubeconfig (default its current one)")
	c.Flags().StringVarP(&e.Namespace, "namespace", "n", "", "with --on kubernetes: the namespace (default the context's)")
}

func (e *elsewhere) flags(c *cobra.Command) {
	e.whereFlags(c)
	c.Flags().StringVar(&e.Node, "node", "", "with --on kubernetes: the node (default the only one that can be meant)")
	c.Flags().StringVar(&e.Selector, "node-selector", "", "with --on kubernetes: the labels of nodes that can be meant, such as pool=blue,!gpu")
	c.Flags().StringVar(&e.Image, "image", "", "with --on kubernetes: the name of what tare image save wrote (default localhost/tare: and the image's first 12 digits)")
	c.Flags().StringVar(&e.Account, "service-account", "tare", "with --on kubernetes: the service account of the pod that measures")
	c.Flags().StringVar(&e.State, "node-state", image.DefaultDir, "with --on kubernetes: the state directory on the node")
}

// check is an error for another word than kubernetes, and for flags that need it.
func (e *elsewhere) check(c *cobra.Command) error {
	switch e.on {
	case kubernetes:
		if e.State != "" && (!filepath.IsAbs(e.State) || filepath.Clean(e.State) != e.State) {
			return usageError("--node-state %q is no clean absolute path", e.State)
		}
		return nil
	case "":
	default:
		return usageError("--on %q%s: it takes %s", e.on, bench.DidYouMean(e.on, []string{kubernetes}), kubernetes)
	}
	for _, name := range []string{"kubeconfig", "context", "namespace", "node", "node-selector", "image", "service-account", "node-state"} {
		if c.Flags().Changed(name) {
			return usageError("--%s goes with --on kubernetes", name)
		}
	}
	return nil
}

// runOn has an experiment carried out on a node of a cluster and reports it.
func (a *app) runOn(ctx context.Context, e *elsewhere, r *asking, out string, m manner) error {
	if r.From != "" {
		return usageError("--from names a folder of this host%w", bench.Hint("copy its spec.yaml, read it, and name that"))
	}
	spec, text, pods, err := r.Carry(a.catalog().Words(), cluster.Driver())
	if err != nil {
		return err
	}
	if e.Image == "" {
		m, err := a.site.Images(image.New, nil).Manifest()
		if err != nil {
			return usageError("--image: none is named, and none is built on this host%w",
				bench.Hint("name the image that you have pushed to a registry, or loaded into the node: tare image save writes one; see "+cluster.Page))
		}
		e.Image = image.SavedName(m.Digest)
	}
	id := session.NewID(time.Now())
	if out == "" {
		out = filepath.Join("results", id)
	}
	if err := store.Check(out); err != nil {
		return err
	}
	if err := a.site.Make(); err != nil {
		return err
	}
	c := cluster.Controller{Asked: e.Asked, Site: a.site, Words: a.stderr}
	run := cluster.Run{ID: id, Spec: spec, Text: text, Platforms: r.Platforms, Args: append(r.carried(), m.carried(a.asked())...)}
	if run.Platforms == nil && pods { // those of the specification
		run.Platforms = []string{}
	}
	status, err := c.Measure(ctx, run, out)
	if errors.Is(err, cluster.ErrNoRun) && status != 0 {
		return &statusError{status, err}
	}
	stored, openErr := store.Open(out)
	if openErr != nil && err != nil { // nothing was fetched
		return err
	}
	if openErr != nil {
		return openErr
	}
	defer stored.Close()
	ending := session.Ending{Failed: err}
	if err == nil && ctx.Err() != nil {
		ending.Stopped = session.Stop(context.Cause(ctx))
	}
	m.elsewhere = true
	ended := m.conclude(a, stored, ending)
	if status > statusOf(ended) {
		return worst(ended, &statusError{status, fmt.Errorf("on the node it ended with status %d: see what it said", status)})
	}
	return ended
}

// cleanOn removes what runs have left in a cluster.
func (a *app) cleanOn(ctx context.Context, e *elsewhere, runs []string, report func(removed, error)) error {
	return cluster.Clean(ctx, e.Where, a.site, runs, func(kind, name, run, left string, err error) {
		report(removed{Kind: kind, Name: name, Run: run, Left: left}, err)
	})
}

// carried are the arguments by which another tare is asked the same, but for the platforms and the specification.
func (r *asking) carried() []string {
	var args []string
	for _, s := range r.Set {
		args = append(args, "--set", s)
	}
	if r.Seed != nil {
		args = append(args, "--seed", fmt.Sprint(*r.Seed))
	}
	for _, p := range r.Meters {
		args = append(args, "--power", p)
	}
	return args
}

func (m manner) carried(command []string) []string {
	var args []string
	for _, word := range command {
		args = append(args, "--asked", word)
	}
	for name, d := range map[string]time.Duration{"max-time": m.MaxTime, "quiet-wait": m.QuietWait} {
		if d > 0 {
			args = append(args, "--"+name, d.String())
		}
	}
	for name, set := range map[string]bool{"verbose": m.verbose, "wait": m.Wait, "keep-trying": m.KeepTrying} {
		if set {
			args = append(args, "--"+name)
		}
	}
	return args
}

// nodeCommand is what this program is in the pod of a job. It is hidden: nobody but a controller makes one.
func nodeCommand(a *app) *cobra.Command {
	var n cluster.Node
	c := &cobra.Command{
		Use: cluster.NodeWord, Hidden: true,
		Short:   "Measure on the node of a cluster for a controller",
		Example: "  tare " + cluster.NodeWord + " --id ID -- run quick",
		RunE: func(c *cobra.Command, args []string) error {
			n.Site = a.site
			return n.Measure(c.Context(), args)
		},
	}
	c.Flags().StringVar(&n.Run, "id", "", "the run")
	c.Flags().StringVar(&n.Spec, "spec", "", "the name of the file for the specification in "+cluster.SpecVariable)
	return c
}

// nodeResultsCommand is what a controller starts in that pod.
func nodeResultsCommand(a *app) *cobra.Command {
	var n cluster.Node
	c := &cobra.Command{
		Use: cluster.ResultsWord, Hidden: true, Args: cobra.NoArgs,
		Short:   "Wait for the results of the node and write them",
		Example: "  tare " + cluster.ResultsWord + " --id ID",
		RunE: func(c *cobra.Command, _ []string) error {
			n.Site = a.site
			return n.Send(c.Context(), os.Stdin, os.Stdout)
		},
	}
	c.Flags().StringVar(&n.Run, "id", "", "the run")
	return c
}
