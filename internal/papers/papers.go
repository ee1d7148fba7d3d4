// Package papers holds what published papers show and claim as data: their figures and tables
// (exhibits), which experiment shows each anew, and every claim as a test of measured effects.
//
// The data are embedded YAML, a file for each paper. docs/howto/claims.md says how to add one. The
// state of an exhibit is worked out from the experiments ([Exhibit.State]); nothing here says that
// something is covered.
package papers

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"

	"tare/internal/bench"
)

//go:embed data/*.yaml
var files embed.FS

// Paper is a publication, or a shelf of statements from several.
type Paper struct {
	ID      string   `yaml:"paper"` // "tesfatsion2018"
	Title   string   `yaml:"title"`
	Authors []string `yaml:"authors"`
	Venue   string   `yaml:"venue"`
	Year    int      `yaml:"year"`
	DOI     string   `yaml:"doi"`
	// Machine is what it measured on, in a sentence.
	Machine string `yaml:"machine"`
	// Platforms are ours for each of the paper's, the nearest first: a host that lacks one has the
	// next. One without any cannot be measured.
	Platforms map[string][]string `yaml:"platforms"`
	// Else are ours of another kind for some of them, which stand in on a host that has none of Platforms.
	Else map[string][]string `yaml:"else"`
	// Doubts are where the paper contradicts itself.
	Doubts   []string  `yaml:"doubts"`
	Exhibits []Exhibit `yaml:"exhibits"`
}

// Drawing is how a paper shows an exhibit.
type Drawing string

const (
	Table  Drawing = "table"
	Bars   Drawing = "bars"
	Curves Drawing = "curves"
	Text   Drawing = "text"  // numbers in a sentence
	SetUp  Drawing = "setup" // a diagram, or a table of the set-up: nothing is measured
)

// Exhibit is a figure, a table, or numbers in the text.
type Exhibit struct {
	ID      string  `yaml:"id"` // "fig13a"
	Title   string  `yaml:"title"`
	Section string  `yaml:"section"` // "4.2.1"
	Drawn   Drawing `yaml:"drawn"`
	// Platforms are the paper's, in its order, and As other platforms of ours for some of them than
	// the paper's elsewhere: a machine that boots a whole system.
	Platforms []string            `yaml:"platforms"`
	As        map[string][]string `yaml:"as"`
	// Shows are the parts of experiments that show it, as the exhibit asks for them: what an
	// experiment lacks of them is what the exhibit's state is lowered by.
	Shows []Show `yaml:"shows"`
	// Instead says which program stands in for the paper's, "fio for filebench"; "" for none.
	Instead string `yaml:"instead"`
	// Lacks are further differences in program, factor, platform, metric or scene, of which the
	// experiment's text tells nothing.
	Lacks []string `yaml:"lacks"`
	// Scale are differences in size and time that leave the question as it is: smaller files, fewer
	// seconds. They lower nothing.
	Scale []string `yaml:"scale"`
	// None says why no experiment shows it.
	None      string      `yaml:"none"`
	Published []Published `yaml:"published"`
	Claims    []Claim     `yaml:"claims"`
	// Doubts are where the paper contradicts itself on it.
	Doubts []string `yaml:"doubts"`
}

// Show is a part of an experiment.
type Show struct {
	Experiment string   `yaml:"experiment"`
	Scenes     []string `yaml:"scenes"`
	// Program is the workload that its subject has to run; "" for any.
	Program string `yaml:"program"`
	// Metrics are those that the exhibit shows, the one that it draws first.
	Metrics []string `yaml:"metrics"`
	// Levels are those that the paper has of each factor, in our spelling.
	Levels map[string][]string `yaml:"levels"`
	// Params are parameters that the subject's program has to have, and Conditions those of the host.
	Params     map[string]string `yaml:"params"`
	Conditions map[string]string `yaml:"conditions"`
	// CPUs are how many each instance has to have at least, and Apart says that no two may have the same.
	CPUs  int  `yaml:"cpus"`
	Apart bool `yaml:"apart"`
	// Whole says that they have to have all of the host's CPUs, or of a socket's.
	Whole bool `yaml:"whole"`
}

// Published is a number that the paper gives. Numbers are those of its machine: ratios are compared
// with ours, absolute ones are only shown.
type Published struct {
	Of string `yaml:"of"` // the paper's platform
	To string `yaml:"to"` // that a ratio is to
	In string `yaml:"in"` // our case
	// Against is the case that a ratio is to, on the same platform.
	Against string  `yaml:"against"`
	Metric  string  `yaml:"metric"`
	Value   float64 `yaml:"value"`
	Unit    string  `yaml:"unit"` // "" of a ratio
	// Bound is most or least where the paper gives no more than that.
	Bound string `yaml:"bound"`
}

// IsRatio says whether the number is one.
func (p *Published) IsRatio() bool { return p.Unit == "" }

var load = sync.OnceValues(func() ([]Paper, error) {
	paths, err := fs.Glob(files, "data/*.yaml")
	if err != nil {
		return nil, err
	}
	var all []Paper
	for _, path := range paths {
		text, err := files.ReadFile(path)
		if err != nil {
			return nil, err
		}
		p, err := Read(path, text)
		if err != nil {
			return nil, err
		}
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b Paper) int { return strings.Compare(order(a.ID), order(b.ID)) })
	return all, nil
})

// shelf is the order of the papers: the one whose method this program automates first.
var shelf = []string{"tesfatsion2018", "felter2014", "sharma2016", "ruan2016", "tso2014"}

func order(id string) string {
	i := slices.Index(shelf, id)
	if i < 0 {
		i = len(shelf)
	}
	return fmt.Sprintf("%02d %s", i, id)
}

// All returns the papers. They are checked by the tests, so an error is a fault of the build.
func All() []Paper {
	all, err := load()
	if err != nil {
		panic(fmt.Sprintf("papers: %v", err)) // embedded at build time
	}
	return all
}

// Find returns a paper; for an unknown one the error wraps [bench.ErrInvalid] and names the nearest.
func Find(id string) (*Paper, error) {
	all := All()
	var ids []string
	for i := range all {
		if ids = append(ids, all[i].ID); all[i].ID == id {
			return &all[i], nil
		}
	}
	return nil, fmt.Errorf("%w: %w", bench.UnknownWord("paper", id, ids), bench.ErrInvalid)
}

// Exhibit returns the one with the id; for an unknown one the error wraps [bench.ErrInvalid] and
// names the nearest.
func (p *Paper) Exhibit(id string) (*Exhibit, error) {
	var ids []string
	for i := range p.Exhibits {
		if ids = append(ids, p.Exhibits[i].ID); p.Exhibits[i].ID == id {
			return &p.Exhibits[i], nil
		}
	}
	return nil, fmt.Errorf("%w: %w", bench.UnknownWord("exhibit of "+p.ID, id, ids), bench.ErrInvalid)
}

// ShownBy are the exhibits of all papers that an experiment shows, "tesfatsion2018 fig13a".
func ShownBy(experiment string) (all []string) {
	for _, p := range All() {
		for i := range p.Exhibits {
			if slices.Contains(p.Exhibits[i].Experiments(), experiment) {
				all = append(all, p.ID+" "+p.Exhibits[i].ID)
			}
		}
	}
	return all
}

// Ours are our platforms for one of the paper's in an exhibit, the nearest first.
func (p *Paper) Ours(x *Exhibit, name string) []string {
	if refs, ok := x.As[name]; ok {
		return refs
	}
	return slices.Concat(p.Platforms[name], p.Else[name])
}

// StandsIn says whether one of ours only stands for the paper's in an exhibit, being of another kind.
func (p *Paper) StandsIn(x *Exhibit, name, ours string) bool {
	_, own := x.As[name]
	return !own && !slices.Contains(p.Platforms[name], ours) && slices.Contains(p.Else[name], ours)
}

// Read reads a paper's file and checks what needs no experiment. Errors have the line and column
// where the text is not of the form, and the exhibit where it says what cannot be.
func Read(path string, text []byte) (*Paper, error) {
	var p Paper
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(&p); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", path, yaml.FormatError(err, false, true), bench.ErrInvalid)
	}
	for i := range p.Exhibits {
		x := &p.Exhibits[i]
		if err := p.check(x); err != nil {
			return nil, fmt.Errorf("%s: %s: %w: %w", path, x.ID, err, bench.ErrInvalid)
		}
		if slices.ContainsFunc(p.Exhibits[:i], func(o Exhibit) bool { return o.ID == x.ID }) {
			return nil, fmt.Errorf("%s: %s is there twice: %w", path, x.ID, bench.ErrInvalid)
		}
	}
	return &p, nil
}

// check finds what an exhibit says that cannot be.
func (p *Paper) check(x *Exhibit) error {
	if !slices.Contains([]Drawing{Table, Bars, Curves, Text, SetUp}, x.Drawn) {
		return fmt.Errorf("drawn: %q", x.Drawn)
	}
	if x.Title == "" {
		return fmt.Errorf("no title")
	}
	for _, name := range slices.Concat(x.Platforms, slices.Collect(maps.Keys(x.As)), slices.Collect(maps.Keys(p.Else))) {
		if _, ok := p.Platforms[name]; !ok {
			return fmt.Errorf("platform %q is not among the paper's", name)
		}
	}
	if x.Drawn == SetUp && (len(x.Claims) > 0 || len(x.Shows) > 0) {
		return fmt.Errorf("a set-up claims and shows nothing")
	}
	if x.Drawn != SetUp && (len(x.Shows) == 0) != (x.None != "") {
		return fmt.Errorf("either an experiment shows it, or none says why none does")
	}
	for i := range x.Claims {
		if err := p.checkClaim(x, &x.Claims[i]); err != nil {
			return fmt.Errorf("claim %d: %w", i+1, err)
		}
	}
	for _, q := range x.Published {
		for _, name := range []string{q.Of, q.To} {
			if _, ok := p.Platforms[name]; !ok && name != "" {
				return fmt.Errorf("published: platform %q is not among the paper's", name)
			}
		}
		if q.Of == "" || q.Against != "" && (!q.IsRatio() || q.To != "") {
			return fmt.Errorf("published: it is of a platform, and a ratio is to a platform or against a case")
		}
		if q.IsRatio() && !(q.Value > 0) {
			return fmt.Errorf("published: a ratio of %g", q.Value)
		}
	}
	return nil
}
