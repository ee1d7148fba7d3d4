package pod

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"tare/internal/bench"
	"tare/internal/host/kube"
)

// captured is a pod with its events as Kubernetes 1.34.4 with containerd 1.6.20 told them.
type captured struct {
	Pod    corev1.Pod     `json:"pod"`
	Events []corev1.Event `json:"events"`
}

func read(t testing.TB, name string) (c captured) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestWhyAPodDoesNotRunIsTold(t *testing.T) {
	for name, want := range map[string]struct {
		reason, text, hint string
		final              bool
	}{
		"good": {}, "runsc": {},
		"noimage":   {"ImagePullBackOff", "localhost/no-such:1", "bring the image", true},
		"nohandler": {"FailedCreatePodSandBox", `no runtime for "nosuchhandler" is configured`, "no handler", true},
		"nostart":   {"StartError", "/no/such/program: no such file or directory", "could not start", true},
		"toolarge":  {"OutOfcpu", "requested: 64000", "shape.cpus", true},
		"unsched":   {"Unschedulable", "2 Insufficient cpu", "ask for less", false},
		"cordon":    {"Unschedulable", "1 node(s) were unschedulable", "uncordon", false},
	} {
		c := read(t, name)
		got := TroubleOf(&c.Pod, c.Events)
		if want.reason == "" {
			if got != nil {
				t.Errorf("%s: %v", name, got)
			}
			continue
		}
		if got == nil || got.Reason != want.reason || !strings.Contains(got.Text, want.text) || !strings.Contains(bench.HintOf(got), want.hint) || got.Final != want.final {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

func TestAnEvictedPodSaysOfWhatItsNodeWasShort(t *testing.T) {
	p := corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory."}}
	if got := TroubleOf(&p, nil); got == nil || !got.Final || got.Error() != "Evicted: The node was low on resource: memory." || bench.HintOf(got) == "" {
		t.Errorf("%+v", got)
	}
}

func TestARefusalHasAHint(t *testing.T) {
	forbidden := func(why string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "good2", errors.New(why))
	}
	for name, c := range map[string]struct {
		err  error
		hint string
	}{
		"quota": {forbidden("exceeded quota: q, requested: limits.cpu=100m,limits.memory=64Mi,requests.cpu=100m,requests.memory=64Mi, used: limits.cpu=64400m,limits.memory=320Mi,requests.cpu=64400m,requests.memory=320Mi, limited: limits.cpu=100m,limits.memory=64Mi,requests.cpu=100m,requests.memory=64Mi"), "quota"},
		"class": {forbidden(`pod rejected: RuntimeClass "nosuchclass" not found`), "get runtimeclass"},
		"right": {forbidden(`User "system:serviceaccount:tare-capture:nobody" cannot create resource "pods" in API group "" in the namespace "tare-capture"`), "the right"},
		"other": {errors.New("connection refused"), ""},
	} {
		err := Refused(c.err)
		if !errors.Is(err, c.err) || !strings.Contains(bench.HintOf(err), c.hint) || (c.hint == "") != (bench.HintOf(err) == "") {
			t.Errorf("%s: %v; hint %q", name, err, bench.HintOf(err))
		}
	}
	if Refused(nil) != nil {
		t.Error("no error is refused")
	}
}

// asked is a launch like the captured pod's.
func asked(options map[string]string) bench.Launch {
	return bench.Launch{ID: "good", Shape: bench.Shape{CPUs: 1, CPUQuota: 0.1, Memory: 64 * bench.MiB, Disk: 64 * bench.MiB}, CPUSet: []int{0}, Options: options}
}

var here = Site{Run: "capture", Namespace: "tare-capture", Node: "node1", Image: "localhost/cluster:1"}

func TestAPodHasTheShape(t *testing.T) {
	for name, c := range map[string]struct {
		options map[string]string
		shape   bench.Shape
		cpu     [2]string // requested, limit
		memory  string
	}{
		"guaranteed":     {nil, bench.Shape{CPUs: 2, Memory: bench.GiB}, [2]string{"2", "2"}, "1Gi"},
		"burstable":      {map[string]string{OptQoS: Burstable}, bench.Shape{CPUs: 2, Memory: 64 * bench.KiB}, [2]string{"2", "0"}, "64Ki"},
		"with a quota":   {map[string]string{OptQoS: Burstable}, bench.Shape{CPUs: 2, CPUQuota: 0.25, Memory: bench.MiB}, [2]string{"250m", "250m"}, "1Mi"},
		"a little quota": {nil, bench.Shape{CPUs: 1, CPUQuota: 0.00001, Memory: bench.MiB}, [2]string{"1m", "1m"}, "1Mi"},
	} {
		l := asked(c.options)
		l.Shape = c.shape
		p, err := here.Of(l)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r := p.Spec.Containers[0].Resources
		got := [2]string{r.Requests.Cpu().String(), r.Limits.Cpu().String()}
		if got != c.cpu || r.Limits.Memory().String() != c.memory || r.Requests.Memory().String() != c.memory {
			t.Errorf("%s: %v and %s of memory", name, got, r.Limits.Memory())
		}
	}
	for _, bad := range []bench.Shape{{}, {CPUs: 1}, {Memory: 1}, {CPUs: -1, Memory: 1}} {
		l := asked(nil)
		l.Shape = bad
		if _, err := here.Of(l); !errors.Is(err, bench.ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

func TestAPodIsOnItsNode(t *testing.T) {
	owner := &metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "tare", UID: "1"}
	site := here
	site.Owner = owner
	p, err := site.Of(asked(map[string]string{OptRuntimeClass: "runsc"}))
	if err != nil {
		t.Fatal(err)
	}
	if p.Spec.NodeName != "node1" || p.Spec.Affinity != nil || *p.Spec.RuntimeClassName != "runsc" || p.OwnerReferences[0] != *owner {
		t.Errorf("%+v", p)
	}
	if p.Labels[kube.LabelManagedBy] != "tare" || p.Labels[kube.LabelRun] != "capture" {
		t.Errorf("labels %v", p.Labels)
	}
	if p, err = here.Of(asked(map[string]string{OptScheduler: Scheduled})); err != nil || p.Spec.NodeName != "" || p.Spec.Affinity == nil || len(p.Spec.Tolerations) > 0 || p.Spec.RuntimeClassName != nil {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestWhatAWebhookChangesIsTold(t *testing.T) {
	a, err := here.Of(asked(nil))
	if err != nil {
		t.Fatal(err)
	}
	a.Spec.Containers[0].Command = []string{"/cluster", "pause"}
	c := read(t, "good")
	if d := Changed(a, &c.Pod); len(d) > 0 { // the API server has filled in what was left out
		t.Errorf("a pod as asked for: %q", d)
	}
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		want   []string
	}{
		"a sidecar": {func(p *corev1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "proxy", Image: "istio:1"})
		}, []string{"container proxy (istio:1) was added"}},
		"an init container": {func(p *corev1.Pod) {
			p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: "setup", Image: "i:1"})
		}, []string{"init container setup (i:1) was added"}},
		"resources": {func(p *corev1.Pod) {
			r := p.Spec.Containers[0].Resources
			delete(r.Limits, corev1.ResourceCPU)
			r.Requests[corev1.ResourceCPU] = *r.Requests.Memory()
			r.Limits[corev1.ResourceEphemeralStorage] = *r.Requests.Memory()
		}, []string{"request of cpu: 100m became 64Mi", "limit of cpu: 100m was removed", "limit of ephemeral-storage: 64Mi was added"}},
		"image and class": {func(p *corev1.Pod) {
			class := "kata"
			p.Spec.Containers[0].Image, p.Spec.RuntimeClassName = "mirror/cluster:1", &class
		}, []string{"image localhost/cluster:1 became mirror/cluster:1", `runtimeClassName "" became "kata"`}},
		"the environment": {func(p *corev1.Pod) {
			p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "LD_PRELOAD"}}
		}, []string{"environment variable LD_PRELOAD was added"}},
		"the container": {func(p *corev1.Pod) { p.Spec.Containers[0].Name = "other" },
			[]string{"container other (localhost/cluster:1) was added", "container subject was removed"}},
		"the node and its namespaces": {func(p *corev1.Pod) { p.Spec.NodeName, p.Spec.HostNetwork = "node2", true },
			[]string{`node "node1" became "node2"`, "hostNetwork false, hostPID false became true, false"}},
		"the command": {func(p *corev1.Pod) { p.Spec.Containers[0].Command = []string{"/wrap"} },
			[]string{`command ["/cluster" "pause"] [] became ["/wrap"] []`}},
	} {
		made := read(t, "good").Pod
		c.change(&made)
		if d := cmp.Diff(c.want, Changed(a, &made)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestUnenforcedLimitsOfAPod(t *testing.T) {
	if d := cmp.Diff([]string{"disk size"}, Unenforced(bench.Launch{Shape: bench.Shape{CPUs: 1, Memory: 1}})); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"cpu set", "disk size", "cpu weight", "pids limit"}, Unenforced(bench.Launch{Shape: bench.Shape{CPUWeight: 5, Pids: 9}, Options: map[string]string{OptCPUs: Kubelet}})); d != "" {
		t.Error(d)
	}
}

// The paths are those of kubelets with either driver and of a node that is a container.
func TestAPodsControlGroupIsFoundByItsUID(t *testing.T) {
	const uid, other = "8569f382-6ecf-4008-a3d5-ed2bbac49a7d", "0270994c-f1ab-44a5-862a-2a794c7406d9"
	under := strings.ReplaceAll(uid, "-", "_")
	for _, path := range []string{
		"kubepods/pod" + uid,
		"kubepods/burstable/pod" + uid,
		"tare/cluster-2feeab81/node1/kubepods/pod" + uid,
		"kubepods.slice/kubepods-pod" + under + ".slice",
		"kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + under + ".slice",
		"docker/4f/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod" + under + ".slice",
	} {
		top := t.TempDir()
		for _, dir := range []string{path + "/c0ffee", "kubepods/pod" + other, "system.slice/x.service", "kubepods/besteffort"} {
			if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := GroupOf(top, uid); got != filepath.Join(top, path) || err != nil {
			t.Errorf("%s: %q, %v", path, got, err)
		}
		if got, err := GroupOf(top, ""); got != "" || err != nil {
			t.Errorf("without a UID: %q, %v", got, err)
		}
		if got, err := GroupOf(top, "no-such"); got != "" || err != nil {
			t.Errorf("another: %q, %v", got, err)
		}
	}
	if _, err := GroupOf(filepath.Join(t.TempDir(), "none"), uid); err == nil {
		t.Error("no hierarchy is no error")
	}
}

func FuzzTroubleOf(f *testing.F) {
	f.Add([]byte(`{"pod":{"status":{"phase":"Failed","reason":"Evicted"}}}`))
	for _, name := range []string{"noimage", "nohandler", "nostart"} {
		text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var c captured
		if json.Unmarshal(text, &c) != nil {
			return
		}
		if got := TroubleOf(&c.Pod, c.Events); got != nil && got.Final && got.Error() == "" && len(c.Pod.Status.ContainerStatuses) == 0 {
			t.Errorf("a trouble without words: %+v", got)
		}
	})
}

// What the kubelet refuses for want of room may be let in once the pods before it count no more.
func TestNoRoomIsWhatTheKubeletCallsOutOf(t *testing.T) {
	for reason, want := range map[string]bool{"OutOfcpu": true, "OutOfmemory": true, "OutOfpods": true, "Evicted": false, "ErrImagePull": false} {
		if got := (&Trouble{Reason: reason}).NoRoom(); got != want {
			t.Errorf("%s: %v", reason, got)
		}
	}
}
