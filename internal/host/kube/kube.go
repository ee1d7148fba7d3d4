// Package kube asks the API server of a Kubernetes cluster for the few things that Tare needs of it:
// jobs, pods with their events and logs, programs started in them, nodes, runtime classes and rights.
package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	authv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"tare/internal/bench"
)

// Variable is the environment variable that names the file with the cluster's address and credentials.
const Variable = "KUBECONFIG"

// Cluster is an API server with an account.
type Cluster struct {
	// Namespace is where the account's objects are made.
	Namespace string
	file      string // the kubeconfig, "" in a pod; several as in [Variable]
	context   string // of the kubeconfig, "" for the current one
	config    *rest.Config
	core      *rest.RESTClient
	batch     *rest.RESTClient
	node      *rest.RESTClient
	rights    *rest.RESTClient
	words     runtime.ParameterCodec
}

// Find returns the cluster that the environment names: by [Variable], or, in a pod, by its service
// account. A user's ~/.kube/config is not looked at: it may lead to any cluster. Nothing is asked
// of the server yet. The error wraps [bench.ErrUnavailable].
func Find() (*Cluster, error) {
	if file := os.Getenv(Variable); file != "" {
		file, err := filepath.Abs(file)
		if err != nil {
			return nil, err
		}
		return At(file)
	}
	return At("")
}

const unnamed = bench.Hint(Variable + " names the file that leads to the cluster, such as /etc/kubernetes/admin.conf")

// AccountDir is where a pod finds its service account.
const AccountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// Where names a cluster as kubectl's flags do. What is empty is as the kubeconfig says.
type Where struct {
	File      string // the kubeconfig; "" for [Variable], or else ~/.kube/config
	Context   string
	Namespace string
}

// Reach returns the cluster that kubectl would speak to. Nothing is asked of the server yet. The error
// wraps [bench.ErrUnavailable].
func Reach(w Where) (*Cluster, error) {
	file := cmp.Or(w.File, os.Getenv(Variable), clientcmd.RecommendedHomeFile)
	list := filepath.SplitList(file)
	for i, name := range list {
		absolute, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		list[i] = absolute
	}
	c, err := at(strings.Join(list, string(filepath.ListSeparator)), w.Context)
	if err != nil {
		return nil, err
	}
	c.Namespace = cmp.Or(w.Namespace, c.Namespace)
	return c, nil
}

// At returns the cluster to which the kubeconfig leads, or, for "", the one in whose pod this process runs.
func At(file string) (*Cluster, error) { return at(file, "") }

// WriteAccount writes a kubeconfig that leads to the cluster in whose pod this process runs, by the service
// account whose files are in dir. They are read again when they change.
func WriteAccount(file, dir string) error {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	namespace, err := os.ReadFile(filepath.Join(dir, "namespace"))
	if err == nil && (host == "" || port == "") {
		err = errors.New("KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is not set")
	}
	if err != nil {
		return fmt.Errorf("the pod's service account: %w", err)
	}
	const name = "account"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: "https://" + net.JoinHostPort(host, port), CertificateAuthority: filepath.Join(dir, "ca.crt")}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{TokenFile: filepath.Join(dir, "token")}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: string(namespace)}
	config.CurrentContext = name
	return clientcmd.WriteToFile(*config, file)
}

func at(file, context string) (*Cluster, error) {
	c := &Cluster{file: file, context: context}
	var err error
	if file == "" {
		if c.config, err = rest.InClusterConfig(); err != nil {
			return nil, fmt.Errorf("no cluster is named: %w%w", bench.ErrUnavailable, unnamed)
		}
		text, err := os.ReadFile(filepath.Join(AccountDir, "namespace"))
		if err != nil {
			return nil, fmt.Errorf("namespace of the service account: %w: %w", err, bench.ErrUnavailable)
		}
		c.Namespace = string(text)
		return c, c.connect()
	}
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: file}
	if list := filepath.SplitList(file); len(list) > 1 {
		rules = &clientcmd.ClientConfigLoadingRules{Precedence: list}
	}
	from := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context})
	if c.config, err = from.ClientConfig(); err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w: %w%w", file, err, bench.ErrUnavailable, unnamed)
	}
	if c.Namespace, _, err = from.Namespace(); err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w: %w", file, err, bench.ErrUnavailable)
	}
	return c, c.connect()
}

func (c *Cluster) connect() (err error) {
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, batchv1.AddToScheme, nodev1.AddToScheme, authv1.AddToScheme} {
		if err := add(known); err != nil {
			return err
		}
	}
	metav1.AddToGroupVersion(known, schema.GroupVersion{Version: "v1"})
	c.words = runtime.NewParameterCodec(known)
	c.config.QPS = -1 // its own limit of 5 requests a second would be part of every launch
	c.config.NegotiatedSerializer = serializer.NewCodecFactory(known).WithoutConversion()
	group := func(path string, of schema.GroupVersion) *rest.RESTClient {
		config := rest.CopyConfig(c.config)
		config.APIPath, config.GroupVersion = path, &of
		client, failed := rest.RESTClientFor(config)
		err = cmp.Or(err, failed)
		return client
	}
	c.core = group("/api", corev1.SchemeGroupVersion)
	c.batch = group("/apis", batchv1.SchemeGroupVersion)
	c.node = group("/apis", nodev1.SchemeGroupVersion)
	c.rights = group("/apis", authv1.SchemeGroupVersion)
	if err != nil {
		return fmt.Errorf("cluster %s: %w", c.config.Host, err)
	}
	return nil
}

// Host is the URL of the API server.
func (c *Cluster) Host() string { return c.config.Host }

// Version asks for the version of the API server, such as v1.34.4.
func (c *Cluster) Version(ctx context.Context) (string, error) {
	text, err := c.core.Get().AbsPath("/version").DoRaw(ctx)
	if err != nil {
		return "", err
	}
	var v version.Info
	if err := json.Unmarshal(text, &v); err != nil {
		return "", fmt.Errorf("version of %s: %w", c.config.Host, err)
	}
	return v.GitVersion, nil
}

// Nodes lists the cluster's nodes.
func (c *Cluster) Nodes(ctx context.Context) ([]corev1.Node, error) {
	var list corev1.NodeList
	err := c.core.Get().Resource("nodes").Do(ctx).Into(&list)
	return list.Items, err
}

// RuntimeClasses lists those of the cluster.
func (c *Cluster) RuntimeClasses(ctx context.Context) ([]nodev1.RuntimeClass, error) {
	var list nodev1.RuntimeClassList
	err := c.node.Get().Resource("runtimeclasses").Do(ctx).Into(&list)
	return list.Items, err
}

// May reports whether the account has the right.
func (c *Cluster) May(ctx context.Context, right authv1.ResourceAttributes) (bool, error) {
	ask := authv1.SelfSubjectAccessReview{Spec: authv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right}}
	var told authv1.SelfSubjectAccessReview
	err := c.rights.Post().Resource("selfsubjectaccessreviews").Body(&ask).Do(ctx).Into(&told)
	return told.Status.Allowed, err
}

// clusterWide are the resources that lie in no namespace.
var clusterWide = []string{"nodes", "runtimeclasses"}

// Lacking returns which of the rights the account lacks, such as "create jobs", in its namespace or, of
// nodes and runtime classes, everywhere.
func (c *Cluster) Lacking(ctx context.Context, rights []authv1.ResourceAttributes) ([]string, error) {
	answers, errs := make([]bool, len(rights)), make([]error, len(rights))
	var all sync.WaitGroup
	for i, right := range rights {
		if !slices.Contains(clusterWide, right.Resource) {
			right.Namespace = c.Namespace
		}
		all.Go(func() { answers[i], errs[i] = c.May(ctx, right) })
	}
	all.Wait()
	var lacks []string
	for i, right := range rights {
		if errs[i] != nil {
			return nil, errs[i]
		}
		if !answers[i] {
			what := right.Resource
			if right.Subresource != "" {
				what += "/" + right.Subresource
			}
			lacks = append(lacks, right.Verb+" "+what)
		}
	}
	return lacks, nil
}

// Pod returns the pod of that name.
func (c *Cluster) Pod(ctx context.Context, name string) (*corev1.Pod, error) {
	var p corev1.Pod
	return &p, c.core.Get().Namespace(c.Namespace).Resource("pods").Name(name).Do(ctx).Into(&p)
}

// Create makes the pod and returns it as it was made.
func (c *Cluster) Create(ctx context.Context, p *corev1.Pod) (*corev1.Pod, error) {
	var made corev1.Pod
	return &made, c.core.Post().Namespace(c.Namespace).Resource("pods").Body(p).Do(ctx).Into(&made)
}

// Events lists what was told of the pod of that UID, the oldest first.
func (c *Cluster) Events(ctx context.Context, uid string) ([]corev1.Event, error) {
	var list corev1.EventList
	err := c.core.Get().Namespace(c.Namespace).Resource("events").
		VersionedParams(&metav1.ListOptions{FieldSelector: "involvedObject.uid=" + uid}, c.words).Do(ctx).Into(&list)
	return list.Items, err
}

// Follow calls f with every state of the pod from p on, until f says that it is enough or fails.
// A pod that was deleted is nil.
func (c *Cluster) Follow(ctx context.Context, p *corev1.Pod, f func(*corev1.Pod) (enough bool, err error)) error {
	for {
		if enough, err := f(p); enough || err != nil {
			return err
		}
		enough, err := c.watch(ctx, p, f)
		if enough || err != nil {
			return err
		}
		// The server ends a watch now and then, or has forgotten the version from which it was to begin.
		next, err := c.Pod(ctx, p.Name)
		switch {
		case apierrors.IsNotFound(err) || err == nil && next.UID != p.UID:
			_, err := f(nil)
			return err
		case err != nil:
			return err
		}
		p = next
	}
}

// watch is one watch of Follow.
func (c *Cluster) watch(ctx context.Context, p *corev1.Pod, f func(*corev1.Pod) (bool, error)) (enough bool, err error) {
	w, err := c.core.Get().Namespace(p.Namespace).Resource("pods").VersionedParams(&metav1.ListOptions{
		Watch: true, FieldSelector: "metadata.name=" + p.Name, ResourceVersion: p.ResourceVersion}, c.words).Watch(ctx)
	if err != nil {
		return false, err
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case e, ok := <-w.ResultChan():
			if !ok {
				return false, nil
			}
			now, is := e.Object.(*corev1.Pod)
			if !is {
				return false, nil // an error of the watch: ask anew
			}
			if e.Type == "DELETED" && now.UID == p.UID {
				_, err := f(nil)
				return true, err
			}
			if enough, err := f(now); enough || err != nil {
				return enough, err
			}
		}
	}
}

// delete deletes the pod at once if it has that UID; one that is gone is no error. Its containers may end after it.
func (c *Cluster) delete(ctx context.Context, name, uid string) error {
	now := int64(0)
	return c.deleteWithin(ctx, name, types.UID(uid), &now)
}
