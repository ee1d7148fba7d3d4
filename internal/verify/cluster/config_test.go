package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/goccy/go-yaml"
)

// configured is a cluster with files and without processes.
func configured(t *testing.T) cluster {
	t.Helper()
	c := cluster{dir: filepath.Join(t.TempDir(), "it's a cluster")}
	if err := c.configure("127.0.0.1:6443"); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEachServerProvesItsAddressToItsClients(t *testing.T) {
	c := configured(t)
	ca, err := os.ReadFile(c.path("pki", "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	for name, hosts := range map[string][]string{
		"apiserver": {"127.0.0.1", members[0].address, apiService, "kubernetes.default.svc"},
		"node1":     {members[0].address, "node1"},
		"node2":     {members[1].address, "node2"},
	} {
		pair, err := tls.LoadX509KeyPair(c.path("pki", name+".crt"), c.path("pki", name+".key"))
		if err != nil {
			t.Fatal(err)
		}
		for _, host := range hosts {
			if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots}); err != nil {
				t.Errorf("%s as %s: %v", name, host, err)
			}
		}
	}
}

func TestConfigurationsAreWellFormed(t *testing.T) {
	c := configured(t)
	for _, file := range []string{"kubeconfig", "proxy.kubeconfig", "node1/kubelet.yaml", "node2/kubelet.yaml", "node1/proxy.yaml", "node1/cni/pods.conflist"} {
		text, err := os.ReadFile(c.path(file))
		if err != nil {
			t.Fatal(err)
		}
		var value map[string]any
		if filepath.Ext(file) == ".conflist" {
			err = json.Unmarshal(text, &value)
		} else {
			err = yaml.Unmarshal(text, &value)
		}
		if err != nil || len(value) == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestTheGroupFollowsFromTheDirectory(t *testing.T) {
	for dir, want := range map[string]string{"/a": "cluster-6a50dc85", "/b": "cluster-9812b0b9"} {
		if got := (cluster{dir: dir}).group(); got != want {
			t.Errorf("%s: %s, want %s", dir, got, want)
		}
	}
}
