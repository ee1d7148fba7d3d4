package kube

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"tare/internal/bench"
)

// The labels of every object that Tare makes. Both are Kubernetes' recommended ones.
const (
	LabelManagedBy = "app.kubernetes.io/managed-by"
	LabelRun       = "app.kubernetes.io/instance" // the run's id
	Manager        = "tare"
)

// Thing is the name of a run's pod in the ledger: API server, namespace/pod, run and kubeconfig, which is
// absent in a pod. With it the pod is found again by whoever cleans.
func (c *Cluster) Thing(pod, run string) string {
	return strings.TrimSpace(strings.Join([]string{c.Host(), c.Namespace + "/" + pod, run, c.file}, " "))
}

// thing matches what Thing returns. Namespaces are labels, and names of pods subdomains, as of RFC 1123.
var thing = regexp.MustCompile(`^(\S+) ([a-z0-9-]+)/([a-z0-9.-]+) ([a-z0-9-]+)(?: (/.*))?$`)

var errThing = errors.New("not the name of a pod")

// CheckThing is an error for what [Cluster.Thing] never returns.
func CheckThing(name string) error {
	if m := thing.FindStringSubmatch(name); m == nil || m[5] != "" && filepath.Clean(m[5]) != m[5] {
		return errThing
	}
	return nil
}

// RemoveThing deletes the pod that the ledger names, if it is the run's. One that is gone is no error.
func RemoveThing(ctx context.Context, name string) error {
	if err := CheckThing(name); err != nil {
		return err
	}
	m := thing.FindStringSubmatch(name)
	host, namespace, pod, run, file := m[1], m[2], m[3], m[4], m[5]
	forget := bench.Hint("if the cluster is gone for good, remove the pod's line from the ledger")
	c, err := At(file)
	if err != nil {
		return fmt.Errorf("%w%w", err, forget)
	}
	if c.Host() != host {
		return fmt.Errorf("the kubeconfig %q leads to %s now, and the pod was made at %s%w", file, c.Host(), host, forget)
	}
	c.Namespace = namespace
	if err := c.Remove(ctx, pod, run); err != nil {
		return fmt.Errorf("%w%w", err, forget)
	}
	return nil
}

// Remove deletes the run's pod of that name at once. One that is gone, or another's, is no error. The
// pod's processes may end a moment after it.
func (c *Cluster) Remove(ctx context.Context, name, run string) error {
	p, err := c.Pod(ctx, name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if p.Labels[LabelManagedBy] != Manager || p.Labels[LabelRun] != run {
		return nil
	}
	return c.delete(ctx, name, string(p.UID))
}
