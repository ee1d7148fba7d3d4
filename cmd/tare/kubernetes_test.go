package main

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"tare/internal/app/cluster"
	"tare/internal/platform/pod"

	authv1 "k8s.io/api/authorization/v1"
)

// grant is a rule of a role.
type grant struct {
	APIGroups []string `yaml:"apiGroups"`
	Resources []string
	Verbs     []string
}

// manifest is what the page has a cluster's administrator apply.
func manifest(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../" + cluster.Page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```yaml\n")
	block, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the page has no manifest")
	}
	return strings.ReplaceAll(block, "\n   ", "\n")[3:]
}

// granted are the rules of the page's roles, by the role's name.
func granted(t *testing.T, text string) map[string][]grant {
	t.Helper()
	roles := map[string][]grant{}
	d := yaml.NewDecoder(strings.NewReader(text))
	for {
		var object struct {
			Kind     string
			Metadata struct{ Name string }
			Rules    []grant
		}
		err := d.Decode(&object)
		if errors.Is(err, io.EOF) {
			return roles
		}
		if err != nil {
			t.Fatal(err)
		}
		if object.Rules != nil {
			roles[object.Metadata.Name] = object.Rules
		}
	}
}

func words(group, resource, verb string) string {
	return strings.TrimPrefix(strings.Join([]string{group, resource, verb}, " "), " ")
}

func TestTheManifestGrantsWhatIsAskedForAndNoMore(t *testing.T) {
	roles := granted(t, manifest(t))
	for role, rights := range map[string][]authv1.ResourceAttributes{"tare-node": pod.Rights(), "tare-user": cluster.Rights()} {
		var asked, given []string
		for _, r := range rights {
			resource := r.Resource
			if r.Subresource != "" {
				resource += "/" + r.Subresource
			}
			asked = append(asked, words(r.Group, resource, r.Verb))
		}
		for _, g := range slices.Concat(roles[role], roles["tare-looks"]) {
			for _, group := range g.APIGroups {
				for _, resource := range g.Resources {
					for _, verb := range g.Verbs {
						given = append(given, words(group, resource, verb))
					}
				}
			}
		}
		slices.Sort(asked)
		slices.Sort(given)
		if len(given) < 9 || !slices.Equal(asked, given) {
			t.Errorf("%s: the page grants\n%s\nthe program asks for\n%s", role, strings.Join(given, ", "), strings.Join(asked, ", "))
		}
	}
}
