// Package cluster has a node of a Kubernetes cluster measured: it chooses the node and makes a job whose pod
// runs this program there, follows it, fetches the results, and removes what it made. It is also what this
// program does in that pod.
package cluster

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

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

// Asked is where and how a node is to be measured.
type Asked struct {
	kube.Where
	Node     string // its name; "" for the only one there is
	Selector string // of the labels of nodes that may be meant
	Image    string // what tare image save wrote, as the node's runtime finds it
	Account  string // the service account of the job's pod
	State    string // the state directory on the node
}

// Run is what "tare run" is to do on the node.
type Run struct {
	ID        string
	Spec      string   // a built-in experiment, or the name of the file with Text
	Text      []byte   // the specification, if it is no built-in one
	Platforms []string // nil for those that the node has
	Args      []string // further arguments of tare run
}

// Controller has nodes measured.
type Controller struct {
	Asked
	Site  *site.Site // of this host; its notes are told what happens
	Words io.Writer  // is told what tare run says on the node

	cluster *kube.Cluster
	node    corev1.Node
	run     Run
}

// answerWithin is how long the API server may take to answer what is asked before a job is made.
const answerWithin = 20 * time.Second

// Measure has the node measured and puts the results into the folder, unless the error says that there are
// none. The status is that of tare run on the node. When ctx ends, the node is asked to stop, and what it
// has finished until then is fetched.
func (c *Controller) Measure(ctx context.Context, r Run, out string) (status int, err error) {
	c.run = r
	if err := c.prepare(ctx); err != nil {
		return 0, err
	}
	led, err := ledger.Open(c.Site.Dir, r.ID)
	if err != nil {
		return 0, err
	}
	name, thing := jobName(r.ID), c.cluster.Thing(jobName(r.ID), r.ID)
	if err := led.Register(bench.KindJob, thing); err != nil {
		return 0, err
	}
	status, err = c.measure(ctx, out)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), kube.EndsWithin+answerWithin)
	defer cancel()
	gone := c.cluster.RemoveJob(end, name, r.ID)
	if gone == nil {
		gone = led.Release(bench.KindJob, thing)
	} else {
		gone = fmt.Errorf("remove job %s: %w%w", name, pod.Refused(gone), bench.Hint("tare clean"))
	}
	return status, errors.Join(err, gone)
}

// prepare finds the cluster and the node, and what would make the job fail later.
func (c *Controller) prepare(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if c.cluster, err = kube.Reach(c.Where); err != nil {
		return err
	}
	version, err := c.cluster.Version(ctx)
	if err != nil {
		return fmt.Errorf("ask %s for its version: %w%w", c.cluster.Host(), pod.Refused(err),
			bench.Hint("does the cluster run, and do --kubeconfig and --context lead to it? Try kubectl version"))
	}
	if err := pod.Old(version); err != nil {
		return err
	}
	if err := pod.Allowed(ctx, c.cluster, Rights(), Page+" has one"); err != nil {
		return err
	}
	nodes, err := c.cluster.Nodes(ctx)
	if err != nil {
		return fmt.Errorf("list the cluster's nodes: %w", pod.Refused(err))
	}
	if c.node, err = choose(nodes, c.Node, c.Selector); err != nil {
		return err
	}
	c.say("node %s of %s (Kubernetes %s, %s), namespace %s, image %s", c.node.Name, c.cluster.Host(), version,
		c.node.Status.NodeInfo.ContainerRuntimeVersion, c.cluster.Namespace, c.Image)
	if c.run.Platforms != nil {
		return nil
	}
	classes, err := c.cluster.RuntimeClasses(ctx)
	if err != nil {
		return fmt.Errorf("list the cluster's runtime classes: %w", pod.Refused(err))
	}
	var leftOut []bench.Skip
	c.run.Platforms, leftOut = platforms(c.node, classes)
	for _, s := range leftOut {
		c.say("left out: %s: %s", s.Platform, s.Reason)
		if s.Hint != "" {
			c.say("  hint: %s", s.Hint)
		}
	}
	return nil
}

func (c *Controller) say(format string, args ...any) {
	fmt.Fprintf(c.Site.Notes, format+"\n", args...)
}

// object is the run's job.
func (c *Controller) object() *batchv1.Job {
	r := c.run
	args := []string{"run", "--id", r.ID}
	if len(r.Platforms) > 0 {
		args = append(args, "--platforms", strings.Join(r.Platforms, ","))
	}
	args = append(args, r.Args...)
	if r.Text == nil {
		args = append(args, r.Spec)
	}
	for i, word := range args {
		args[i] = literally(word)
	}
	j := c.job(r.ID, c.cluster.Namespace, c.node.Name, args)
	if r.Text != nil {
		main := &j.Spec.Template.Spec.Containers[0]
		main.Command = slices.Insert(main.Command, 2, "--spec", literally(r.Spec))
		main.Env = append(main.Env, corev1.EnvVar{Name: SpecVariable, Value: literally(string(r.Text))})
	}
	return j
}

// literally is a text in which the kubelet finds no $(NAME) to replace.
func literally(text string) string { return strings.ReplaceAll(text, "$", "$$") }

// measure makes the job, follows it, and fetches the results.
func (c *Controller) measure(ctx context.Context, out string) (status int, err error) {
	made, err := c.cluster.CreateJob(ctx, c.object())
	if err != nil {
		return 0, fmt.Errorf("make the job: %w", pod.Refused(err))
	}
	p, err := c.await(ctx, made)
	if err != nil {
		return 0, err
	}
	// What follows outlives ctx: a node that is asked to stop has something to say.
	life, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { c.stop(life, cancel) })()
	hearing, deaf := context.WithCancel(context.WithoutCancel(ctx))
	defer deaf()
	told := make(chan struct{})
	go func() { c.listen(hearing, p); close(told) }()
	go c.watch(life, p, cancel)
	status, err = c.fetch(life, p, out)
	within := wordsOfTheDead
	if err == nil || errors.Is(err, ErrNoRun) {
		within = lastWords
	}
	select {
	case <-told:
	case <-time.After(within):
	}
	return status, err
}

// How long the last words may take, of a pod that waits for its end and of one that has ended.
const (
	lastWords      = 500 * time.Millisecond
	wordsOfTheDead = 10 * time.Second
)

// stop asks the node to stop, and gives it the time for it.
func (c *Controller) stop(ctx context.Context, cancel context.CancelCauseFunc) {
	c.say("stopping the node")
	if err := c.cluster.EndJob(ctx, jobName(c.run.ID), c.run.ID); err != nil {
		cancel(fmt.Errorf("stop the node: %w", pod.Refused(err)))
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(kube.EndsWithin):
		cancel(errors.New("the node did not stop in time"))
	}
}

// madeWithin is how long the cluster may take to make the job's pod.
const madeWithin = time.Minute

// await waits until the job's pod runs.
func (c *Controller) await(ctx context.Context, j *batchv1.Job) (*corev1.Pod, error) {
	limit, cancel := context.WithTimeoutCause(ctx, madeWithin, fmt.Errorf("the cluster has not made the job's pod within %v%w", madeWithin,
		bench.Hint("does its controller manager run? kubectl describe job "+j.Name)))
	defer cancel()
	for {
		pods, err := c.cluster.Pods(limit, c.run.ID)
		if err != nil {
			return nil, cmp.Or(context.Cause(limit), pod.Refused(err))
		}
		for _, p := range pods {
			if owner := metav1.GetControllerOf(&p); owner == nil || owner.UID != j.UID {
				continue
			}
			c.say("pod %s is on its way to node %s", p.Name, c.node.Name)
			made, err := pod.Await(ctx, c.cluster, &p)
			if err != nil {
				return nil, fmt.Errorf("pod %s: %w", p.Name, err)
			}
			return made, nil
		}
		events, err := c.cluster.Events(limit, string(j.UID))
		if err == nil {
			err = refusal(events)
		}
		if err != nil {
			return nil, cmp.Or(context.Cause(limit), err)
		}
		select {
		case <-limit.Done():
			return nil, context.Cause(limit)
		case <-time.After(looksApart):
		}
	}
}

// refusal is why the cluster does not make a job's pod, as the job's events tell, nil for nothing.
func refusal(events []corev1.Event) error {
	for _, e := range events {
		if e.Reason != "FailedCreate" {
			continue
		}
		err := fmt.Errorf("%s: %s", e.Reason, e.Message)
		if hinted := pod.Refused(err); bench.HintOf(hinted) != "" {
			return hinted
		}
		hint := bench.Hint("kubectl describe job says more")
		if strings.Contains(e.Message, "serviceaccount") {
			hint = "make the service account, or name another by --service-account: " + Page + " has one"
		}
		return fmt.Errorf("%w%w", err, hint)
	}
	return nil
}

// listen passes on what the pod says. Where the connection breaks, it goes on where it was.
func (c *Controller) listen(ctx context.Context, p *corev1.Pod) {
	said := int64(0)
	for {
		log, err := c.cluster.Log(ctx, p.Name)
		if err == nil {
			_, err = io.CopyN(io.Discard, log, said)
			if err == nil {
				var n int64
				n, err = io.Copy(c.Words, log)
				said += n
			}
			log.Close()
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
		if now, err := c.cluster.Pod(ctx, p.Name); err != nil || now.UID != p.UID {
			return
		}
	}
}

// watch ends the wait for results when the pod has ended, or is being ended by another.
func (c *Controller) watch(ctx context.Context, p *corev1.Pod, end context.CancelCauseFunc) {
	told := false
	for ctx.Err() == nil {
		_ = c.cluster.Follow(ctx, p, func(now *corev1.Pod) (bool, error) {
			if now == nil {
				end(fmt.Errorf("pod %s was deleted%w", p.Name, bench.Hint("was the node drained, or the pod evicted? kubectl get events")))
				return true, nil
			}
			t := pod.TroubleOf(now, nil)
			switch {
			case now.Status.Phase == corev1.PodSucceeded, now.Status.Phase == corev1.PodFailed:
				why := error(errors.New("it has ended"))
				if t != nil {
					why = t
				}
				end(fmt.Errorf("pod %s: %w", p.Name, why))
				return true, nil
			case now.DeletionTimestamp != nil && !told:
				told = true
				if t != nil {
					c.say("! pod %s is being ended: %v", p.Name, t)
				}
			}
			return false, nil
		})
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// maxLine bounds the line that tells how measuring ended, in bytes.
const maxLine = 4 << 10

// triesOfAnArchive is how often results are asked for that were not whole, or are no run's.
const triesOfAnArchive = 3

// fetch waits for the results and stores them. Where the connection breaks, it asks again.
func (c *Controller) fetch(ctx context.Context, p *corev1.Pod, out string) (status int, err error) {
	for failed := 0; ; {
		var began bool
		status, began, err = c.receive(ctx, p, out, func() error { return nil })
		if began {
			failed++
		}
		if err == nil || errors.Is(err, ErrNoRun) || failed == triesOfAnArchive {
			return status, err
		}
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
}

// receive asks the pod for the results once, and calls waits when they are being waited for there. Began says
// that they were on their way.
func (c *Controller) receive(ctx context.Context, p *corev1.Pod, out string, waits func() error) (status int, began bool, err error) {
	e, err := c.cluster.Exec(p, container, site.Program, ResultsWord, "--state", c.State, "--id", c.run.ID)
	if err != nil {
		return 0, false, err
	}
	defer e.Close()
	defer context.AfterFunc(ctx, func() { e.Close() })()
	r := bufio.NewReaderSize(e, maxLine)
	line, err := r.ReadSlice('\n')
	if err == nil {
		err = waits()
	}
	if err == nil {
		line, err = r.ReadSlice('\n')
	}
	if err != nil {
		return 0, false, fmt.Errorf("fetch the results: %w %s", err, e.Said())
	}
	var ended Ended
	if err := json.Unmarshal(line, &ended); err != nil || ended.Status < 0 || ended.Status > 255 {
		return 0, true, fmt.Errorf("fetch the results: %.200q does not say how measuring ended: %w", line, bench.ErrInvalid)
	}
	if _, err := r.Peek(1); err == io.EOF {
		return ended.Status, true, fmt.Errorf("node %s: %w", c.node.Name, ErrNoRun)
	}
	if err := store.Unpack(out, r); err != nil {
		return 0, true, fmt.Errorf("fetch the results: %w", err)
	}
	return ended.Status, true, nil
}

// ErrNoRun says that tare run ended on the node before it began a run. It has said why.
var ErrNoRun = errors.New("no run was begun")
