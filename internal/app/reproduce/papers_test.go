package reproduce

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tare/internal/app/planning"
	"tare/internal/papers"
	"tare/internal/spec"
)

// counts lists all figures, tables and numbers of the five papers with how many claims each makes,
// one per line: "paper id claims".
//
//go:embed testdata/exhibits.txt
var counts string

// TestEveryExhibit holds the data to the papers: every exhibit is there, and every claim of it.
func TestEveryExhibit(t *testing.T) {
	want := strings.Split(strings.TrimSpace(counts), "\n")
	var got []string
	reasons := 0
	for _, p := range papers.All() {
		for _, x := range p.Exhibits {
			got = append(got, fmt.Sprintf("%s %s %d", p.ID, x.ID, len(x.Claims)))
			for _, c := range x.Claims {
				if c.None != "" && slices.ContainsFunc(want, func(line string) bool { return strings.HasPrefix(line, p.ID+" ") }) {
					reasons++
				}
			}
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("missing, or with another number of claims: %s", line)
		}
	}
	if reasons > 30 {
		t.Errorf("%d claims without a test, more than 30", reasons)
	}
	t.Logf("%d claims without a test", reasons)
}

// TestWords holds the data to the program: platforms, experiments, cases and metrics are there by
// the names that the data use. What an exhibit lacks is its state, but what a claim is about has to be.
func TestWords(t *testing.T) {
	from := testHost().experiments
	for _, p := range papers.All() {
		for name, refs := range p.Platforms {
			for _, ref := range refs {
				if err := spec.CheckPlatform(ref, from.Words); err != nil {
					t.Errorf("%s: platform %s: %v", p.ID, name, err)
				}
			}
		}
		for i := range p.Exhibits {
			x := &p.Exhibits[i]
			s := p.State(x, from)
			t.Logf("%-15s %-28s %s%s", p.ID, x.ID, s.Kind, about(s))
			for _, err := range p.Unknown(x, from) {
				t.Errorf("%s %s: %v", p.ID, x.ID, err)
			}
		}
	}
}

// TestStateFalls takes a level, a scene, a metric's program and a platform from exhibits that are as
// published: each lowers the state.
func TestStateFalls(t *testing.T) {
	from := testHost().experiments
	tried := map[string]bool{}
	for _, p := range papers.All() {
		for i := range p.Exhibits {
			x := &p.Exhibits[i]
			if p.State(x, from).Kind != papers.AsPublished {
				continue
			}
			for what, without := range map[string]func(*spec.Experiment) bool{"level": withoutLevel(x), "program": withoutProgram(x), "condition": withoutCondition(x), "CPU": withoutCPU(x),
				"parameter": withoutParam(x), "CPU of its own": withoutApart(x)} {
				less := papers.Experiments{Words: from.Words, Find: func(name string) (*spec.Experiment, error) {
					e, err := from.Find(name)
					if err != nil {
						return nil, err
					}
					own := *e
					own.Scenes = slices.Clone(e.Scenes)
					if without(&own) {
						tried[what] = true
					}
					return &own, nil
				}}
				if changed, got := takes(x, less, without), p.State(x, less); changed && got.Kind == papers.AsPublished {
					t.Errorf("%s %s stays %s without a %s", p.ID, x.ID, got.Kind, what)
				}
			}
			none := papers.Experiments{Words: from.Words, Find: func(string) (*spec.Experiment, error) { return &spec.Experiment{}, nil }}
			if got := p.State(x, none); got.Kind != papers.NotHere {
				t.Errorf("%s %s is %s by experiments without scenes", p.ID, x.ID, got.Kind)
			}
		}
	}
	for _, what := range []string{"level", "program", "condition", "CPU", "parameter", "CPU of its own"} {
		if !tried[what] {
			t.Errorf("no exhibit as published has a %s that could be taken out", what)
		}
	}
}

// takes says whether something was taken out of an experiment of the exhibit.
func takes(x *papers.Exhibit, from papers.Experiments, without func(*spec.Experiment) bool) bool {
	for _, name := range x.Experiments() {
		e, err := from.Find(name)
		if err != nil {
			return false
		}
		own := *e
		own.Scenes = slices.Clone(e.Scenes)
		if without(&own) || len(own.Scenes) != len(e.Scenes) {
			return true
		}
	}
	return false
}

// withoutLevel takes out the scenes of a level that the exhibit has.
func withoutLevel(x *papers.Exhibit) func(*spec.Experiment) bool {
	return func(e *spec.Experiment) bool {
		for _, w := range x.Shows {
			for factor, levels := range w.Levels {
				n := len(e.Scenes)
				e.Scenes = slices.DeleteFunc(e.Scenes, func(s spec.Scene) bool {
					return slices.ContainsFunc(s.Factors, func(f spec.Factor) bool { return f.Name == factor && f.Level == levels[0] })
				})
				if len(e.Scenes) < n {
					return true
				}
			}
		}
		return false
	}
}

// withoutProgram gives the exhibit's scenes another program.
func withoutProgram(x *papers.Exhibit) func(*spec.Experiment) bool {
	return func(e *spec.Experiment) bool {
		changed := false
		for _, w := range x.Shows {
			for i := range e.Scenes {
				s := &e.Scenes[i]
				if w.Program == "" || !slices.ContainsFunc(w.Scenes, s.Called) {
					continue
				}
				s.Actors = slices.Clone(s.Actors)
				s.Actors[0].Workload, s.Actors[0].Params = "idle", nil
				changed = true
			}
		}
		return changed
	}
}

// withoutCondition takes the conditions of the host from scenes that have to have some.
func withoutCondition(x *papers.Exhibit) func(*spec.Experiment) bool {
	return func(e *spec.Experiment) bool {
		changed := false
		for _, w := range x.Shows {
			for i := range e.Scenes {
				if s := &e.Scenes[i]; len(w.Conditions) > 0 && slices.ContainsFunc(w.Scenes, s.Called) {
					s.Conditions, changed = nil, true
				}
			}
		}
		return changed
	}
}

// withoutCPU takes a CPU from instances that have to have several, or all of the host's.
func withoutCPU(x *papers.Exhibit) func(*spec.Experiment) bool {
	return func(e *spec.Experiment) bool {
		changed := false
		for _, w := range x.Shows {
			for i := range e.Scenes {
				if s := &e.Scenes[i]; (w.CPUs > 1 || w.Whole) && slices.ContainsFunc(w.Scenes, s.Called) {
					s.Actors = slices.Clone(s.Actors)
					s.Actors[0].Shape.CPUs, s.Whole, changed = 1, false, true
				}
			}
		}
		return changed
	}
}

// withoutParam takes from scenes one of the parameters that they have to have, such as the server that is
// loaded; without others a workload has no such metrics.
func withoutParam(x *papers.Exhibit) func(*spec.Experiment) bool {
	return func(e *spec.Experiment) bool {
		changed := false
		for _, w := range x.Shows {
			for i := range e.Scenes {
				if s := &e.Scenes[i]; len(w.Params) > 0 && slices.ContainsFunc(w.Scenes, s.Called) {
					s.Actors = slices.Clone(s.Actors)
					s.Actors[0].Params = maps.Clone(s.Actors[0].Params)
					delete(s.Actors[0].Params, slices.Max(slices.Collect(maps.Keys(w.Params))))
					changed = true
				}
			}
		}
		return changed
	}
}

// withoutApart has instances share CPUs that have to have their own.
func withoutApart(x *papers.Exhibit) func(*spec.Experiment) bool {
	return func(e *spec.Experiment) bool {
		changed := false
		for _, w := range x.Shows {
			for i := range e.Scenes {
				if s := &e.Scenes[i]; w.Apart && slices.ContainsFunc(w.Scenes, s.Called) {
					s.Actors = slices.Clone(s.Actors)
					for k := range s.Actors {
						s.Actors[k].Placement, changed = spec.Shared, true
					}
				}
			}
		}
		return changed
	}
}

// TestPlatformsOfAPart takes the variants of a platform that is asked for by its name, and says so where
// none but the baseline is left.
func TestPlatformsOfAPart(t *testing.T) {
	h := testHost()
	for _, p := range h.Platforms() {
		h.found = append(h.found, planning.Checked{Platform: p})
	}
	p, err := papers.Find("tesfatsion2018")
	if err != nil {
		t.Fatal(err)
	}
	for asked, want := range map[string]string{
		"":                   "native docker kvm kvm[init=systemd] lxc[init=systemd] xen-pv",
		"native lxc":         "native lxc[init=systemd]",
		"lxc[init=systemd]":  "native lxc[init=systemd]",
		"lxc[init=none] kvm": "native kvm kvm[init=systemd]",
		"bwrap":              "native",
	} {
		ask := &Ask{Papers: []Chosen{{Paper: p, Exhibits: []string{"fig14a"}}}, Platforms: strings.Fields(asked)}
		if asked == "" {
			ask.Platforms = nil
		}
		x, err := p.Exhibit("fig14a")
		if err != nil {
			t.Fatal(err)
		}
		e, err := h.experiments.Find("startup")
		if err != nil {
			t.Fatal(err)
		}
		part := &Part{Experiment: "startup", ask: ask}
		part.take(h, e, p, x)
		if got := strings.Join(slices.Sorted(slices.Values(part.Platforms)), " "); got != strings.Join(slices.Sorted(slices.Values(strings.Fields(want))), " ") {
			t.Errorf("%q: %s, want %s", asked, got, want)
		}
		if len(part.Platforms) > 1 {
			continue
		}
		if h.estimate(part); part.Why != "nothing could be set beside native" {
			t.Errorf("%q: %q", asked, part.Why)
		}
	}
}

// TestOnePlatformAlone plans an exhibit on one platform where a claim sets cases of it against each other,
// and says that nothing could be set beside it where none does.
func TestOnePlatformAlone(t *testing.T) {
	h := testHost()
	for _, p := range h.Platforms() {
		h.found = append(h.found, planning.Checked{Platform: p})
	}
	p, err := papers.Find("tso2014")
	if err != nil {
		t.Fatal(err)
	}
	for exhibit, want := range map[string]bool{"fig5a": false, "fig5c": true, "fig5f": true} {
		ask := &Ask{Papers: []Chosen{{Paper: p, Exhibits: []string{exhibit}}}, Platforms: []string{"docker"}}
		x, err := p.Exhibit(exhibit)
		if err != nil {
			t.Fatal(err)
		}
		e, err := h.experiments.Find("web-neighbours")
		if err != nil {
			t.Fatal(err)
		}
		part := &Part{Experiment: "web-neighbours", ask: ask}
		part.take(h, e, p, x)
		if got := slices.Contains(part.alone, "docker"); len(part.Platforms) != 1 || got != want {
			t.Errorf("%s: %v, alone %v", exhibit, part.Platforms, part.alone)
		}
	}
}

// TestPlatformsOfAScene gives a scene with a list of its own the platforms of the exhibits that need it,
// of those that are asked for.
func TestPlatformsOfAScene(t *testing.T) {
	h := testHost()
	for _, p := range h.Platforms() {
		h.found = append(h.found, planning.Checked{Platform: p})
	}
	p, err := papers.Find("felter2014")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		ask  Ask
		want string
	}{
		"all":                    {Ask{}, `scenes.linpack.platforms=["native", "docker", "kvm"]`},
		"one":                    {Ask{Platforms: []string{"docker"}}, `scenes.linpack.platforms=["native", "docker"]`},
		"one in another's place": {Ask{As: map[string]string{"kvm": "qemu-tcg"}, Platforms: []string{"qemu-tcg"}}, `scenes.linpack.platforms=["native", "qemu-tcg"]`},
	} {
		x, err := p.Exhibit("fig1")
		if err != nil {
			t.Fatal(err)
		}
		e, err := h.experiments.Find("compute")
		if err != nil {
			t.Fatal(err)
		}
		part := &Part{Experiment: "compute", ask: &c.ask}
		part.take(h, e, p, x)
		if got := part.Request().Set; !slices.Contains(got, c.want) {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

func about(s papers.State) string {
	text := ""
	if s.Instead != "" {
		text += "; instead: " + s.Instead
	}
	if len(s.Missing) > 0 {
		text += "; missing: " + strings.Join(s.Missing, "; ")
	}
	return text
}
