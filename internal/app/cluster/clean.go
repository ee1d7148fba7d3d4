package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/app/site"
	"tare/internal/bench"
	"tare/internal/host/kube"
	"tare/internal/platform/pod"
	"tare/internal/result/store"
	"tare/internal/state/ledger"
)

// Clean removes from the cluster's namespace what runs have left whose controller is dead, and the runs that
// are named, whatever they do. A run that another host has begun is left alone while it may be going on.
// What a run has finished is fetched first, into the folder results/ID. Each thing is reported; left says why
// it was left alone.
func Clean(ctx context.Context, where kube.Where, on *site.Site, runs []string, report func(kind, name, run, left string, err error)) error {
	c := &Controller{Asked: Asked{Where: where}, Site: on}
	var err error
	if c.cluster, err = kube.Reach(where); err != nil {
		return err
	}
	jobs, err := c.cluster.Jobs(ctx)
	if err != nil {
		return fmt.Errorf("list jobs: %w", pod.Refused(err))
	}
	pods, err := c.cluster.Pods(ctx, "")
	if err != nil {
		return fmt.Errorf("list pods: %w", pod.Refused(err))
	}
	led, err := ledger.Open(on.Dir, "clean")
	if err != nil {
		return err
	}
	held, err := led.Held()
	if err != nil {
		return err
	}
	dead, err := on.Cleaner().Dead()
	if err != nil {
		return err
	}
	has := func(entries []ledger.Entry, run string) bool {
		return slices.ContainsFunc(entries, func(e ledger.Entry) bool { return e.Kind == bench.KindJob && e.Owner.Run == run })
	}
	var errs []error
	for _, run := range runsOf(jobs, pods) {
		object := c.cluster.Namespace + "/" + jobName(run.id)
		switch named := slices.Contains(runs, run.id); {
		case named || has(dead, run.id):
		case has(held, run.id):
			continue // its controller lives
		case run.going:
			report(bench.KindJob, object, run.id, "it was begun on another host and may be going on: --run "+run.id+" removes it", nil)
			continue
		}
		c.rescue(ctx, run.id, pods)
		if has(dead, run.id) {
			continue // the ledger has it removed, and forgets it
		}
		ends, cancel := context.WithTimeout(ctx, kube.EndsWithin+answerWithin)
		err := pod.Refused(c.cluster.RemoveJob(ends, jobName(run.id), run.id))
		cancel()
		report(bench.KindJob, object, run.id, "", err)
		errs = append(errs, err)
	}
	errs = append(errs, on.Cleaner().Clean(ctx, func(r ledger.Removed) { report(r.Kind, r.Name, r.Run, r.Left, r.Err) }))
	return errors.Join(errs...)
}

// rescue has the node stop and fetches what it has finished, where a pod of the run's job is there. What
// cannot be fetched is told.
func (c *Controller) rescue(ctx context.Context, run string, pods []corev1.Pod) {
	at := slices.IndexFunc(pods, func(p corev1.Pod) bool {
		return p.Labels[kube.LabelRun] == run && metav1.GetControllerOf(&p) != nil && p.Status.Phase == corev1.PodRunning
	})
	if at < 0 || store.CheckID(run) != nil {
		return
	}
	p, out := pods[at], filepath.Join("results", run)
	if err := store.Check(out); err != nil {
		c.say("! what run %s has finished is not fetched: %v", run, err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, kube.EndsWithin)
	defer cancel()
	c.run, c.State = Run{ID: run}, stateOf(&p)
	_, _, err := c.receive(ctx, &p, out, func() error { return pod.Refused(c.cluster.EndJob(ctx, jobName(run), run)) })
	switch {
	case errors.Is(err, ErrNoRun): // nothing to lose
	case err != nil:
		c.say("! what run %s has finished is not fetched: %v", run, err)
	default:
		c.say("what run %s has finished is in %s", run, out)
	}
}

// stateOf is the state directory on the node, as the command of a job's pod has it.
func stateOf(p *corev1.Pod) string {
	for _, c := range p.Spec.Containers {
		if i := slices.Index(c.Command, "--state"); i >= 0 && i+1 < len(c.Command) {
			return c.Command[i+1]
		}
	}
	return ""
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
