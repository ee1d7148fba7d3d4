package pod

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/host/kube"
)

// engine is the cluster for one run. It makes nothing that instances share.
type engine struct {
	env     bench.Env
	cluster *kube.Cluster
	found   found
	cgroups *cgroup.FS
}

// Open finds the cluster and this node.
func (Platform) Open(ctx context.Context, env bench.Env) (bench.Engine, error) {
	e := &engine{env: env}
	var err error
	if e.cluster, err = kube.Find(); err == nil {
		e.found, err = survey(ctx, e.cluster)
	}
	if err == nil {
		e.cgroups, err = cgroup.Detect()
	}
	if has := os.Getenv(VariableImage); err == nil && e.found.own != nil && has != env.Image.Digest() {
		err = fmt.Errorf("the run needs image %s, and pods have %s: %w%w", env.Image.Digest(), has, bench.ErrUnavailable,
			bench.Hint("an experiment that needs programs beyond the image's own cannot run in pods"))
	}
	if err != nil {
		return nil, fmt.Errorf("open pod: %w", err)
	}
	return e, nil
}

// image is the name by which the node knows the run's image.
func (e *engine) image(options map[string]string) string {
	const digits = 12
	digest := strings.TrimPrefix(e.env.Image.Digest(), "sha256:")
	name := "localhost/tare:" + digest[:min(digits, len(digest))]
	if e.found.own != nil {
		name = e.found.own.Spec.Containers[0].Image
	}
	return cmp.Or(options[OptImage], name)
}

// Start makes a pod, waits until it runs, and starts the agent in it.
func (e *engine) Start(ctx context.Context, l bench.Launch) (bench.Instance, error) {
	i := &instance{engine: e, launch: l}
	err := ctx.Err()
	if err == nil {
		err = i.start(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", l.ID, i.undo.Fail(ctx, err))
	}
	return i, nil
}

// Close has nothing to end.
func (*engine) Close(context.Context) error { return nil }
