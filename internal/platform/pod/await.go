package pod

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"tare/internal/host/kube"
)

// eventsApart is how often the pod's events are asked for while it does not run.
const eventsApart = time.Second

// Await waits until the pod runs, or does not come to, and returns it as it is by then.
func Await(ctx context.Context, c *kube.Cluster, p *corev1.Pod) (*corev1.Pod, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	uid := string(p.UID)
	go func() { // what only events tell
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(eventsApart):
			}
			events, err := c.Events(ctx, uid)
			if err != nil {
				continue // the next may be answered
			}
			if t := sandbox(events); t != nil && t.Final {
				cancel(t)
			}
		}
	}()
	var last *Trouble
	err := c.Follow(ctx, p, func(now *corev1.Pod) (bool, error) {
		if now == nil {
			return true, errors.New("the pod was deleted")
		}
		p = now
		last = TroubleOf(p, nil)
		if last != nil && last.Final {
			return true, last
		}
		return slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.State.Running != nil }), nil
	})
	var final *Trouble
	if cause := context.Cause(ctx); err != nil && errors.As(cause, &final) {
		return p, final
	}
	if err != nil && ctx.Err() != nil && last != nil {
		return p, fmt.Errorf("%w: %w", err, last)
	}
	return p, Refused(err)
}
