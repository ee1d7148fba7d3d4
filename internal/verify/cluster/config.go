package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"
)

// configure writes the cluster's certificates, and the files that its programs read.
func (c cluster) configure(exposed string) error {
	for _, m := range members {
		for _, sub := range []string{"upper", "work", "root", "containerd", "kubelet", "log", "sysctl"} {
			if err := os.MkdirAll(c.path(m.name, sub), 0o755); err != nil {
				return err
			}
		}
	}
	if err := os.MkdirAll(c.path("pki"), 0o700); err != nil {
		return err
	}
	ca, err := newAuthority()
	if err != nil {
		return err
	}
	files := map[string][]byte{"pki/ca.crt": ca.pem, "resolv.conf": nil}
	issue := func(name string, subject pkix.Name, hosts ...string) error {
		cert, key, err := ca.issue(subject, hosts)
		files["pki/"+name+".crt"], files["pki/"+name+".key"] = cert, key
		return err
	}
	admin := pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}}
	errs := []error{
		issue("apiserver", pkix.Name{CommonName: "kube-apiserver"}, "kubernetes", "kubernetes.default", "kubernetes.default.svc", "127.0.0.1", members[0].address, apiService),
		issue("service-accounts", pkix.Name{CommonName: "service-accounts"}),
		issue("admin", admin),
		issue("controller-manager", pkix.Name{CommonName: "system:kube-controller-manager"}),
		issue("scheduler", pkix.Name{CommonName: "system:kube-scheduler"}),
		issue("proxy", pkix.Name{CommonName: "system:kube-proxy"}),
	}
	for _, m := range members {
		errs = append(errs, issue(m.name, pkix.Name{CommonName: "system:node:" + m.name, Organization: []string{"system:nodes"}}, m.name, m.address))
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	for _, user := range []string{"controller-manager", "scheduler", "proxy", "node1", "node2"} {
		files[user+".kubeconfig"] = kubeconfig(api, ca.pem, files["pki/"+user+".crt"], files["pki/"+user+".key"])
	}
	files["kubeconfig"] = kubeconfig(exposed, ca.pem, files["pki/admin.crt"], files["pki/admin.key"])
	for _, m := range members {
		for name, text := range nodeFiles {
			var b bytes.Buffer
			values := map[string]any{"Dir": c.dir, "Own": c.path(m.name), "Name": m.name, "Pods": m.pods, "Classes": classes, "Image": pauseImage}
			if err := template.Must(template.New(name).Parse(text)).Execute(&b, values); err != nil {
				return err
			}
			files[m.name+"/"+name] = b.Bytes()
		}
		for name, value := range settings {
			files[m.name+"/sysctl/"+strings.ReplaceAll(name, "/", ".")] = []byte(value + "\n")
		}
	}
	for name, data := range files {
		if err := os.MkdirAll(filepath.Dir(c.path(name)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(c.path(name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// settings are what a kubelet makes of settings of the kernel that the whole host shares. A node has
// files in their place that say so already: the kubelet then writes nothing.
var settings = map[string]string{
	"kernel/keys/root_maxbytes": "25000000",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
}

// nodeFiles are the files of a node. No process may get a lower OOM score than its parent's, because
// a host's root may lack the right. No image is ever removed, because none can be pulled again.
var nodeFiles = map[string]string{
	"containerd.toml": `version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper"]
[grpc]
address = "{{.Own}}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{{.Image}}"
restrict_oom_score_adj = true
netns_mounts_under_state_dir = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "{{.Own}}/cni"
[plugins."io.containerd.grpc.v1.cri".containerd]
default_runtime_name = "runc"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.crun]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.crun.options]
BinaryName = "crun"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runsc]
runtime_type = "io.containerd.runsc.v1"
`,
	"cni/pods.conflist": `{"cniVersion": "1.0.0", "name": "pods", "plugins": [
	{"type": "bridge", "bridge": "pods", "isGateway": true, "hairpinMode": true,
	 "ipam": {"type": "host-local", "ranges": [[{"subnet": "{{.Pods}}"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
	{"type": "portmap", "capabilities": {"portMappings": true}}
]}
`,
	"kubelet.yaml": `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: {{.Dir}}/pki/ca.crt}
authorization: {mode: Webhook}
tlsCertFile: {{.Dir}}/pki/{{.Name}}.crt
tlsPrivateKeyFile: {{.Dir}}/pki/{{.Name}}.key
cgroupDriver: cgroupfs
containerRuntimeEndpoint: unix://{{.Own}}/containerd.sock
resolvConf: {{.Dir}}/resolv.conf
failSwapOn: false
oomScoreAdj: 0
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}
volumePluginDir: {{.Own}}/kubelet/volumeplugins
`,
	"proxy.yaml": `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {kubeconfig: {{.Dir}}/proxy.kubeconfig}
hostnameOverride: {{.Name}}
mode: iptables
iptables: {masqueradeAll: true}
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
oomScoreAdj: 0
`,
}

func kubeconfig(server string, ca, cert, key []byte) []byte {
	text := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "https://%s", certificate-authority-data: %s}}]
users: [{name: user, user: {client-certificate-data: %s, client-key-data: %s}}]
contexts: [{name: test, context: {cluster: test, user: user}}]
current-context: test
`, server, text(ca), text(cert), text(key))
}

// authority signs the cluster's certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority() (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, err
	}
	own := certificate(pkix.Name{CommonName: "kubernetes"})
	own.IsCA, own.BasicConstraintsValid = true, true
	own.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, own, own, key.Public(), key)
	if err != nil {
		return authority{}, err
	}
	cert, err := x509.ParseCertificate(der)
	return authority{cert, key, block("CERTIFICATE", der)}, err
}

// issue returns a certificate and its key, both as PEM.
func (a authority) issue(subject pkix.Name, hosts []string) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	c := certificate(subject)
	c.KeyUsage = x509.KeyUsageDigitalSignature
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, private.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	secret, err := x509.MarshalECPrivateKey(private)
	return block("CERTIFICATE", der), block("EC PRIVATE KEY", secret), err
}

// certificate is valid for longer than any test.
func certificate(subject pkix.Name) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // never fails
	return &x509.Certificate{SerialNumber: serial, Subject: subject, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0)}
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
