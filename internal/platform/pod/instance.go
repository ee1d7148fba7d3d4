package pod

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/host/clock"
	"tare/internal/host/kube"
	"tare/internal/platform/launch"
)

// agentInside is where the image has the agent: see tare image save.
const agentInside = "/.tare-agent"

// instance is one pod.
type instance struct {
	engine   *engine
	launch   bench.Launch
	asked    *corev1.Pod
	made     *corev1.Pod
	launched int64
	stream   *kube.Exec
	own      []bench.Span
	groups   map[string]string // the pod's, by controller, once it runs
	undo     launch.Undo
}

func (i *instance) start(ctx context.Context) error {
	e, l := i.engine, i.launch
	switch {
	case l.Containment != "" || l.NetNS != "":
		return fmt.Errorf("a pod lies in no other control group or network: %w", bench.ErrUnavailable)
	case l.Host != nil || l.Own != nil:
		return fmt.Errorf("a pod is no machine: %w", bench.ErrInvalid)
	}
	node, err := e.found.node(l.Options[OptNode])
	if err != nil {
		return err
	}
	site := Site{Run: e.env.Run, Namespace: e.cluster.Namespace, Node: node.Name, Image: e.image(l.Options)}
	if own := e.found.own; own != nil {
		site.Owner = &metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: own.Name, UID: own.UID}
	}
	if i.asked, err = site.Of(l); err != nil {
		return err
	}
	if site.Owner != nil { // with which the cluster removes it, and which is in the ledger of whoever made that
		i.undo.Add(i.remove)
	} else if err := i.undo.Register(e.env.Ledger, bench.KindPod, e.cluster.Thing(l.ID, e.env.Run), i.remove); err != nil {
		return err
	}
	if err := i.admitted(ctx); err != nil {
		return err
	}
	if l.Options[OptCPUs] == Given {
		if err := i.confine(); err != nil {
			return err
		}
	}
	if i.stream, err = e.cluster.Exec(i.made, container, agentInside, "serve"); err != nil {
		return err
	}
	return nil
}

// countedStill is how long the kubelet may go on counting the requests of pods whose end it has told.
const countedStill = 5 * time.Second

// admitted makes the pod and waits until it runs. One that finds no room on the node is made anew for a
// while: the pods before it may count still. The launch begins with the one that runs.
func (i *instance) admitted(ctx context.Context) error {
	for until := time.Now().Add(countedStill); ; {
		i.launched = clock.Now()
		err := i.runs(ctx)
		var trouble *Trouble
		if !errors.As(err, &trouble) || !trouble.NoRoom() || time.Now().After(until) {
			return err
		}
		if err := i.engine.cluster.Remove(ctx, i.launch.ID, i.engine.env.Run); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(countedStill / 20):
		}
	}
}

// runs makes the pod and waits until it runs.
func (i *instance) runs(ctx context.Context) error {
	e := i.engine
	made, err := e.cluster.Create(ctx, i.asked)
	if err != nil {
		return Refused(err)
	}
	i.made = made
	if changes := Changed(i.asked, i.made); len(changes) > 0 {
		return fmt.Errorf("the cluster changed the pod: %s: %w%w", strings.Join(changes, "; "), bench.ErrUnavailable,
			bench.Hint("exempt the namespace "+e.cluster.Namespace+" from the webhook or policy that does"))
	}
	i.made, err = Await(ctx, e.cluster, i.made)
	return err
}

// confine keeps the pod on the CPUs of the launch.
func (i *instance) confine() error {
	from := clock.Now()
	groups, _, err := i.find()
	if err != nil {
		return err
	}
	i.groups = groups
	dir := cmp.Or(groups["cpuset"], groups[cgroup.Unified])
	if err := cgroup.Confine(dir, i.launch.CPUSet); err != nil {
		return fmt.Errorf("keep the pod on CPUs %v: %w%w", i.launch.CPUSet, err, bench.Hint("leave them to the kubelet: pod[cpus=kubelet]"))
	}
	i.own = []bench.Span{launch.Own("confine the pod", from, clock.Now())}
	return nil
}

// Trace implements [bench.Traced]: what Tare does between the pod and the agent.
func (i *instance) Trace() []bench.Span { return i.own }

func (i *instance) Stream() io.ReadWriteCloser { return i.stream }
func (i *instance) Launched() int64            { return i.launched }
func (i *instance) Relays() bool               { return true }
func (i *instance) Unenforced() []string       { return Unenforced(i.launch) }

// Addr is none: the pod lies in the cluster's network, and none of the run's own reaches it.
func (i *instance) Addr() netip.Addr { return netip.Addr{} }

// Command makes the same pod by kubectl.
func (i *instance) Command() []string {
	text, err := json.Marshal(i.asked)
	if err != nil {
		return nil // of no pod that was asked for
	}
	return []string{"kubectl", "run", i.asked.Name, "--namespace", i.asked.Namespace, "--image", i.asked.Spec.Containers[0].Image, "--overrides", string(text)}
}

// find finds the pod's control groups: one of them by its name, the others by a process in it.
func (i *instance) find() (map[string]string, []int, error) {
	for _, top := range i.engine.cgroups.Tops() {
		dir, err := GroupOf(top, string(i.made.UID))
		if err != nil {
			return nil, nil, err
		}
		if dir == "" {
			continue
		}
		pids, err := cgroup.Procs(dir)
		if err != nil || len(pids) == 0 {
			return nil, nil, errors.Join(err, fmt.Errorf("no process in %s", dir))
		}
		of, err := i.engine.cgroups.Of(pids[0])
		if err != nil {
			return nil, nil, err
		}
		groups := map[string]string{}
		for controller, at := range of {
			if before, _, ok := strings.Cut(at+"/", "/"+filepath.Base(dir)+"/"); ok {
				groups[controller] = filepath.Join(before, filepath.Base(dir))
			}
		}
		return groups, pids, nil
	}
	return nil, nil, fmt.Errorf("no control group of pod %s on this host", i.made.UID)
}

// sandboxParts are the processes of gVisor in the pod's control group, see platform gvisor.
var sandboxParts = map[string]string{"runsc-sandbox": "sandbox", "runsc-gofer": "gofer"}

// daemons are the programs that serve all pods of a node.
var daemons = map[string]string{"kubelet": "daemon", "containerd": "containerd", "crio": "daemon", "dockerd": "daemon"}

// Scope is the pod's control group with all of its containers, what started these, and the node's daemons.
func (i *instance) Scope() (bench.Scope, error) {
	fail := func(err error) (bench.Scope, error) {
		return bench.Scope{}, fmt.Errorf("scope of pod %s: %w", i.launch.ID, err)
	}
	groups, pids, err := i.find()
	if err != nil {
		return fail(err)
	}
	i.groups = groups
	s := bench.Scope{Cgroups: groups, NetNS: fmt.Sprintf("/proc/%d/ns/net", pids[0])}
	s.Helpers = launch.PartsOf(pids, pids, sandboxParts)
	s.OwnKernel = slices.ContainsFunc(s.Helpers, func(p bench.Process) bool { return p.Part == "sandbox" })
	for _, pid := range pids {
		parent, err := launch.Parent(pid)
		if err != nil || parent <= 1 || slices.Contains(pids, parent) || slices.ContainsFunc(s.Helpers, func(p bench.Process) bool { return p.PID == parent }) {
			continue // it ended meanwhile, or is looked after already
		}
		s.Helpers = append(s.Helpers, bench.Process{PID: parent, Part: "shim"})
	}
	s.Shared, err = i.daemons(s.Helpers)
	if err != nil {
		return fail(err)
	}
	return s, nil
}

// daemons are those of the node that runs the pod: they see the same mounts as the shim that they began,
// which tells apart several nodes on one host.
func (i *instance) daemons(helpers []bench.Process) ([]bench.Process, error) {
	at := slices.IndexFunc(helpers, func(p bench.Process) bool { return p.Part == "shim" })
	if at < 0 {
		return nil, nil
	}
	mounts := func(pid int) string {
		space, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", pid))
		if err != nil {
			return "" // it ended meanwhile
		}
		return space
	}
	ours := mounts(helpers[at].PID)
	all, err := launch.Processes()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(launch.PartsOf(all, nil, daemons), func(p bench.Process) bool { return mounts(p.PID) != ours }), nil
}

// Log is what the agent said, and what is wrong with the pod.
func (i *instance) Log() string {
	var b strings.Builder
	if said := i.stream.Said(); said != "" {
		fmt.Fprintln(&b, strings.TrimSpace(said))
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	p, err := i.engine.cluster.Pod(ctx, i.launch.ID)
	if err != nil {
		fmt.Fprintln(&b, "pod:", err)
	} else if t := TroubleOf(p, nil); t != nil {
		fmt.Fprintln(&b, "pod:", t)
	}
	return b.String()
}

// Close deletes the pod and returns when all of its processes have ended.
func (i *instance) Close(ctx context.Context) error {
	if err := i.undo.Run(ctx); err != nil {
		return fmt.Errorf("close pod %s: %w", i.launch.ID, err)
	}
	return nil
}

// endsWithin is how long the kubelet may take to end what is in a pod that was deleted.
const endsWithin = 60 * time.Second

// remove deletes the pod, and waits for the kubelet to end it.
func (i *instance) remove(ctx context.Context) error {
	if i.stream != nil {
		_ = i.stream.Close() // by now its user may have closed it
	}
	ctx, cancel := context.WithTimeout(ctx, i.engine.env.Patience(endsWithin))
	defer cancel()
	if err := i.engine.cluster.End(ctx, i.launch.ID, i.engine.env.Run); err != nil {
		return err
	}
	if i.made == nil {
		return nil
	}
	if i.groups == nil {
		i.groups, _, _ = i.find() // none: nothing of it ran
	}
	for {
		var left []int
		for _, dir := range i.groups {
			pids, err := cgroup.Procs(dir)
			if err != nil {
				return err
			}
			left = append(left, pids...)
		}
		if len(left) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the kubelet has not ended processes %v of a pod that was deleted: %w", left, context.Cause(ctx))
		case <-time.After(5 * time.Millisecond):
		}
	}
}
