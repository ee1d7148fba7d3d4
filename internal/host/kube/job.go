package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// EndsWithin is how long the pod of a job may take to end: what it measures with is removed, and its
// results are fetched meanwhile.
const EndsWithin = 2 * time.Minute

// CreateJob makes the job and returns it as it was made.
func (c *Cluster) CreateJob(ctx context.Context, j *batchv1.Job) (*batchv1.Job, error) {
	var made batchv1.Job
	return &made, c.batch.Post().Namespace(c.Namespace).Resource("jobs").Body(j).Do(ctx).Into(&made)
}

// Jobs lists those that Tare made.
func (c *Cluster) Jobs(ctx context.Context) ([]batchv1.Job, error) {
	var list batchv1.JobList
	err := c.batch.Get().Namespace(c.Namespace).Resource("jobs").
		VersionedParams(&metav1.ListOptions{LabelSelector: LabelManagedBy + "=" + Manager}, c.words).Do(ctx).Into(&list)
	return list.Items, err
}

// Pods lists those that Tare made, of the run or, for "", of any.
func (c *Cluster) Pods(ctx context.Context, run string) ([]corev1.Pod, error) {
	selector := LabelManagedBy + "=" + Manager
	if run != "" {
		selector += "," + LabelRun + "=" + run
	}
	var list corev1.PodList
	err := c.core.Get().Namespace(c.Namespace).Resource("pods").
		VersionedParams(&metav1.ListOptions{LabelSelector: selector}, c.words).Do(ctx).Into(&list)
	return list.Items, err
}

// Log is what the pod's only container says, from its beginning to its end. The reader must be closed.
func (c *Cluster) Log(ctx context.Context, pod string) (io.ReadCloser, error) {
	return c.core.Get().Namespace(c.Namespace).Resource("pods").Name(pod).SubResource("log").
		VersionedParams(&corev1.PodLogOptions{Follow: true}, c.words).Stream(ctx)
}

// EndJob asks for the end of the run's job of that name. Its pods have the time to end that they say. A
// job that is gone, or another's, is no error.
func (c *Cluster) EndJob(ctx context.Context, name, run string) error {
	var j batchv1.Job
	err := c.batch.Get().Namespace(c.Namespace).Resource("jobs").Name(name).Do(ctx).Into(&j)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if j.Labels[LabelManagedBy] != Manager || j.Labels[LabelRun] != run {
		return nil
	}
	pods := metav1.DeletePropagationBackground
	err = c.batch.Delete().Namespace(c.Namespace).Resource("jobs").Name(name).
		Body(&metav1.DeleteOptions{PropagationPolicy: &pods, Preconditions: &metav1.Preconditions{UID: &j.UID}}).Do(ctx).Error()
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// looksApart is how often what is being removed is looked at.
const looksApart = 250 * time.Millisecond

// RemoveJob deletes the run's job of that name with all of the run's pods, and returns when they are gone.
// The job's own pod has the time to end that it says: it ends what it measures with. What is left
// after it is deleted at once. A job that is gone, or another's, is no error.
func (c *Cluster) RemoveJob(ctx context.Context, name, run string) error {
	if err := c.EndJob(ctx, name, run); err != nil {
		return err
	}
	for {
		pods, err := c.Pods(ctx, run)
		if err != nil {
			return err
		}
		if len(pods) == 0 {
			return nil
		}
		errs, own := []error(nil), false
		for _, p := range pods {
			if metav1.GetControllerOf(&p) == nil {
				continue
			}
			own = true
			if p.DeletionTimestamp == nil { // before the cluster's garbage collector comes to it
				errs = append(errs, c.deleteWithin(ctx, p.Name, p.UID, nil))
			}
		}
		for _, p := range pods {
			if !own {
				errs = append(errs, c.delete(ctx, p.Name, string(p.UID)))
			}
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			var left []string
			for _, p := range pods {
				left = append(left, p.Name)
			}
			return fmt.Errorf("pods %s have not ended: %w", strings.Join(left, ", "), context.Cause(ctx))
		case <-time.After(looksApart):
		}
	}
}

// deleteWithin deletes the pod if it has that UID. It may take so many seconds to end; nil for as many as it says.
func (c *Cluster) deleteWithin(ctx context.Context, name string, uid types.UID, grace *int64) error {
	err := c.core.Delete().Namespace(c.Namespace).Resource("pods").Name(name).
		Body(&metav1.DeleteOptions{GracePeriodSeconds: grace, Preconditions: &metav1.Preconditions{UID: &uid}}).Do(ctx).Error()
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
