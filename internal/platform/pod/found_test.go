package pod

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/bench"
)

func nodesOf(boots ...string) (list []corev1.Node) {
	for i, boot := range boots {
		list = append(list, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node" + string(rune('1'+i))},
			Status: corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{BootID: boot, KubeletVersion: "v1.34.4", ContainerRuntimeVersion: "containerd://1.6.20"}}})
	}
	return list
}

func TestTheNodeIsTheOneThatRunsThisHostsKernel(t *testing.T) {
	for _, c := range []struct {
		boots      []string
		name, want string
		hint       string
	}{
		{[]string{"other", "mine"}, "", "node2", ""},
		{[]string{"mine", "mine"}, "node2", "node2", ""},
		{[]string{"mine", "mine"}, "", "", "pod[node=node1]"},
		{[]string{"other", "mine"}, "node1", "", "this host is node2"},
		{[]string{"mine"}, "nowhere", "", "this host is node1"},
	} {
		n, err := found{boot: "mine", nodes: nodesOf(c.boots...)}.node(c.name)
		if n.Name != c.want || c.want == "" && !errors.Is(err, bench.ErrUnavailable) || !strings.Contains(bench.HintOf(err), c.hint) {
			t.Errorf("%v, node %q: %q, %v, hint %q", c.boots, c.name, n.Name, err, bench.HintOf(err))
		}
	}
	if err := (found{boot: "mine", nodes: nodesOf("other")}).here(); err == nil || !strings.Contains(bench.HintOf(err), "node1") {
		t.Errorf("no node: %v", err)
	}
}

func TestVariantsThatCannotRunAreTold(t *testing.T) {
	f := found{boot: "mine", nodes: nodesOf("mine", "mine", "other"), classes: []nodev1.RuntimeClass{
		{ObjectMeta: metav1.ObjectMeta{Name: "vm"}, Handler: "kata-qemu"}, {ObjectMeta: metav1.ObjectMeta{Name: "sandbox"}, Handler: "runsc"}}}
	a := bench.Availability{Lacks: f.lacks(), Caveats: f.caveats()}
	for _, c := range []struct {
		options map[string]string
		lacks   bool
	}{
		{map[string]string{OptNode: "node1"}, false},
		{map[string]string{}, true},
		{map[string]string{OptNode: "node3"}, true},
		{map[string]string{OptNode: "node1", OptRuntimeClass: "vm"}, true},
		{map[string]string{OptNode: "node1", OptRuntimeClass: "sandbox"}, false},
	} {
		all := bench.Variant(New().Options(), c.options)
		if err := a.Lacking(all); (err != nil) != c.lacks || err != nil && bench.HintOf(err) == "" {
			t.Errorf("%v: %v", c.options, err)
		}
		if got := len(a.CaveatsOf(all)); (got > 2) != (c.options[OptRuntimeClass] == "sandbox") {
			t.Errorf("%v: %d caveats", c.options, got)
		}
	}
	if p := f.programs(); p["kubelet"] != "v1.34.4" || p["containerd"] != "1.6.20" {
		t.Errorf("programs %v", p)
	}
}

func TestAnOldServerIsRefused(t *testing.T) {
	for version, ok := range map[string]bool{"v1.34.4": true, "v1.30.0-eks-1": true, "v1.29.9": false, "v0.9": false, "": false, "1.34": false} {
		if err := Old(version); (err == nil) != ok {
			t.Errorf("%q: %v", version, err)
		}
	}
}
