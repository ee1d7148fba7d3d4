package pod

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"tare/internal/bench"
)

// Trouble is why a pod does not run, or not any more.
type Trouble struct {
	Reason string // Kubernetes' own word
	Text   string // its own text
	Hint   bench.Hint
	// Final: waiting longer does not help.
	Final bool
}

// Error implements error.
func (t *Trouble) Error() string {
	if t.Text == "" {
		return t.Reason
	}
	return t.Reason + ": " + t.Text
}

// NoRoom reports whether the kubelet refused the pod for what others on the node request.
func (t *Trouble) NoRoom() bool { return strings.HasPrefix(t.Reason, "OutOf") }

// Unwrap returns the hint.
func (t *Trouble) Unwrap() error { return t.Hint }

// waiting are the reasons for which the kubelet has a container wait, that mean trouble. The kubelet
// tries on, but a measurement whose image is pulled meanwhile is none.
var waiting = map[string]bench.Hint{
	"ErrImagePull":               imageHint,
	"ImagePullBackOff":           imageHint,
	"ErrImageNeverPull":          imageHint,
	"ImageInspectError":          imageHint,
	"InvalidImageName":           "name the image as its registry does, such as registry/tare:TAG",
	"RegistryUnavailable":        imageHint,
	"CreateContainerConfigError": "kubectl describe pod says more",
	"CreateContainerError":       "the node's runtime refused the container: kubectl describe pod says more",
	"RunContainerError":          "the node's runtime could not start the container: kubectl describe pod says more",
}

const imageHint = bench.Hint("bring the image onto the node, or to a registry that the node may pull from")

// failed are the reasons for which a pod has failed as a whole.
var failed = map[string]bench.Hint{
	"Evicted":                  "the node was short of memory, disk or processes: kubectl describe node says of which",
	"Preempting":               "a pod of a higher priority took its place",
	"OutOfcpu":                 "the node has too few CPUs left to request: ask for fewer (shape.cpus), or free the node",
	"OutOfmemory":              "the node has too little memory left to request: ask for less (shape.memory), or free the node",
	"OutOfpods":                "the node runs as many pods as it may: free it",
	"NodeAffinity":             "the node's labels do not match what the RuntimeClass asks for",
	"Terminated":               "the node was drained or shuts down",
	"NodeShutdown":             "the node shuts down",
	"UnexpectedAdmissionError": "the kubelet's CPU or memory manager refused the pod: kubectl describe pod says more",
}

// TroubleOf returns what of the pod and its events says that it does not run, nil for nothing.
func TroubleOf(p *corev1.Pod, events []corev1.Event) *Trouble {
	if p.Status.Phase == corev1.PodFailed && p.Status.Reason != "" {
		return &Trouble{Reason: p.Status.Reason, Text: p.Status.Message, Hint: failed[p.Status.Reason], Final: true}
	}
	for _, c := range p.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil {
			if hint, known := waiting[w.Reason]; known {
				return &Trouble{Reason: w.Reason, Text: w.Message, Hint: hint, Final: true}
			}
		}
		if t := c.State.Terminated; t != nil {
			return &Trouble{Reason: t.Reason, Text: strings.TrimSpace(fmt.Sprintf("exit status %d %s", t.ExitCode, t.Message)), Hint: ended[t.Reason], Final: true}
		}
	}
	if t := sandbox(events); t != nil {
		return t
	}
	for _, c := range p.Status.Conditions {
		switch {
		case c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue:
			return &Trouble{Reason: c.Reason, Text: c.Message, Hint: "the pod is being evicted or preempted, or its node drained", Final: true}
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse:
			return &Trouble{Reason: c.Reason, Text: c.Message, Hint: unschedulable(c.Message)}
		}
	}
	return nil
}

// ended are the reasons for which a container ended that have a remedy.
var ended = map[string]bench.Hint{
	"OOMKilled":          "give it more memory (shape.memory)",
	"StartError":         "the node's runtime could not start the container's program: kubectl describe pod says more",
	"ContainerCannotRun": "the node's runtime could not start the container's program: kubectl describe pod says more",
}

// sandbox returns the last trouble with the pod's sandbox. Only events tell of it: the pod's own status
// says that its container is being created.
func sandbox(events []corev1.Event) *Trouble {
	for i := len(events) - 1; i >= 0; i-- {
		e := events[i]
		if e.Reason != "FailedCreatePodSandBox" && e.Reason != "FailedCreatePodContainer" {
			continue
		}
		t := &Trouble{Reason: e.Reason, Text: e.Message, Hint: "the node's runtime or network plug-in refused the pod: kubectl describe pod says more"}
		if strings.Contains(e.Message, "no runtime for") || strings.Contains(e.Message, "RuntimeHandler") || strings.Contains(e.Message, "failed to find runtime handler") {
			t.Final, t.Hint = true, "the node's runtime has no handler of that name: configure it there, or choose another RuntimeClass"
		}
		return t
	}
	return nil
}

func unschedulable(message string) bench.Hint {
	switch {
	case strings.Contains(message, "unschedulable"):
		return "the node is cordoned: kubectl uncordon NODE, or leave the option scheduler out"
	case strings.Contains(message, "Insufficient"):
		return "the node has too little left to request: ask for less, or free the node"
	}
	return "kubectl describe pod says more"
}

// Refused gives an answer of the API server that refuses a request a hint, as far as it is known why.
func Refused(err error) error {
	text := ""
	if err != nil {
		text = err.Error()
	}
	hint := bench.Hint("")
	switch {
	case err == nil:
		return nil
	case strings.Contains(text, "exceeded quota"):
		hint = "the namespace's quota is used up: ask for less, or raise it (kubectl describe quota)"
	case strings.Contains(text, "RuntimeClass") && strings.Contains(text, "not found"):
		hint = "name one that the cluster has: kubectl get runtimeclass"
	case strings.Contains(text, "violates PodSecurity"):
		hint = "label the namespace: pod-security.kubernetes.io/enforce=privileged"
	case strings.Contains(text, "admission webhook"):
		hint = "an admission webhook of the cluster refused it: exempt the namespace, or ask who runs the cluster"
	case apierrors.IsForbidden(err):
		hint = "give the account the right that is named"
	case apierrors.IsUnauthorized(err):
		hint = "the cluster does not know this account: renew its credentials"
	case apierrors.IsNotFound(err):
		hint = "make the namespace first"
	default:
		return err
	}
	return fmt.Errorf("%w%w", err, hint)
}
