package kube

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/bench"
)

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: "https://127.0.0.1:6443"}}]
users: [{name: a, user: {token: t}}]
contexts: [{name: a, context: {cluster: a, user: a, namespace: measured}}]
current-context: a
`

func written(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kube config")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestWhoeverCleansFindsThePodAgain(t *testing.T) {
	file := written(t, kubeconfig)
	c, err := At(file)
	if err != nil {
		t.Fatal(err)
	}
	name := c.Thing("r-b01-t01-0", "r")
	if want := "https://127.0.0.1:6443 measured/r-b01-t01-0 r " + file; name != want {
		t.Errorf("%q, want %q", name, want)
	}
	if err := CheckThing(name); err != nil {
		t.Error(err)
	}
	// The kubeconfig leads elsewhere by now: nothing is asked of that cluster.
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(kubeconfig, "6443", "6444")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := RemoveThing(t.Context(), name, (*Cluster).Remove); err == nil || !strings.Contains(err.Error(), "6444 now") || bench.HintOf(err) == "" {
		t.Errorf("%v", err)
	}
}

func TestWhatIsNoPodIsRefused(t *testing.T) {
	for _, name := range []string{"", "h", "h n/p", "h /p r", "h n/ r", "h n/../p r", "h n/p r relative", "h n/p r /a/../b", "h n/p r context=", "h n/p r context=a/b /x", "h n/p r context=%zz /x", "h n/p r/x", "h N/p r"} {
		if err := CheckThing(name); err == nil {
			t.Errorf("%q is taken", name)
		}
	}
	for _, name := range []string{"https://10.0.0.1 n/p r", "h n/p r /a b/c", "h n/p r context=a%2Fb+c /x", "h n/p r /a:/b"} {
		if err := CheckThing(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// What is removed later is removed from the cluster of the context that was named, whatever is current by then.
func TestAContextThatWasNamedIsRemembered(t *testing.T) {
	file := written(t, strings.Replace(kubeconfig, "contexts: [", `contexts: [{name: "b/c d", context: {cluster: a, user: a, namespace: other}}, `, 1))
	c, err := Reach(Where{File: file, Context: "b/c d"})
	if err != nil || c.Namespace != "other" {
		t.Fatalf("namespace %q, %v", c.Namespace, err)
	}
	if name := c.Thing("p", "r"); CheckThing(name) != nil || !strings.Contains(name, " context=b%2Fc+d /") {
		t.Errorf("%q", name)
	}
	if c, err = Reach(Where{File: file, Namespace: "mine"}); err != nil || c.Namespace != "mine" {
		t.Errorf("namespace %q, %v", c.Namespace, err)
	}
	if _, err := Reach(Where{File: file, Context: "none"}); !errors.Is(err, bench.ErrUnavailable) {
		t.Errorf("a context that is not there: %v", err)
	}
}

func FuzzCheckThing(f *testing.F) {
	f.Add("https://10.0.0.1 n/p r /a")
	f.Fuzz(func(t *testing.T, name string) {
		if CheckThing(name) != nil {
			return
		}
		m := thing.FindStringSubmatch(name)
		again := m[1] + " " + m[2] + "/" + m[3] + " " + m[4]
		if m[5] != "" {
			again += " context=" + m[5]
		}
		if m[6] != "" {
			again += " " + m[6]
		}
		if again != name || strings.ContainsAny(m[2]+m[3]+m[4], "/ %") || strings.ContainsAny(m[5], " /") || m[6] != "" && (!filepath.IsAbs(m[6]) || filepath.Clean(m[6]) != m[6]) {
			t.Errorf("%q is taken for %q", name, m[1:])
		}
	})
}

func TestNoClusterIsUnavailableWithAHint(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for name, file := range map[string]string{"none": "", "missing": filepath.Join(t.TempDir(), "x"), "bad": written(t, "a: ["), "empty": written(t, "")} {
		t.Setenv(Variable, file)
		if _, err := Find(); !errors.Is(err, bench.ErrUnavailable) || !strings.Contains(bench.HintOf(err), Variable) {
			t.Errorf("%s: %v, hint %q", name, err, bench.HintOf(err))
		}
	}
}
