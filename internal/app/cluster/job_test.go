package cluster

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/bench"
	"tare/internal/host/kube"
)

// nodeOf is a node that is ready, but for what is changed.
func nodeOf(name string, change ...func(*corev1.Node)) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pool": "blue"}}, Status: corev1.NodeStatus{
		NodeInfo: corev1.NodeSystemInfo{OperatingSystem: "linux"}, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	for _, c := range change {
		c(&n)
	}
	return n
}

func condition(kind corev1.NodeConditionType, status corev1.ConditionStatus) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = append([]corev1.NodeCondition{{Type: kind, Status: status, Message: "the kubelet says so"}}, n.Status.Conditions...)
	}
}

func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

func notReady(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }

func TestTheNodeIsOneThatCanBeMeasured(t *testing.T) {
	red := nodeOf("red", func(n *corev1.Node) { n.Labels = map[string]string{"pool": "red"} })
	for _, c := range []struct {
		nodes                []corev1.Node
		name, selector, want string
		says, hint           string
	}{
		{nodes: []corev1.Node{nodeOf("a")}, want: "a"},
		{nodes: []corev1.Node{nodeOf("a"), nodeOf("b")}, name: "b", want: "b"},
		{nodes: []corev1.Node{nodeOf("a"), red}, selector: "pool=red", want: "red"},
		{nodes: []corev1.Node{nodeOf("a", cordoned), nodeOf("b")}, want: "b"},
		{nodes: []corev1.Node{nodeOf("a"), nodeOf("b")}, says: "2 nodes may be meant", hint: "--node a, or --node b"},
		{nodes: []corev1.Node{nodeOf("alpha")}, name: "alpa", says: `no node "alpa"; did you mean "alpha"?`, hint: "it has alpha"},
		{nodes: []corev1.Node{red}, selector: "pool=green", says: `no node has the labels "pool=green"`, hint: "--show-labels"},
		{nodes: []corev1.Node{red}, selector: "pool in (", says: "--node-selector", hint: "such as"},
		{nodes: []corev1.Node{nodeOf("a", cordoned)}, name: "a", says: "node a is cordoned", hint: "kubectl uncordon a"},
		{nodes: []corev1.Node{nodeOf("a", notReady)}, says: "node a is not ready", hint: "kubectl describe node a"},
		{nodes: []corev1.Node{nodeOf("a", condition(corev1.NodeMemoryPressure, corev1.ConditionTrue))}, says: "short of memory: the kubelet says so", hint: "evicts"},
		{nodes: []corev1.Node{nodeOf("a", condition(corev1.NodeDiskPressure, corev1.ConditionTrue))}, says: "short of disk", hint: "evicts"},
		{nodes: []corev1.Node{nodeOf("a", condition(corev1.NodePIDPressure, corev1.ConditionFalse))}, want: "a"},
		{nodes: []corev1.Node{nodeOf("a", func(n *corev1.Node) { n.Status.NodeInfo.OperatingSystem = "windows" })}, says: "node a runs windows", hint: "only Linux"},
		{says: "no node has the labels"},
	} {
		n, err := choose(c.nodes, c.name, c.selector)
		if c.want != "" {
			if err != nil || n.Name != c.want {
				t.Errorf("%q %q: %q, %v", c.name, c.selector, n.Name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(bench.HintOf(err), c.hint) {
			t.Errorf("%q %q: %v, hint %q", c.name, c.selector, err, bench.HintOf(err))
		}
	}
}

func TestPlatformsAreTheRuntimeClassesThatTheNodeHas(t *testing.T) {
	class := func(name, handler string) nodev1.RuntimeClass {
		return nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Handler: handler}
	}
	gpu := class("gpu", "nvidia")
	gpu.Scheduling = &nodev1.Scheduling{NodeSelector: map[string]string{"gpu": "yes"}}
	blue := class("blue", "crun")
	blue.Scheduling = &nodev1.Scheduling{NodeSelector: map[string]string{"pool": "blue"}}
	refs, leftOut := platforms(nodeOf("a"), []nodev1.RuntimeClass{class("sandbox", "runsc"), gpu, blue, class("vm", "kata-qemu")})
	if want := []string{"native", "pod[runtimeClass=sandbox]", "pod[runtimeClass=blue]"}; !slices.Equal(refs, want) || len(leftOut) != 2 {
		t.Errorf("%q, left out %+v", refs, leftOut)
	}
	// A kubelet that tells its handlers is believed.
	told := nodeOf("a", func(n *corev1.Node) {
		n.Status.RuntimeHandlers = []corev1.NodeRuntimeHandler{{Name: ""}, {Name: "runsc"}}
	})
	refs, leftOut = platforms(told, []nodev1.RuntimeClass{class("sandbox", "runsc"), blue})
	if want := []string{"native", "pod[runtimeClass=sandbox]"}; !slices.Equal(refs, want) || len(leftOut) != 1 || !strings.Contains(leftOut[0].Reason, "no handler crun") {
		t.Errorf("%q, left out %+v", refs, leftOut)
	}
	if refs, _ := platforms(nodeOf("a"), nil); !slices.Equal(refs, []string{"native", "pod"}) {
		t.Errorf("without runtime classes: %q", refs)
	}
}

// control is a controller whose cluster was found.
func control(t *testing.T, r Run) *Controller {
	t.Helper()
	c := &Controller{Asked: Asked{Image: "r/tare:1", Account: "tare", State: "/var/lib/tare"}, node: nodeOf("n"), run: r}
	c.cluster = &kube.Cluster{Namespace: "measured"}
	return c
}

func TestTheJobRunsTareOnTheNodeAsItsHost(t *testing.T) {
	j := control(t, Run{ID: "r1", Spec: "quick", Platforms: []string{"native", "pod[runtimeClass=x]"}, Args: []string{"--set", "name=$(x)"}}).object()
	p := j.Spec.Template.Spec
	main := p.Containers[0]
	if got, want := strings.Join(main.Command, " "), "/.tare/tare node --state /var/lib/tare --id r1 -- run --id r1 --platforms native,pod[runtimeClass=x] --set name=$$(x) quick"; got != want {
		t.Errorf("it runs %q, want %q", got, want)
	}
	for what, ok := range map[string]bool{
		"names its node":             p.NodeName == "n",
		"is privileged":              *main.SecurityContext.Privileged && p.HostPID && p.HostNetwork,
		"has the node's root":        p.Volumes[0].HostPath.Path == "/" && main.VolumeMounts[0].MountPath == hostRoot,
		"is tried once":              *j.Spec.BackoffLimit == 0 && p.RestartPolicy == corev1.RestartPolicyNever,
		"tolerates every taint":      len(p.Tolerations) == 1 && p.Tolerations[0].Operator == corev1.TolerationOpExists,
		"has time to end":            *p.TerminationGracePeriodSeconds == int64(kube.EndsWithin.Seconds()),
		"is not kept for ever":       *j.Spec.TTLSecondsAfterFinished == keptAfter,
		"is found again":             j.Name == "tare-r1" && j.Labels[kube.LabelRun] == "r1" && j.Labels[kube.LabelManagedBy] == kube.Manager,
		"and so is its pod":          j.Spec.Template.Labels[kube.LabelRun] == "r1",
		"asks for what it may do by": p.ServiceAccountName == "tare" && *p.AutomountServiceAccountToken,
	} {
		if !ok {
			text, _ := json.MarshalIndent(j, "", " ")
			t.Errorf("not so: the job %s\n%s", what, text)
		}
	}
}

func TestASpecificationOfOnesOwnGoesWithTheJob(t *testing.T) {
	j := control(t, Run{ID: "r1", Spec: "mine.yaml", Text: []byte("name: $(HOME) $x\n"), Platforms: []string{}}).object()
	main := j.Spec.Template.Spec.Containers[0]
	if got := strings.Join(main.Command, " "); !strings.HasPrefix(got, "/.tare/tare node --spec mine.yaml --state") || strings.Contains(got, "--platforms") {
		t.Errorf("it runs %q", got)
	}
	// The kubelet expands $(NAME) in values, and $$ is one $ (core/v1, EnvVar).
	if env := main.Env[len(main.Env)-1]; env.Name != SpecVariable || env.Value != "name: $$(HOME) $$x\n" {
		t.Errorf("%+v", env)
	}
}

func TestWhyNoPodIsMadeIsTold(t *testing.T) {
	for message, hint := range map[string]string{
		`Error creating: pods "tare-r1-" is forbidden: error looking up service account tare/tare: serviceaccount "tare" not found`: "--service-account",
		`Error creating: pods "tare-r1-x" is forbidden: exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0`:     "quota",
		`Error creating: pods "tare-r1-x" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostPID=true)`:     "pod-security.kubernetes.io/enforce=privileged",
		`Error creating: admission webhook "policy.example" denied the request: no`:                                                 "webhook",
		`Error creating: something else`: "kubectl describe job",
	} {
		err := refusal([]corev1.Event{{Reason: "SuccessfulCreate"}, {Reason: "FailedCreate", Message: message}})
		if err == nil || !strings.Contains(err.Error(), message) || !strings.Contains(bench.HintOf(err), hint) {
			t.Errorf("%q: %v, hint %q", message, err, bench.HintOf(err))
		}
	}
	if err := refusal([]corev1.Event{{Reason: "SuccessfulCreate"}}); err != nil {
		t.Errorf("%v", err)
	}
}

func TestRunsThatMayBeGoingOnAreTold(t *testing.T) {
	labels := func(run string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Labels: map[string]string{kube.LabelRun: run}}
	}
	ended := batchv1.Job{ObjectMeta: labels("ended"), Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}}}
	orphan := corev1.Pod{ObjectMeta: labels("orphan")}
	orphan.OwnerReferences = []metav1.OwnerReference{{Kind: "Pod"}}
	list := runsOf([]batchv1.Job{{ObjectMeta: labels("going")}, ended}, []corev1.Pod{{ObjectMeta: labels("going")}, orphan, orphan, {ObjectMeta: labels("by hand")}})
	if want := []left{{"going", true}, {"ended", false}, {"orphan", false}, {"by hand", true}}; !slices.Equal(list, want) {
		t.Errorf("%+v, want %+v", list, want)
	}
}
