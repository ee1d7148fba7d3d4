package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"tare/internal/bench"
	"tare/internal/host/kube"
	"tare/internal/image"
	"tare/internal/result/store"
)

// What names the cluster for these tests. The manifest of the page is applied to it, and the image is on
// the node under the name that tare image save gives it.
const (
	testNode      = "TARE_TEST_NODE"       // the node to measure
	testNodeState = "TARE_TEST_NODE_STATE" // a directory of the node for its state, on no overlay
)

// realCluster is a cluster that these tests may change.
type realCluster struct {
	t      *testing.T
	host   string
	client *http.Client
	config *rest.Config
	node   string
	state  string // on the node
}

func onCluster(t *testing.T) *realCluster {
	t.Helper()
	if testing.Short() {
		t.Skip("real runs take long")
	}
	c := &realCluster{t: t, node: os.Getenv(testNode), state: cmp.Or(os.Getenv(testNodeState), "/var/lib/tare")}
	if os.Getenv(kube.Variable) == "" || c.node == "" {
		t.Skip("no cluster is named: " + kube.Variable + " and " + testNode)
	}
	var err error
	if c.config, err = clientcmd.BuildConfigFromFlags("", os.Getenv(kube.Variable)); err == nil {
		c.host = c.config.Host
		c.client, err = rest.HTTPClientFor(c.config)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.apply(manifest(t))
	return c
}

// ask sends the object to the API server and returns what it answers.
func (c *realCluster) ask(method, path, kind, body string) map[string]any {
	c.t.Helper()
	request, err := http.NewRequestWithContext(context.WithoutCancel(c.t.Context()), method, c.host+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("Content-Type", kind)
	answer, err := c.client.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 300 && !(method == http.MethodDelete && answer.StatusCode == http.StatusNotFound) {
		c.t.Fatalf("%s %s: %s: %s, %v", method, path, answer.Status, text, err)
	}
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		c.t.Fatal(err)
	}
	return object
}

var places = map[string]string{
	"Namespace": "/api/v1/namespaces", "ServiceAccount": "/api/v1/namespaces/NS/serviceaccounts", "ResourceQuota": "/api/v1/namespaces/NS/resourcequotas",
	"Role":        "/apis/rbac.authorization.k8s.io/v1/namespaces/NS/roles",
	"RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/NS/rolebindings",
	"ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles", "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
	"RuntimeClass": "/apis/node.k8s.io/v1/runtimeclasses",
}

// apply applies the objects, as kubectl apply --server-side does, and returns how they are removed.
func (c *realCluster) apply(text string) (remove func()) {
	c.t.Helper()
	var paths []string
	for _, one := range strings.Split(text, "\n---\n") {
		var object struct {
			Kind     string
			Metadata struct{ Name, Namespace string }
		}
		if err := yaml.Unmarshal([]byte(one), &object); err != nil {
			c.t.Fatal(err)
		}
		path := strings.Replace(places[object.Kind], "NS", object.Metadata.Namespace, 1) + "/" + object.Metadata.Name
		paths = append(paths, path)
		c.ask(http.MethodPatch, path+"?fieldManager=test&force=true", "application/apply-patch+yaml", one)
	}
	return func() {
		for _, path := range slices.Backward(paths) {
			c.ask(http.MethodDelete, path, "application/json", "")
		}
	}
}

// user is a kubeconfig of an account that has the roles of the page, or none.
func (c *realCluster) user(name string, bound bool) string {
	c.t.Helper()
	objects := fmt.Sprintf("{apiVersion: v1, kind: ServiceAccount, metadata: {name: %s, namespace: tare}}", name)
	if bound {
		for kind, role := range map[string]string{"Role": "tare-user", "ClusterRole": "tare-looks"} {
			namespace := ""
			if kind == "Role" {
				namespace = ", namespace: tare"
			}
			objects += fmt.Sprintf("\n---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: %sBinding, metadata: {name: test-%s%s}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: %s, name: %s}, subjects: [{kind: ServiceAccount, name: %s, namespace: tare}]}",
				kind, name, namespace, kind, role, name)
		}
	}
	c.t.Cleanup(c.apply(objects))
	token := c.ask(http.MethodPost, "/api/v1/namespaces/tare/serviceaccounts/"+name+"/token", "application/json",
		`{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 7200}}`)["status"].(map[string]any)["token"].(string)
	file := filepath.Join(c.t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a", "namespace": "tare"}}],
	"clusters": [{"name": "a", "cluster": {"server": %q, "certificate-authority-data": %q}}], "users": [{"name": "a", "user": {"token": %q}}]}`,
		c.host, base64.StdEncoding.EncodeToString(c.config.CAData), token)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return file
}

// left fails the test if something of Tare's is in the namespace.
func (c *realCluster) left(when string) {
	c.t.Helper()
	for _, path := range []string{"/apis/batch/v1/namespaces/tare/jobs", "/api/v1/namespaces/tare/pods"} {
		if items, _ := c.ask(http.MethodGet, path, "application/json", "")["items"].([]any); len(items) > 0 {
			text, _ := json.Marshal(items[0])
			c.t.Errorf("%s: %d left of %s, the first %.300s", when, len(items), path, text)
		}
	}
}

// jobPod waits for the pod of the job, and returns its name.
func (c *realCluster) jobPod() string {
	c.t.Helper()
	for range 100 {
		items, _ := c.ask(http.MethodGet, "/api/v1/namespaces/tare/pods?labelSelector=batch.kubernetes.io/job-name", "application/json", "")["items"].([]any)
		for _, item := range items {
			return item.(map[string]any)["metadata"].(map[string]any)["name"].(string)
		}
		time.Sleep(200 * time.Millisecond)
	}
	c.t.Fatal("there is no pod of a job")
	return ""
}

const onNode = `name: on-node
question: How much slower is work in pods of this node?
platforms: [native]
shape: {cpus: 1, memory: 256MiB}
timing: {warmup: 100ms, measure: 500ms, cooldown: 100ms}
blocks: 2
scenes:
- {name: cpu, workload: sysbench-cpu}
- {name: startup, startup: true}
`

// run begins to measure the node as that user, into a new folder.
func (c *realCluster) run(state, kubeconfig string, args ...string) (p *program, out string) {
	c.t.Helper()
	dir := c.t.TempDir()
	spec := filepath.Join(dir, "on-node.yaml")
	if err := os.WriteFile(spec, []byte(onNode), 0o600); err != nil {
		c.t.Fatal(err)
	}
	out = filepath.Join(dir, "r")
	args = slices.Concat([]string{"run", spec, "--on", "kubernetes", "--kubeconfig", kubeconfig, "--node", c.node, "--node-state", c.state, "-o", out,
		"--image", imageName(c.t)}, args)
	return startWithin(c.t, 5*time.Minute, state, filepath.Join(bin, "tare"), append(args, "--allow-unfair")...), out
}

// finished counts the trials of a stored run by what became of them in the end.
func finished(t *testing.T, dir string) (done, failed int) {
	t.Helper()
	r, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	last := map[string]bench.Status{} // a launch may be repeated
	for o, err := range r.Outcomes() {
		if err != nil {
			t.Fatal(err)
		}
		last[o.Trial] = o.Status
	}
	for _, s := range last {
		if s == bench.Done {
			done++
		} else {
			failed++
		}
	}
	return done, failed
}

func TestANodeOfAClusterIsMeasuredByWhoeverHasTheRightsOfThePage(t *testing.T) {
	c := onCluster(t)
	ann := c.user("ann", true)
	p, out := c.run(t.TempDir(), ann, "--platforms", "native,pod[runtimeClass=runc],pod[runtimeClass=crun]")
	status := p.end()
	done, failed := finished(t, out)
	if status != exitUndecided && status != exitDone || done != 12 || failed != 0 {
		t.Errorf("status %d, %d trials done, %d failed:\n%s", status, done, failed, p.stderr())
	}
	if _, err := os.Stat(filepath.Join(out, "report.html")); err != nil {
		t.Error(err)
	}
	c.left("after a run")
}

// Whatever moment a controller is killed at, cleaning leaves nothing; and where a run goes on that
// another host began, it is left alone until it is named.
func TestWhatAKilledControllerLeavesInTheClusterIsCleaned(t *testing.T) {
	c := onCluster(t)
	ann := c.user("ann", true)
	state := t.TempDir()
	clean := func(args ...string) string {
		p := startCommand(t, state, filepath.Join(bin, "tare"), append([]string{"clean", "--on", "kubernetes", "--kubeconfig", ann}, args...)...)
		p.ends(exitDone)
		return p.stdout.String()
	}
	t.Chdir(t.TempDir()) // where what was finished is fetched into
	for range 6 {
		after := time.Duration(rand.IntN(20_000)) * time.Millisecond
		p, _ := c.run(state, ann)
		time.Sleep(after)
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		p.end()
		clean()
		c.left("killed after " + after.String())
	}
	p, _ := c.run(t.TempDir(), ann) // another host's ledger
	run := p.await(`^pod tare-(\S+)-[a-z0-9]{5} is on its way`)[1]
	p.await(`^run ` + run)
	if said := clean(); !strings.Contains(said, "left alone") || !strings.Contains(said, "--run "+run) {
		t.Errorf("of a run of another host it says:\n%s", said)
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.end()
	clean("--run", run)
	c.left("named")
	if r, err := store.Open(filepath.Join("results", run)); err != nil {
		t.Errorf("what the run had finished: %v", err)
	} else {
		r.Close()
	}
}

func TestWhatStandsInTheWayOfMeasuringANodeIsToldWithAHint(t *testing.T) {
	c := onCluster(t)
	ann, bob := c.user("ann", true), c.user("bob", false)
	state := t.TempDir()
	nodePath := "/api/v1/nodes/" + c.node
	cordon := func(is bool) func() {
		c.ask(http.MethodPatch, nodePath, "application/merge-patch+json", fmt.Sprintf(`{"spec": {"unschedulable": %t}}`, is))
		return nil
	}
	quota := func(pods string) func() func() {
		return func() func() {
			remove := c.apply("{apiVersion: v1, kind: ResourceQuota, metadata: {name: test, namespace: tare}, spec: {hard: {pods: \"" + pods + "\"}}}")
			time.Sleep(time.Second) // until it is counted
			return remove
		}
	}
	for name, f := range map[string]struct {
		user         string
		make         func() (undo func())
		args         []string
		says         []string
		status       int
		done, failed int // of the run that is stored, if there is one
	}{
		"no rights":          {user: bob, says: []string{"create jobs", "list nodes", "get pods/log", "docs/howto/kubernetes.md"}, status: exitHost},
		"no such image":      {args: []string{"--image", "localhost/none:1"}, says: []string{"ErrImage", "localhost/none:1", "bring the image onto the node"}, status: exitHost},
		"a bad image name":   {args: []string{"--image", "localhost/NONE:1"}, says: []string{"InvalidImageName", "name the image as its registry does"}, status: exitHost},
		"an image without":   {args: []string{"--image", "localhost/cluster:1"}, says: []string{"/.tare/tare"}, status: exitHost},
		"no service account": {args: []string{"--service-account", "none"}, says: []string{"serviceaccount \"none\" not found", "--service-account"}, status: exitHost},
		"no such node":       {args: []string{"--node", "none"}, says: []string{`no node "none"`, "it has "}, status: exitHost},
		"cordoned":           {make: func() func() { cordon(true); return func() { cordon(false) } }, says: []string{c.node + " is cordoned", "kubectl uncordon " + c.node}, status: exitHost},
		"no quota":           {make: quota("0"), says: []string{"exceeded quota", "kubectl describe quota"}, status: exitHost},
		"quota for the job":  {make: quota("1"), args: []string{"--platforms", "native,pod[runtimeClass=runc]"}, says: []string{"exceeded quota"}, status: exitHost, done: 4, failed: 4},
		"no handler": {make: func() func() {
			return c.apply("{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: void}, handler: void}")
		}, args: []string{"--platforms", "native,pod[runtimeClass=void]"}, says: []string{"FailedCreatePodSandBox", "no runtime for"}, status: exitHost, done: 4, failed: 4},
	} {
		t.Run(name, func(t *testing.T) {
			c := &realCluster{t: t, host: c.host, client: c.client, config: c.config, node: c.node, state: c.state}
			if f.make != nil {
				if undo := f.make(); undo != nil {
					defer undo()
				}
			}
			p, out := c.run(state, cmp.Or(f.user, ann), f.args...)
			p.ends(f.status)
			p.says(f.says...)
			if f.done+f.failed > 0 {
				if done, failed := finished(t, out); done != f.done || failed != f.failed {
					t.Errorf("%d trials done, %d failed:\n%s", done, failed, p.stderr())
				}
			}
			c.left(name)
		})
	}
}

// What an eviction, as of a drained node, interrupts is kept as far as it came.
func TestAnEvictedRunKeepsWhatItHasFinished(t *testing.T) {
	c := onCluster(t)
	p, out := c.run(t.TempDir(), c.user("ann", true), "--blocks", "20")
	p.await(`^ *2/`)
	name := c.jobPod()
	c.ask(http.MethodPost, "/api/v1/namespaces/tare/pods/"+name+"/eviction", "application/json",
		`{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "`+name+`", "namespace": "tare"}}`)
	p.ends(exitUndecided)
	p.says("is being ended: EvictionByEvictionAPI")
	if done, _ := finished(t, out); done < 2 {
		t.Errorf("%d trials are done:\n%s", done, p.stderr())
	}
	c.left("after an eviction")
}

// imageName is the name of the image of this host, as tare image save gives it.
func imageName(t *testing.T) string {
	t.Helper()
	m, err := image.New(defaultState()).Manifest()
	if err != nil {
		t.Fatal(err)
	}
	return image.SavedName(m.Digest)
}
