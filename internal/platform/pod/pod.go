package pod

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	authv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"

	"tare/internal/bench"
	"tare/internal/host/kube"
)

// Platform implements [bench.Platform].
type Platform struct{}

// New returns the platform.
func New() Platform { return Platform{} }

// Name returns "pod".
func (Platform) Name() string { return "pod" }

// Summary is one line for people.
func (Platform) Summary() string { return "pods of Kubernetes on this node, by the cluster's API" }

// Traits: it runs no program of the host, and keeps nothing.
func (Platform) Traits() bench.Traits { return bench.Traits{} }

// Options are the switches of this platform.
func (Platform) Options() []bench.Option {
	return []bench.Option{
		{Name: OptRuntimeClass, Doc: "the RuntimeClass; without one it is the node's default handler"},
		{Name: OptNode, Doc: "the node's name, which must be this host; without one it is the node that runs this host's kernel"},
		{Name: OptImage, Doc: "the image's name; without one it is localhost/tare: and the digest's first 12 digits, as tare image save names it"},
		{Name: OptScheduler, Values: []string{Unscheduled, Scheduled}, Default: Unscheduled,
			Doc: "who places the pod; none: the pod names its node; default: the cluster's scheduler, which is part of the launch"},
		{Name: OptCPUs, Values: []string{Given, Kubelet}, Default: Given,
			Doc: "who chooses its CPUs; given: those of the launch, which Tare writes to the pod's control group before the agent starts; kubelet: the kubelet"},
		{Name: OptQoS, Values: []string{Guaranteed, Burstable}, Default: Guaranteed,
			Doc: "the quality of service; guaranteed: limits equal requests; burstable: no limit of CPU time unless the shape has a quota"},
	}
}

// oldest is the first API server whose exec is spoken to by WebSocket alone (version 1.30).
var oldest = [2]int{1, 30}

// answerWithin is how long the API server may take to answer all that Check asks.
const answerWithin = 5 * time.Second

// Rights are those that the account needs, in its namespace or, of nodes and runtime classes, everywhere.
func Rights() []authv1.ResourceAttributes {
	return []authv1.ResourceAttributes{
		{Resource: "pods", Verb: "get"}, {Resource: "pods", Verb: "watch"}, {Resource: "pods", Verb: "create"}, {Resource: "pods", Verb: "delete"},
		{Resource: "pods", Subresource: "exec", Verb: "get"}, {Resource: "pods", Subresource: "exec", Verb: "create"},
		{Resource: "events", Verb: "list"}, {Resource: "nodes", Verb: "list"},
		{Group: nodev1.GroupName, Resource: "runtimeclasses", Verb: "list"},
	}
}

// Check asks the cluster for its version, its nodes and runtime classes, and the account's rights.
func (Platform) Check(ctx context.Context) (bench.Availability, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var a bench.Availability
	unavailable := func(err error) (bench.Availability, error) {
		return a, fmt.Errorf("pod: %w: %w", err, bench.ErrUnavailable)
	}
	c, err := kube.Find()
	if err != nil {
		return unavailable(err)
	}
	if os.Geteuid() != 0 {
		return unavailable(fmt.Errorf("the control groups of pods are read as root%w", bench.Hint("run as root")))
	}
	if a.Version, err = c.Version(ctx); err != nil {
		return unavailable(fmt.Errorf("ask %s for its version: %w%w", c.Host(), Refused(err), bench.Hint("does the cluster run, and is "+kube.Variable+" the file that leads to it?")))
	}
	if err := Old(a.Version); err != nil {
		return unavailable(err)
	}
	if err := Allowed(ctx, c, Rights(), "docs/drivers/pod.md has one"); err != nil {
		return unavailable(err)
	}
	s, err := survey(ctx, c)
	if err != nil {
		return unavailable(err)
	}
	if err := s.here(); err != nil {
		return unavailable(err)
	}
	a.Programs = s.programs()
	a.Lacks = s.lacks()
	a.Caveats = s.caveats()
	a.Unfrozen = []bench.Lack{{Err: errFrozen}}
	a.Unreached = errNetwork
	return a, nil
}

// errNetwork is why no peer of a run reaches a pod.
var errNetwork = errors.New("a pod lies in the cluster's network")

// errFrozen is why pods take no turns.
var errFrozen = errors.New("the control group of a pod is the kubelet's")

// Old is an error for the version of an API server that will not do.
func Old(version string) error {
	var v [2]int
	if _, err := fmt.Sscanf(version, "v%d.%d", &v[0], &v[1]); err != nil {
		return fmt.Errorf("version %q of the API server: not a version", version)
	}
	if slices.Compare(v[:], oldest[:]) < 0 {
		return fmt.Errorf("version %s of Kubernetes is too old: the first that will do is %d.%d", version, oldest[0], oldest[1])
	}
	return nil
}

// Allowed is an error that names which of the rights the account lacks. The page has a role with them.
func Allowed(ctx context.Context, c *kube.Cluster, rights []authv1.ResourceAttributes, page string) error {
	lacks, err := c.Lacking(ctx, rights)
	if err != nil {
		return fmt.Errorf("ask %s for rights: %w", c.Host(), Refused(err))
	}
	if len(lacks) > 0 {
		return fmt.Errorf("the account may not %s in namespace %s%w", strings.Join(lacks, ", "), c.Namespace,
			bench.Hint("bind it to a role that has these rights: "+page))
	}
	return nil
}

// What the pod that measures tells this driver, which is in it.
const (
	// VariablePod is its name. Its node and image are those of other pods, and they go with it.
	VariablePod = "TARE_POD"
	// VariableImage is the digest of the golden image that it has.
	VariableImage = "TARE_POD_IMAGE"
)

// found is what a cluster has.
type found struct {
	boot    string      // this host's
	own     *corev1.Pod // in which this process measures; nil for none
	nodes   []corev1.Node
	classes []nodev1.RuntimeClass
}

// bootID is where the kernel tells which boot this is (random(4)). Kubelets tell it of their nodes.
const bootID = "/proc/sys/kernel/random/boot_id"

func survey(ctx context.Context, c *kube.Cluster) (f found, err error) {
	text, err := os.ReadFile(bootID)
	if err != nil {
		return f, err
	}
	f.boot = strings.TrimSpace(string(text))
	if f.nodes, err = c.Nodes(ctx); err != nil {
		return f, fmt.Errorf("list the cluster's nodes: %w", Refused(err))
	}
	if f.classes, err = c.RuntimeClasses(ctx); err != nil {
		return f, fmt.Errorf("list the cluster's runtime classes: %w", Refused(err))
	}
	if name := os.Getenv(VariablePod); name != "" {
		if f.own, err = c.Pod(ctx, name); err != nil {
			return f, fmt.Errorf("find the pod of %s: %w", VariablePod, Refused(err))
		}
	}
	return f, nil
}

// local are the nodes that run this host's kernel: more than one where nodes are containers.
func (f found) local() []corev1.Node {
	return slices.DeleteFunc(slices.Clone(f.nodes), func(n corev1.Node) bool { return n.Status.NodeInfo.BootID != f.boot })
}

// names are those of nodes.
func names(nodes []corev1.Node) string {
	var list []string
	for _, n := range nodes {
		list = append(list, n.Name)
	}
	return strings.Join(list, ", ")
}

// here is an error if this host is no node.
func (f found) here() error {
	if len(f.local()) > 0 {
		return nil
	}
	return fmt.Errorf("this host is none of the cluster's %d nodes%w", len(f.nodes), bench.Hint("run tare on a node: "+names(f.nodes)))
}

// node returns the node of that name, or the only one there is for "".
func (f found) node(name string) (corev1.Node, error) {
	local := f.local()
	if name == "" && f.own != nil {
		name = f.own.Spec.NodeName
	}
	if name == "" {
		if len(local) == 1 {
			return local[0], nil
		}
		return corev1.Node{}, f.ambiguous()
	}
	for _, n := range local {
		if n.Name == name {
			return n, nil
		}
	}
	return corev1.Node{}, fmt.Errorf("node %q is not this host: %w%w", name, bench.ErrUnavailable, bench.Hint("this host is "+names(local)))
}

func (f found) ambiguous() error {
	local := f.local()
	return fmt.Errorf("%d nodes run this host's kernel: %w%w", len(local), bench.ErrUnavailable,
		bench.Hint("name one of "+names(local)+", such as pod[node="+local[0].Name+"]"))
}

// lacks are the variants that cannot be run.
func (f found) lacks() []bench.Lack {
	var a bench.Availability
	if len(f.local()) > 1 && f.own == nil {
		a.Lack(OptNode, "", f.ambiguous())
	}
	for _, n := range f.nodes {
		if n.Status.NodeInfo.BootID != f.boot {
			_, err := f.node(n.Name)
			a.Lack(OptNode, n.Name, err)
		}
	}
	for _, c := range f.classes {
		if err := Unserved(c); err != nil {
			a.Lack(OptRuntimeClass, c.Name, err)
		}
	}
	return a.Lacks
}

// Unserved is why pods of the runtime class are not measured, nil if they are.
func Unserved(c nodev1.RuntimeClass) error {
	if !strings.HasPrefix(c.Handler, "kata") {
		return nil
	}
	return fmt.Errorf("what serves a pod in a virtual machine is not looked for: %w%w", bench.ErrUnavailable,
		bench.Hint("docker[runtime=kata] measures Kata Containers"))
}

// caveats are those of all pods, and of gVisor, as of platform gvisor.
func (f found) caveats() []bench.Caveat {
	list := []bench.Caveat{
		{Text: "its start-up holds an exec by the API server, and what Tare waits for the kubelet to tell"},
		{Text: "it has no address in the run's own network"},
		{Text: "the kubelet chooses its CPUs", With: map[string]string{OptCPUs: Kubelet}},
	}
	for _, c := range f.classes {
		if c.Handler != "runsc" && c.Handler != "gvisor" {
			continue
		}
		for _, text := range []string{bench.NoDirect + ": its disk figures include the host's page cache",
			"guest CPU times unreliable: read the host's control group", "killed as a whole when it runs out of memory"} {
			list = append(list, bench.Caveat{Text: text, With: map[string]string{OptRuntimeClass: c.Name}})
		}
	}
	return list
}

// programs are the kubelet and its runtime, with their versions.
func (f found) programs() map[string]string {
	info := f.local()[0].Status.NodeInfo
	programs := map[string]string{"kubelet": info.KubeletVersion}
	if name, version, ok := strings.Cut(info.ContainerRuntimeVersion, "://"); ok { // "containerd://1.7.2"
		programs[name] = version
	}
	return programs
}
