package spec

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"tare/docs"
	"tare/internal/bench"
)

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(docs.ExperimentSchema)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("experiment.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("experiment.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON converts YAML to the values that a JSON validator takes.
func asJSON(t *testing.T, text []byte) any {
	t.Helper()
	raw, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestBuiltInsFitTheSchema(t *testing.T) {
	files, err := filepath.Glob("builtin/*.yaml")
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	s := schema(t)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(asJSON(t, text)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestSchemaRefuses checks that the schema refuses what the reader refuses.
func TestSchemaRefuses(t *testing.T) {
	s := schema(t)
	good := "name: x\nscenes: [{name: a, startup: true}]\n"
	if err := s.Validate(asJSON(t, []byte(good))); err != nil {
		t.Fatal(err)
	}
	if _, err := Parse("x", []byte(good), nil, Vocabulary{}); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"no scenes":        "name: x",
		"unknown key":      good + "bloks: 3",
		"no unit":          good + "timing: {measure: 5}",
		"negative time":    good + "timing: {warmup: -1s}",
		"wrong size":       good + "shape: {memory: 3 elephants}",
		"no blocks":        good + "blocks: 0",
		"blocks and until": good + "blocks: 5\nuntil: {max: 9}",
		"until too early":  good + "until: {min: 2}",
		"until no width":   good + "until: {interval: 0%}",
		"until too wide":   good + "until: {interval: 1.0}",
		"until without":    good + "until: 3%",
		"until what":       good + "until: {significant: true}",
		"disturbed by 0":   good + "disturbed: {above: 0}",
		"disturbed, how":   good + "disturbed: {by: noise}",
		"too many repeats": good + "disturbed: {repeats: 11}",
		"margin too wide":  good + "margin: 1.5",
		"a condition":      good + "conditions: {colour: red}",
		"no such THP":      good + "conditions: {thp: sometimes}",
		"no frequency":     good + "conditions: {frequency: fast}",
		"a list of them":   good + "conditions: {governor: [performance]}",
		"too short a rest": good + "rest: 5",
		"actors and short": "name: x\nscenes: [{name: a, workload: spin, actors: [{workload: spin}]}]",
		"unknown role":     "name: x\nscenes: [{name: a, actors: [{role: victim}]}]",
		"another host":     "name: x\nscenes: [{name: a, startup: true, host: far}]",
		"ramp and more":    "name: x\nscenes: [{name: a, startup: true, ramp: {to: 5}}]",
		"ramp to nowhere":  "name: x\nscenes: [{name: a, ramp: {step: 5}}]",
		"ramp of one":      "name: x\nscenes: [{name: a, ramp: {to: 1}}]",
		"ramp until 0":     "name: x\nscenes: [{name: a, ramp: {to: 5, until: {memory: 0%}}}]",
		"ramp until what":  "name: x\nscenes: [{name: a, ramp: {to: 5, until: {cpu: 50%}}}]",
		"two in one":       good + "platforms: [{docker: {}, lxc: {}}]",
	} {
		if s.Validate(asJSON(t, []byte(text))) == nil {
			t.Errorf("%s passes: %s", name, text)
		}
		if _, err := Parse("x", []byte(text), nil, Vocabulary{}); err == nil {
			t.Errorf("%s is read: %s", name, text)
		}
	}
}

// TestSchemaHasEveryKey compares the schema with the keys that the reader takes, and those keys
// with the fields they fill.
func TestSchemaHasEveryKey(t *testing.T) {
	var root struct {
		Properties map[string]any `json:"properties"`
		Defs       map[string]struct {
			Properties map[string]any `json:"properties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(docs.ExperimentSchema, &root); err != nil {
		t.Fatal(err)
	}
	for name, keys := range map[string][]string{
		"": experimentKeys, "scene": slices.Concat(sceneKeys, subjectKeys), "actor": actorKeys,
		"beside": besideKeys, "peer": peerKeys, "shape": shapeKeys, "timing": timingKeys, "until": untilKeys, "disturbed": disturbedKeys, "image": imageKeys, "ramp": rampKeys,
	} {
		properties := root.Defs[name].Properties
		if name == "" {
			properties = root.Properties
		}
		if got, want := slices.Sorted(maps.Keys(properties)), slices.Sorted(slices.Values(keys)); !slices.Equal(got, want) {
			t.Errorf("%q: schema has %v, the reader %v", name, got, want)
		}
	}
	for _, c := range []struct {
		noun reflect.Type
		keys []string
	}{{reflect.TypeFor[bench.Shape](), shapeKeys}, {reflect.TypeFor[bench.Timing](), timingKeys}} {
		for i := range c.noun.NumField() {
			key, _, _ := strings.Cut(c.noun.Field(i).Tag.Get("json"), ",")
			if !slices.Contains(c.keys, key) {
				t.Errorf("%s.%s cannot be written: no key %s", c.noun, c.noun.Field(i).Name, key)
			}
		}
	}
}
