package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"tare/internal/app/site"
	"tare/internal/bench"
	"tare/internal/host/kube"
	"tare/internal/platform/pod"
	"tare/internal/state/ledger"
)

// Clean removes from the cluster's namespace what runs have left whose controller is dead, and the runs that
// are named, whatever they do. A run that another host has begun is left alone while it may be going on. Each
// thing is reported; left says why it was left alone.
func Clean(ctx context.Context, where kube.Where, on *site.Site, runs []string, report func(kind, name, run, left string, err error)) error {
	c, err := kube.Reach(where)
	if err != nil {
		return err
	}
	jobs, err := c.Jobs(ctx)
	if err != nil {
		return fmt.Errorf("list jobs: %w", pod.Refused(err))
	}
	pods, err := c.Pods(ctx, "")
	if err != nil {
		return fmt.Errorf("list pods: %w", pod.Refused(err))
	}
	var errs []error
	// What this host's ledger has is removed by it: it knows whose controller lives.
	known := map[string]bool{}
	errs = append(errs, on.Cleaner().Clean(ctx, func(r ledger.Removed) {
		known[r.Run] = true
		report(r.Kind, r.Name, r.Run, r.Left, r.Err)
	}))
	led, err := ledger.Open(on.Dir, "clean")
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	held, err := led.Held()
	errs = append(errs, err)
	for _, e := range held {
		known[e.Owner.Run] = true
	}
	for _, run := range runsOf(jobs, pods) {
		named := slices.Contains(runs, run.id)
		if known[run.id] && !named {
			continue
		}
		if run.going && !named {
			report(bench.KindJob, c.Namespace+"/"+jobName(run.id), run.id, "it was begun on another host and may be going on: --run "+run.id+" removes it", nil)
			continue
		}
		ends, cancel := context.WithTimeout(ctx, kube.EndsWithin+answerWithin)
		err := pod.Refused(c.RemoveJob(ends, jobName(run.id), run.id))
		cancel()
		report(bench.KindJob, c.Namespace+"/"+jobName(run.id), run.id, "", err)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// left is a run that has something in the cluster.
type left struct {
	id    string
	going bool // its job has not ended, or its pods were made by no job
}

// runsOf are the runs of which there are jobs or pods, each once.
func runsOf(jobs []batchv1.Job, pods []corev1.Pod) []left {
	var list []left
	for _, j := range jobs {
		ended := slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
			return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
		})
		list = append(list, left{j.Labels[kube.LabelRun], !ended && j.DeletionTimestamp == nil})
	}
	for _, p := range pods {
		run := p.Labels[kube.LabelRun]
		if !slices.ContainsFunc(list, func(l left) bool { return l.id == run }) {
			list = append(list, left{run, len(p.OwnerReferences) == 0})
		}
	}
	return list
}
