package cluster

import (
	"fmt"
	"slices"
	"strings"

	authv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"tare/internal/app/site"
	"tare/internal/bench"
	"tare/internal/host/kube"
	"tare/internal/platform/pod"
)

// Page is what tells how a cluster is made ready.
const Page = "docs/howto/kubernetes.md"

// Rights are those of the account that has a node measured, beyond those of the account that measures there:
// in its namespace or, of nodes and runtime classes, everywhere.
func Rights() []authv1.ResourceAttributes {
	return []authv1.ResourceAttributes{
		{Group: batchv1.GroupName, Resource: "jobs", Verb: "create"}, {Group: batchv1.GroupName, Resource: "jobs", Verb: "get"},
		{Group: batchv1.GroupName, Resource: "jobs", Verb: "list"}, {Group: batchv1.GroupName, Resource: "jobs", Verb: "delete"},
		{Resource: "pods", Verb: "get"}, {Resource: "pods", Verb: "list"}, {Resource: "pods", Verb: "watch"}, {Resource: "pods", Verb: "delete"},
		{Resource: "pods", Subresource: "log", Verb: "get"},
		{Resource: "pods", Subresource: "exec", Verb: "get"}, {Resource: "pods", Subresource: "exec", Verb: "create"},
		{Resource: "events", Verb: "list"}, {Resource: "nodes", Verb: "list"},
		{Group: nodev1.GroupName, Resource: "runtimeclasses", Verb: "list"},
	}
}

// Driver is the platform that pods are.
func Driver() string { return pod.New().Name() }

// container is the only one of the job's pod.
const container = "tare"

// jobName is the name of the run's job.
func jobName(run string) string { return "tare-" + run }

// keptAfter is how long the cluster keeps a job that has ended, in seconds: for whoever looks for it.
const keptAfter = 3600

// job is what has the node measured: a privileged pod that sees the node as its host.
func (a *Asked) job(run, namespace, node string, args []string) *batchv1.Job {
	yes, no, none, kept, once := true, false, int32(0), int32(keptAfter), int32(1)
	grace, directory := int64(kube.EndsWithin.Seconds()), corev1.HostPathDirectory
	marks := map[string]string{kube.LabelManagedBy: kube.Manager, kube.LabelRun: run}
	return &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Name: jobName(run), Namespace: namespace, Labels: marks},
		Spec: batchv1.JobSpec{
			Completions: &once, Parallelism: &once, BackoffLimit: &none, TTLSecondsAfterFinished: &kept,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: marks},
				Spec: corev1.PodSpec{
					NodeName: node, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
					RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: &grace,
					ServiceAccountName: a.Account, AutomountServiceAccountToken: &yes, EnableServiceLinks: &no,
					HostPID: true, HostNetwork: true, DNSPolicy: corev1.DNSDefault,
					Containers: []corev1.Container{{
						Name: container, Image: a.Image, ImagePullPolicy: corev1.PullIfNotPresent,
						Command:         slices.Concat([]string{site.Program, NodeWord, "--state", a.State, "--id", run, "--"}, args),
						Env:             []corev1.EnvVar{{Name: pod.VariablePod, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}},
						SecurityContext: &corev1.SecurityContext{Privileged: &yes},
						VolumeMounts:    []corev1.VolumeMount{{Name: "host", MountPath: hostRoot}},
					}},
					Volumes: []corev1.Volume{{Name: "host", VolumeSource: corev1.VolumeSource{
						HostPath: &corev1.HostPathVolumeSource{Path: "/", Type: &directory}}}},
				},
			},
		},
	}
}

// choose returns the node to measure: the one of that name, or the only one that the cluster would put a
// pod on. It refuses a node on which nothing can be measured.
func choose(nodes []corev1.Node, name, selector string) (corev1.Node, error) {
	by, err := labels.Parse(selector)
	if err != nil {
		return corev1.Node{}, fmt.Errorf("--node-selector %q: %w: %w%w", selector, err, bench.ErrInvalid, bench.Hint("such as pool=blue,!gpu"))
	}
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n corev1.Node) bool { return !by.Matches(labels.Set(n.Labels)) })
	var names, fit []string
	var chosen corev1.Node
	var unfit error
	for _, n := range nodes {
		names = append(names, n.Name)
		if name != "" && n.Name != name {
			continue
		}
		if err := trouble(n); err != nil {
			unfit = err
			continue
		}
		chosen, fit = n, append(fit, n.Name)
	}
	switch {
	case len(nodes) == 0:
		return chosen, fmt.Errorf("no node has the labels %q: %w%w", selector, bench.ErrUnavailable, bench.Hint("kubectl get nodes --show-labels"))
	case len(fit) == 0 && unfit == nil:
		return chosen, fmt.Errorf("the cluster has no node %q%s: %w%w", name, bench.DidYouMean(name, names), bench.ErrUnavailable, bench.Hint("it has "+strings.Join(names, ", ")))
	case len(fit) == 0:
		return chosen, unfit
	case len(fit) > 1:
		return chosen, fmt.Errorf("%d nodes may be meant, and one is measured at a time: %w%w", len(fit), bench.ErrInvalid,
			bench.Hint("name one: --node "+strings.Join(fit, ", or --node ")))
	}
	return chosen, nil
}

// pressures are the conditions of a node under which the kubelet evicts.
var pressures = map[corev1.NodeConditionType]string{
	corev1.NodeMemoryPressure: "memory", corev1.NodeDiskPressure: "disk", corev1.NodePIDPressure: "process numbers",
}

// trouble is why nothing can be measured on the node, nil for nothing.
func trouble(n corev1.Node) error {
	refuse := func(what string, hint bench.Hint) error {
		return fmt.Errorf("node %s %s: %w%w", n.Name, what, bench.ErrUnavailable, hint)
	}
	if n.Spec.Unschedulable {
		return refuse("is cordoned", bench.Hint("kubectl uncordon "+n.Name+"; to keep others away while it is measured, taint it: kubectl taint node "+n.Name+" tare=:NoSchedule"))
	}
	ready := false
	for _, c := range n.Status.Conditions {
		if what, is := pressures[c.Type]; is && c.Status == corev1.ConditionTrue {
			return refuse("is short of "+what+": "+c.Message, bench.Hint("the kubelet evicts pods there: free the node first (kubectl describe node "+n.Name+")"))
		}
		ready = ready || c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}
	if !ready {
		return refuse("is not ready", bench.Hint("kubectl describe node "+n.Name+" says why"))
	}
	if os := n.Status.NodeInfo.OperatingSystem; os != "linux" {
		return refuse("runs "+os, "only Linux is measured")
	}
	return nil
}

// platforms are what is measured on the node where nothing else is asked for: the node itself, and a pod of
// each runtime class that it has. Left out says which it has not.
func platforms(n corev1.Node, classes []nodev1.RuntimeClass) (refs []string, leftOut []bench.Skip) {
	pods := Driver()
	refs = []string{bench.Native}
	for _, c := range classes {
		ref := (bench.PlatformRef{Name: pods, Options: map[string]string{pod.OptRuntimeClass: c.Name}}).String()
		skip := func(reason, hint string) {
			leftOut = append(leftOut, bench.Skip{Platform: ref, Reason: reason, Hint: hint})
		}
		unserved := pod.Unserved(c)
		switch {
		case unserved != nil:
			skip(bench.Reason(unserved), bench.HintOf(unserved))
		case c.Scheduling != nil && !labels.SelectorFromSet(c.Scheduling.NodeSelector).Matches(labels.Set(n.Labels)):
			skip("node "+n.Name+" has not the labels that the RuntimeClass asks for", "")
		case len(n.Status.RuntimeHandlers) > 0 && !slices.ContainsFunc(n.Status.RuntimeHandlers, func(h corev1.NodeRuntimeHandler) bool { return h.Name == c.Handler }):
			skip("the runtime of node "+n.Name+" has no handler "+c.Handler, "configure it there, such as in containerd's config.toml")
		default:
			refs = append(refs, ref)
		}
	}
	if len(refs) == 1 {
		refs = append(refs, pods)
	}
	return refs, leftOut
}
