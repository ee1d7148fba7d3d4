// Package pod runs instances as pods of Kubernetes on this node: each is asked for at the API server,
// and the agent is started in it by the API's exec.
package pod

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/host/kube"
)

// Options of the platform.
const (
	OptRuntimeClass = "runtimeClass" // "" is the cluster's default handler
	OptScheduler    = "scheduler"    // see [Unscheduled]
	OptQoS          = "qos"          // see [Guaranteed]
	OptNode         = "node"         // "" is the only one that this host is
	OptCPUs         = "cpus"         // see [Given]
	OptImage        = "image"        // "" is as tare image save names it
)

// Values of options.
const (
	// Unscheduled pods name their node, so no scheduler sees them; Scheduled ones are bound to it by
	// the cluster's scheduler, which refuses a cordoned node.
	Unscheduled, Scheduled = "none", "default"
	// Guaranteed pods have limits that equal their requests; Burstable ones have no limit of CPU time.
	Guaranteed, Burstable = "guaranteed", "burstable"
	// Given CPUs are written to the pod's control group before the agent starts, so that the pod runs on
	// those that other platforms run on; else the Kubelet's are what its CPU manager gives.
	Given, Kubelet = "given", "kubelet"
)

// Site is where a launch's pod is made.
type Site struct {
	Run, Namespace, Node, Image string
	// Owner is the object with which the pods go, nil for none.
	Owner *metav1.OwnerReference
}

const (
	container = "subject"
	scratch   = "scratch"
)

// Of returns the pod that the launch asks for. Its container only waits: the agent is started in it.
func (s Site) Of(l bench.Launch) (*corev1.Pod, error) {
	if s.Node == "" || s.Image == "" || s.Namespace == "" {
		return nil, fmt.Errorf("pod %s: no namespace, node or image: %w", l.ID, bench.ErrInvalid)
	}
	if l.Shape.CPUs <= 0 || l.Shape.Memory <= 0 {
		return nil, fmt.Errorf("pod %s: a shape of %d CPUs and %v of memory: %w", l.ID, l.Shape.CPUs, l.Shape.Memory, bench.ErrInvalid)
	}
	no, now := false, int64(0)
	p := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: l.ID, Namespace: s.Namespace,
			Labels: map[string]string{kube.LabelManagedBy: kube.Manager, kube.LabelRun: s.Run}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: &now,
			AutomountServiceAccountToken: &no, EnableServiceLinks: &no, DNSPolicy: corev1.DNSDefault,
			Containers: []corev1.Container{{
				Name: container, Image: s.Image, ImagePullPolicy: corev1.PullIfNotPresent,
				Command:      []string{"/bin/sh", "-c", "trap exit TERM; sleep infinity & wait"}, // sleep as process 1 ignores the signal
				Resources:    resources(l.Shape, l.Options[OptQoS]),
				VolumeMounts: []corev1.VolumeMount{{Name: scratch, MountPath: bench.ScratchDir}},
			}},
			Volumes: []corev1.Volume{{Name: scratch, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		},
	}
	if l.Shape.Disk > 0 {
		p.Spec.Volumes[0].EmptyDir.SizeLimit = resource.NewQuantity(int64(l.Shape.Disk), resource.BinarySI)
	}
	if s.Owner != nil {
		p.OwnerReferences = []metav1.OwnerReference{*s.Owner}
	}
	if class := l.Options[OptRuntimeClass]; class != "" {
		p.Spec.RuntimeClassName = &class
	}
	if l.Options[OptScheduler] == Scheduled {
		p.Spec.Affinity = onto(s.Node)
	} else {
		p.Spec.NodeName = s.Node
		p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} // or a taint evicts it
	}
	return p, nil
}

// onto has the scheduler choose the node, as a DaemonSet's pods do.
func onto(node string) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}}}}}}
}

// resources are the shape as requests and limits. CPU time is in thousandths, the API's finest unit.
func resources(s bench.Shape, qos string) corev1.ResourceRequirements {
	cpus := float64(s.CPUs)
	if s.CPUQuota > 0 {
		cpus = s.CPUQuota
	}
	cpu := *resource.NewMilliQuantity(max(1, int64(cpus*1000+0.5)), resource.DecimalSI)
	memory := *resource.NewQuantity(int64(s.Memory), resource.BinarySI)
	both := corev1.ResourceList{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory}
	r := corev1.ResourceRequirements{Requests: both, Limits: both.DeepCopy()}
	if qos == Burstable && s.CPUQuota == 0 {
		delete(r.Limits, corev1.ResourceCPU)
	}
	return r
}

// Unenforced are the limits of the launch's shape that a pod has no words for. The size of an emptyDir is
// looked at now and then, not refused at a write.
func Unenforced(l bench.Launch) []string {
	s, list := l.Shape, []string{bench.DiskSize}
	if l.Options[OptCPUs] == Kubelet {
		list = []string{"cpu set", bench.DiskSize}
	}
	for _, l := range []struct {
		asked bool
		name  string
	}{
		{s.CPUPeriod > 0, "cpu period"}, {s.CPUWeight > 0, "cpu weight"}, {s.MemorySoft > 0, "soft memory limit"}, {s.Swap > 0, "swap limit"}, {s.MemoryNodes != "", bench.MemoryNodes},
		{s.Pids > 0, "pids limit"},
	} {
		if l.asked {
			list = append(list, l.name)
		}
	}
	return append(list, cgroup.DiskLimits(s)...)
}

// Changed says what of the pod that was made is not as it was asked for, in what it runs: an admission
// webhook or a mutating policy may have done it. What the API server itself fills in is no such change.
func Changed(asked, made *corev1.Pod) []string {
	var changes []string
	say := func(format string, args ...any) { changes = append(changes, fmt.Sprintf(format, args...)) }
	for _, kind := range []struct {
		name        string
		asked, made []corev1.Container
	}{{"container", asked.Spec.Containers, made.Spec.Containers}, {"init container", asked.Spec.InitContainers, made.Spec.InitContainers}} {
		for _, m := range kind.made {
			if !slices.ContainsFunc(kind.asked, func(a corev1.Container) bool { return a.Name == m.Name }) {
				say("%s %s (%s) was added", kind.name, m.Name, m.Image)
			}
		}
		for _, a := range kind.asked {
			i := slices.IndexFunc(kind.made, func(m corev1.Container) bool { return m.Name == a.Name })
			if i < 0 {
				say("%s %s was removed", kind.name, a.Name)
				continue
			}
			changedContainer(a, kind.made[i], say)
		}
	}
	if a, m := deref(asked.Spec.RuntimeClassName), deref(made.Spec.RuntimeClassName); a != m {
		say("runtimeClassName %q became %q", a, m)
	}
	if asked.Spec.NodeName != "" && asked.Spec.NodeName != made.Spec.NodeName {
		say("node %q became %q", asked.Spec.NodeName, made.Spec.NodeName)
	}
	if asked.Spec.HostNetwork != made.Spec.HostNetwork || asked.Spec.HostPID != made.Spec.HostPID {
		say("hostNetwork %t, hostPID %t became %t, %t", asked.Spec.HostNetwork, asked.Spec.HostPID, made.Spec.HostNetwork, made.Spec.HostPID)
	}
	return changes
}

func changedContainer(a, m corev1.Container, say func(string, ...any)) {
	if a.Image != m.Image {
		say("image %s became %s", a.Image, m.Image)
	}
	if !slices.Equal(a.Command, m.Command) || !slices.Equal(a.Args, m.Args) {
		say("command %q %q became %q %q", a.Command, a.Args, m.Command, m.Args)
	}
	for _, env := range m.Env {
		if !slices.ContainsFunc(a.Env, func(e corev1.EnvVar) bool { return e.Name == env.Name }) {
			say("environment variable %s was added", env.Name)
		}
	}
	changedResources("request", a.Resources.Requests, m.Resources.Requests, say)
	changedResources("limit", a.Resources.Limits, m.Resources.Limits, say)
}

func changedResources(what string, asked, made corev1.ResourceList, say func(string, ...any)) {
	var names []corev1.ResourceName
	for name := range asked {
		names = append(names, name)
	}
	for name := range made {
		if _, ok := asked[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		a, hadA := asked[name]
		m, hasM := made[name]
		switch {
		case !hadA:
			say("%s of %s: %s was added", what, name, m.String())
		case !hasM:
			say("%s of %s: %s was removed", what, name, a.String())
		case a.Cmp(m) != 0:
			say("%s of %s: %s became %s", what, name, a.String(), m.String())
		}
	}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
