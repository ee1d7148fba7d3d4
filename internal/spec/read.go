package spec

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tare/internal/bench"
)

var experimentKeys = []string{"name", "title", "question", "platforms", "baseline", "shape", "timing",
	"blocks", "until", "budget", "disturbed", "seed", "margin", "rare", "max_time", "rest", "conditions", "inject", "studies", "answers", "unmetered", "controls", "covers", "image", "hosts", "only", "scenes"}

var imageKeys = []string{"add", "from", "kernel", "initrd", "disk", "append", "port"}

// experiment reads the whole tree.
func (d *decoder) experiment(n *node) *Experiment {
	f := d.fields(n, "an experiment", experimentKeys)
	e := &Experiment{
		Platforms: Platforms{AllReal: true},
		Blocks:    defaultBlocks,
		Margin:    defaultMargin,
		Disturbed: bench.DefaultDisturbance,
		Places:    Places{"": n.place},
	}
	for key, value := range f {
		e.Places[key] = value.place
	}
	if n.kind != mapping {
		return e
	}
	d.name(f["name"], &e.Name)
	d.text(f["title"], &e.Title)
	d.text(f["question"], &e.Question)
	d.unread = !d.platforms(f["platforms"], &e.Platforms)
	d.disturbed(f["disturbed"], &e.Disturbed)
	d.seed(f["seed"], &e.Seed)
	d.percent(f["margin"], &e.Margin)
	d.rare(f["rare"], &e.Rare)
	d.replication(f["blocks"], f["until"], f["budget"], e)
	d.duration(f["max_time"], time.Second, &e.MaxTime)
	e.Idle = defaultIdle
	d.duration(f["rest"], 100*time.Millisecond, &e.Idle)
	e.Baseline = d.baseline(f["baseline"], e)
	d.inject(f["inject"], e)
	for _, item := range d.list(f["studies"]) {
		var check string
		d.word(item, "check of the fairness audit", d.words.Checks, &check)
		e.Studies = append(e.Studies, check)
	}
	for i, item := range d.list(f["answers"]) {
		var metric string
		d.text(item, &metric)
		if slices.Contains(e.Answers, metric) {
			d.fail(item.place, "%q is there twice", metric)
		}
		e.Answers = append(e.Answers, metric)
		e.Places[fmt.Sprintf("answers.%d", i)] = item.place
	}
	d.unmetered(f["unmetered"], e)
	d.controls(f["controls"], e)
	for _, item := range d.list(f["covers"]) {
		var exhibit string
		d.text(item, &exhibit)
		e.Covers = append(e.Covers, exhibit)
	}
	d.image(f["image"], e)
	d.hosts(f["hosts"], e)

	base := Scene{
		Platforms: e.Platforms,
		Timing:    defaultTiming,
		Places:    Places{},
	}
	if at, said := e.Places["platforms"]; said {
		base.Places["platforms"] = at
	}
	shape := defaultShape
	d.conditions(f["conditions"], &base.Conditions, base.Places)
	d.readTiming(f["timing"], &base.Timing, base.Places)
	d.readShape(f["shape"], &shape, base.Places)

	if f["name"] == nil {
		d.fail(n.place, "the experiment needs a name%w", bench.Hint("such as: name: mine"))
	}
	if e.Title == "" {
		e.Title = e.Name
	}
	d.scenes(n, f["scenes"], e, base, shape)
	d.only(f["only"], e)
	d.agentless(e)
	if e.Blocks < 2 {
		e.Warnings = append(e.Warnings, fmt.Sprintf("blocks: %d; effects are given from 2 blocks on, so none will be", e.Blocks))
	}
	return e
}

// image reads which image the instances run, and what the golden one is to hold beyond the base's
// programs.
func (d *decoder) image(n *node, e *Experiment) {
	f := d.fields(n, "image", imageKeys)
	if from := f["from"]; from != nil {
		if d.text(from, &e.Image); e.Image == "" && from.kind == scalar {
			d.fail(from.place, "no image is named%w", bench.Hint("a path, or docker:NAME, podman:NAME or containerd:NAME"))
		}
		e.Places["image.from"] = from.place
	}
	for _, item := range d.list(f["add"]) {
		var name string
		d.text(item, &name)
		if err := bench.CheckPackage(name); err != nil && item.kind == scalar {
			d.fail(item.place, "%w", err)
		}
		e.Add = append(e.Add, name)
	}
	slices.Sort(e.Add)
	e.Add = slices.Compact(e.Add)
	if err := (bench.ImageNeeds{Add: e.Add}).Check(); err != nil && len(d.errs) == 0 {
		d.fail(n.place, "%w", err)
	}
	d.kernel(n, f, e)
}

// baseline reads the platform that the others are compared with. The default is native if it is
// among the platforms, else the first one named.
func (d *decoder) baseline(n *node, e *Experiment) bench.PlatformRef {
	native := bench.PlatformRef{Name: bench.Native}
	if n == nil {
		if !e.Platforms.Has(native) && len(e.Platforms.Named) > 0 {
			return e.Platforms.Named[0]
		}
		return native
	}
	ref, ok := d.platform(n)
	if ok && !d.among(e.Platforms, ref) {
		other := ""
		if named := e.Platforms.Named; len(named) > 0 {
			other = ": --set baseline=" + named[0].String()
		}
		d.fail(n.place, "the baseline %s is not among the platforms%w", ref, bench.Hint("add it to platforms, or name another one as baseline"+other))
	}
	return ref
}

// among reports whether the platform is one of p. It also returns true if some platforms could not
// be read, which is reported already.
func (d *decoder) among(p Platforms, ref bench.PlatformRef) bool { return d.unread || p.Has(ref) }

// Has reports whether the platform is, or may be, among them.
func (p Platforms) Has(ref bench.PlatformRef) bool {
	return p.AllReal && len(ref.Options) == 0 ||
		slices.ContainsFunc(p.Named, func(r bench.PlatformRef) bool { return r.String() == ref.String() })
}

// defaultIdle is how long the machine rests before and after a block if power is measured.
const defaultIdle = 5 * time.Second

// conditions reads the host's conditions. They override those read before.
func (d *decoder) conditions(n *node, into *map[string]string, places Places) {
	if n == nil {
		return
	}
	if n.kind != mapping {
		d.fail(n.place, "conditions are written as a mapping, found %s%w", n.kindName(), bench.Hint("such as: conditions: {governor: performance}"))
		return
	}
	*into = maps.Clone(*into)
	for _, e := range n.entries {
		if e.value.kind != scalar {
			d.fail(e.value.place, "condition %s is written as one word, found %s", e.key, e.value.kindName())
			continue
		}
		if err := bench.CheckCondition(e.key, e.value.text); err != nil {
			at := e.value.place
			if !slices.Contains(bench.ConditionNames, e.key) {
				at = e.place
			}
			d.fail(at, "%w", err)
			continue
		}
		if *into == nil {
			*into = map[string]string{}
		}
		(*into)[e.key] = e.value.text
		places["conditions."+e.key] = e.value.place
	}
}

// MaxBlocks bounds the number of blocks.
const MaxBlocks = 1000

// maxScenes bounds an experiment's scenes after the factors are crossed.
const maxScenes = 1000

func (d *decoder) scenes(root, list *node, e *Experiment, base Scene, shape bench.Shape) {
	if list == nil {
		d.fail(root.place, "the experiment has no scenes%w", bench.Hint("such as: scenes: [{name: cpu, workload: sysbench-cpu}]"))
		return
	}
	if list.kind != sequence || len(list.items) == 0 {
		d.fail(list.place, "scenes are a list of at least one scene, found %s%w", list.kindName(), bench.Hint("such as: scenes: [{name: cpu, workload: sysbench-cpu}]"))
		return
	}
	first := map[string]Place{}
	for _, item := range list.items {
		if name := item.get("name"); name != nil {
			if at, twice := first[name.text]; twice {
				d.fail(name.place, "scene %q is defined already, at %s", name.text, at)
			}
			first[name.text] = name.place
		}
		for _, v := range d.cross(item) {
			if len(e.Scenes) == maxScenes {
				d.fail(item.place, "too many scenes: at most %d, factors crossed", maxScenes)
				return
			}
			e.Scenes = append(e.Scenes, d.scene(v, e, base, shape))
		}
	}
	d.checkRelatives(e.Scenes)
}

// variant is a scene with one level of each of its factors filled in.
type variant struct {
	tree    *node
	factors []Factor
}

// varied lists the keys of a scene that may hold a factor.
var varied = []string{"params", "cache", "shape", "timing", "alike", "load", "placement", "idle", "beside", "peer", "members", "actors", "conditions", "ramp", "memory_pool"}

// cross returns one scene for every combination of the factors' levels. The last factor changes
// fastest.
func (d *decoder) cross(n *node) []variant {
	all := []variant{{tree: n}}
	vary := n.get("vary")
	if vary == nil {
		return all
	}
	if vary.kind != mapping {
		d.fail(vary.place, "vary is written as a mapping, found %s%w", vary.kindName(), bench.Hint("such as: vary: {threads: [1, 2]}"))
		return all
	}
	for _, e := range vary.entries {
		paths := d.paths(n, e)
		levels := d.levels(e)
		if len(levels) == 0 || len(paths) == 0 {
			continue // reported already; the scene is read without it
		}
		var next []variant
		for _, v := range all {
			for _, level := range levels {
				tree := v.tree
				for _, path := range paths {
					var err error
					if tree, err = tree.with(path, level.value, e.place); err != nil {
						d.fail(e.place, "%s: %w", e.key, err)
						return all
					}
				}
				name, _, _ := strings.Cut(e.key, "+")
				f := Factor{strings.TrimPrefix(name, "params."), level.key, level.called}
				next = append(next, variant{tree, append(slices.Clone(v.factors), f)})
			}
			if len(next) > maxScenes {
				d.fail(e.place, "too many combinations: at most %d scenes, factors crossed", maxScenes)
				return all
			}
		}
		all = next
	}
	return all
}

// paths are those of a factor's key, which joins several by "+" where a level is set at all of them; none
// if one cannot be varied.
func (d *decoder) paths(n *node, e entry) (paths [][]string) {
	for key := range strings.SplitSeq(e.key, "+") {
		path := strings.Split(key, ".")
		if len(path) == 1 && !slices.Contains(varied, key) {
			path = []string{"params", key}
		}
		if !slices.Contains(varied, path[0]) {
			d.fail(e.place, "%w", bench.UnknownWord("factor", path[0], varied))
			return nil
		}
		if n.lookup(path) != nil {
			d.fail(e.place, "%s is both set and varied%w", key, bench.Hint("take it out of one of the two"))
			return nil
		}
		paths = append(paths, path)
	}
	return paths
}

// level is one value of a factor.
type level struct {
	key    string // its text
	called string // what people call it; "" where the specification does not say
	value  *node
}

// levels returns a factor's levels: those of a list, or of a mapping from each to what people call it.
func (d *decoder) levels(factor entry) []level {
	var levels []level
	add := func(item *node, called string) {
		text := item.text
		if item.kind != scalar {
			j, err := item.json()
			if err != nil {
				d.errs = append(d.errs, item.place.Error(err))
				return
			}
			text = j
		}
		if slices.ContainsFunc(levels, func(l level) bool { return l.key == text }) {
			d.fail(item.place, "%s is there twice", text)
			return
		}
		levels = append(levels, level{text, called, item})
	}
	v := factor.value
	switch {
	case v.kind == mapping && len(v.entries) > 0:
		for _, e := range v.entries {
			if e.value.kind != scalar || strings.TrimSpace(e.value.text) == "" || strings.ContainsAny(e.value.text, "\n\t") {
				d.fail(e.value.place, "%s: what people call this level is words in one line, found %s%w", e.key, e.value.kindName(), bench.Hint("such as: {read: sequential reads}"))
				continue
			}
			add(&node{text: e.key, value: cmp.Or(e.word, any(e.key)), place: e.place}, e.value.text)
		}
	case v.kind == sequence && len(v.items) > 0:
		for _, item := range v.items {
			add(item, "")
		}
	default:
		d.fail(factor.place, "%s is varied over a list, found %s%w", factor.key, v.kindName(), bench.Hint("such as: [1, 2, 4]"))
	}
	return levels
}
