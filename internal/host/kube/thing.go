package kube

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"tare/internal/bench"
)

// The labels of every object that Tare makes. Both are Kubernetes' recommended ones.
const (
	LabelManagedBy = "app.kubernetes.io/managed-by"
	LabelRun       = "app.kubernetes.io/instance" // the run's id
	Manager        = "tare"
)

// Thing is the name of a run's pod or job in the ledger: API server, namespace/name, run, context if one
// was named, and kubeconfig, which is absent in a pod. With it the object is found again by whoever cleans.
func (c *Cluster) Thing(name, run string) string {
	words := []string{c.Host(), c.Namespace + "/" + name, run}
	if c.context != "" {
		words = append(words, contextWord+url.QueryEscape(c.context))
	}
	return strings.TrimSpace(strings.Join(append(words, c.file), " "))
}

const contextWord = "context="

// thing matches what Thing returns. Namespaces are labels, and names of pods and jobs subdomains, as of RFC 1123.
var thing = regexp.MustCompile(`^(\S+) ([a-z0-9-]+)/([a-z0-9.-]+) ([a-z0-9-]+)(?: context=(\S+))?(?: (/.*))?$`)

var errThing = errors.New("not the name of a pod or job")

// CheckThing is an error for what [Cluster.Thing] never returns.
func CheckThing(name string) error {
	m := thing.FindStringSubmatch(name)
	if m == nil || m[6] != "" && filepath.Clean(m[6]) != m[6] {
		return errThing
	}
	if context, err := url.QueryUnescape(m[5]); err != nil || url.QueryEscape(context) != m[5] {
		return errThing
	}
	return nil
}

// RemoveThing removes what the ledger names, if it is the run's, by [Cluster.Remove] or [Cluster.RemoveJob].
// What is gone is no error.
func RemoveThing(ctx context.Context, name string, remove func(c *Cluster, ctx context.Context, name, run string) error) error {
	if err := CheckThing(name); err != nil {
		return err
	}
	m := thing.FindStringSubmatch(name)
	host, namespace, object, run, file := m[1], m[2], m[3], m[4], m[6]
	context, err := url.QueryUnescape(m[5])
	if err != nil {
		return errThing
	}
	forget := bench.Hint("if the cluster is gone for good, remove the line from the ledger")
	c, err := at(file, context)
	if err != nil {
		return fmt.Errorf("%w%w", err, forget)
	}
	if c.Host() != host {
		return fmt.Errorf("the kubeconfig %q leads to %s now, and it was made at %s%w", file, c.Host(), host, forget)
	}
	c.Namespace = namespace
	if err := remove(c, ctx, object, run); err != nil {
		return fmt.Errorf("%w%w", err, forget)
	}
	return nil
}

// End deletes the run's pod of that name and returns when the kubelet has ended it, and counts its requests
// no more: of a pod that is deleted at once nobody tells. One that is gone, or another's, is no error.
func (c *Cluster) End(ctx context.Context, name, run string) error {
	p, err := c.ours(ctx, name, run)
	if p == nil {
		return err
	}
	soon := int64(1) // the least that is not at once
	if err := c.deleteWithin(ctx, name, p.UID, &soon); err != nil {
		return err
	}
	return c.Follow(ctx, p, func(now *corev1.Pod) (bool, error) { return now == nil, nil })
}

// ours is the run's pod of that name, nil for none and for another's.
func (c *Cluster) ours(ctx context.Context, name, run string) (*corev1.Pod, error) {
	p, err := c.Pod(ctx, name)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	case p.Labels[LabelManagedBy] != Manager || p.Labels[LabelRun] != run:
		return nil, nil
	}
	return p, nil
}

// Remove deletes the run's pod of that name at once. One that is gone, or another's, is no error. The
// pod's processes may end a moment after it.
func (c *Cluster) Remove(ctx context.Context, name, run string) error {
	p, err := c.ours(ctx, name, run)
	if p == nil {
		return err
	}
	return c.delete(ctx, name, string(p.UID))
}
