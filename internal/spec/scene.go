package spec

import (
	"maps"
	"slices"
	"strings"

	"tare/internal/bench"
)

// subjectKeys are the keys of the short form. They describe the subject and its neighbours, and are
// expanded to actors here. sceneKeys are valid in both forms.
var (
	sceneKeys   = []string{"name", "title", "short", "host", "platforms", "shape", "timing", "vary", "startup", "cache", "migrate", "optional", "grow", "whole", "fit", "pool", "memory_pool", "conditions", "actors", "ramp", "relative", "peak", "turns"}
	subjectKeys = []string{"workload", "params", "alike", "load", "placement", "beside", "idle", "peer", "members"}
	peerKeys    = []string{"platform", "shape", "host"}
	memberKeys  = []string{"count", "shape", "placement", "host"}
	besideKeys  = []string{"workload", "params", "platform", "shape", "count", "load", "placement", "host", "containment", "read"}
)

const maxCount = 1000 // instances of one actor

// Either moves each subject in the way that its platform supports.
const Either = "either"

// scene reads one variant of a scene.
func (d *decoder) scene(v variant, e *Experiment, base Scene, shape bench.Shape) Scene {
	f := d.fields(v.tree, "a scene", slices.Concat(sceneKeys, subjectKeys))
	s := base
	s.Factors = v.factors
	s.Places = maps.Clone(base.Places)
	s.Places[""] = v.tree.place
	for key, value := range f {
		s.Places[key] = value.place
	}
	if v.tree.kind != mapping {
		return s
	}
	if f["name"] == nil {
		d.fail(v.tree.place, "the scene needs a name")
	}
	d.name(f["name"], &s.Name)
	s.Title = s.Name
	d.text(f["title"], &s.Title)
	d.text(f["short"], &s.Short)
	d.boolean(f["startup"], &s.Startup)
	d.word(f["migrate"], "migrate", []string{bench.Live, bench.Checkpoint, Either}, &s.Migrate)
	if s.Migrate != "" && s.Startup {
		d.fail(f["migrate"].place, "a start-up scene moves nothing: the launch is what is measured")
	}
	d.word(f["cache"], "cache", []string{bench.Warm, bench.Cold}, &s.Cache)
	if f["cache"] != nil && !s.Startup && f["workload"] == nil {
		d.fail(f["cache"].place, "the page cache is set for start-up scenes and for scenes of one workload only%w", bench.Hint("leave the key out"))
	}
	d.boolean(f["optional"], &s.Optional)
	d.boolean(f["grow"], &s.Grow)
	d.whole(f["whole"], &s)
	d.boolean(f["fit"], &s.Fit)
	d.integer(f["pool"], 1, 4096, &s.Pool)
	d.size(f["memory_pool"], &s.MemoryPool)
	d.conditions(f["conditions"], &s.Conditions, s.Places)
	d.readTiming(f["timing"], &s.Timing, s.Places)
	if f["platforms"] != nil {
		if d.platforms(f["platforms"], &s.Platforms) && e.Baseline.Name != "" && !s.Platforms.Has(e.Baseline) {
			d.fail(f["platforms"].place, "the baseline %s is not among the scene's platforms%w", e.Baseline,
				bench.Hint("a scene without it has nothing to be compared with"))
		}
	}
	// The scene's shape and host are the defaults of its actors.
	like := Actor{Host: bench.LocalHost, Shape: shape, Count: 1, Places: maps.Clone(s.Places)}
	d.word(f["host"], "host", []string{bench.LocalHost}, &like.Host)
	peer := like // the other end is the same in every scene: the experiment's shape
	peer.Places = maps.Clone(like.Places)
	d.readShape(f["shape"], &like.Shape, like.Places)

	var peerNode *node
	if f["ramp"] != nil {
		d.turns(f, &s, e)
		if f["memory_pool"] != nil {
			d.fail(f["memory_pool"].place, "memory_pool has no meaning in a ramp%w", bench.Hint("a ramp ends at a limit of the host; several alike share a pool: alike: 4"))
		}
		if f["grow"] != nil {
			d.fail(f["grow"].place, "grow has no meaning in a ramp%w", bench.Hint("its instances run nothing that needs memory"))
		}
		if f["whole"] != nil {
			d.fail(f["whole"].place, "whole has no meaning in a ramp%w", bench.Hint("its instances do nothing that a CPU could be for"))
		}
		if f["fit"] != nil {
			d.fail(f["fit"].place, "fit has no meaning in a ramp%w", bench.Hint("its instances share the host's CPUs as they come"))
		}
		if f["peak"] != nil {
			d.fail(f["peak"].place, "peak has no meaning in a ramp%w", bench.Hint("its instances are asked for nothing"))
		}
		s.Actors = d.ramp(f, &s, like)
		d.relative(f["relative"], &s)
		return s
	}
	if f["actors"] != nil {
		for _, key := range subjectKeys {
			if f[key] != nil {
				d.fail(f[key].place, "%s cannot be given beside actors%w", key, bench.Hint("write it in the actor it is about"))
			}
		}
		s.Actors = d.actors(f["actors"], s, like)
	} else {
		s.Actors = d.short(f, s, like)
		peerNode = f["peer"]
	}
	d.clustered(&s)
	d.turns(f, &s, e)
	s.Actors = append(s.Actors, d.peers(peerNode, s, peer)...)
	d.wired(f["conditions"], &s)
	d.readToo(&s)
	for i := range s.Actors {
		d.tame(&s.Actors[i])
		d.notContained(&s, &s.Actors[i])
	}
	d.growing(f["grow"], &s)
	d.wholly(f["whole"], &s)
	d.relative(f["relative"], &s)
	d.peak(f["peak"], &s)
	return s
}

// growing refuses grow if the scene varies the memory, or if no workload tells how much memory it
// needs.
func (d *decoder) growing(n *node, s *Scene) {
	if !s.Grow {
		return
	}
	if slices.ContainsFunc(s.Factors, func(f Factor) bool { return strings.HasSuffix(f.Name, "shape.memory") }) {
		d.fail(n.place, "grow and a varied memory exclude each other: grow would change the levels%w", bench.Hint("remove one of the two"))
	}
	var sized []string
	for _, w := range d.words.Workloads {
		if _, ok := w.(bench.Sized); ok {
			sized = append(sized, w.Name())
		}
	}
	if !unreadWork(s.Actors) && !slices.ContainsFunc(s.Actors, func(a Actor) bool { return slices.Contains(sized, a.Workload) }) {
		d.fail(n.place, "grow: no workload of the scene says how much memory it needs%w", bench.Hint("these do: "+strings.Join(sized, ", ")))
	}
}

// readToo refuses to read a neighbour of which nothing can be said together with the subject.
func (d *decoder) readToo(s *Scene) {
	for i := range s.Actors {
		a, subject := &s.Actors[i], &s.Actors[0]
		if !a.Read || unreadWork(s.Actors) {
			continue
		}
		w := d.words.Workload(a.Workload)
		switch {
		case a.Workload != subject.Workload || w == nil:
			d.fail(a.Places.At("read"), "read: the neighbour runs %s and the subject %s, and what both did is of one kind only%w", a.Workload, subject.Workload, bench.Hint("give both the same workload"))
		case bench.IsAdversary(w) || a.Count > 1 || subject.Count > 1 || s.Turns > 0:
			d.fail(a.Places.At("read"), "read: one subject beside one neighbour that means no harm, in a window of both%w", bench.Hint("take count, alike or turns away"))
		}
	}
}

// wired takes the wire from a scene that has no other end here, and refuses one that the scene itself asks
// for. To a further host there is a wire of its own.
func (d *decoder) wired(n *node, s *Scene) {
	near := func(a Actor) bool { return a.Role == bench.Peer && a.Host == bench.LocalHost }
	if s.Conditions[bench.CondWire] == "" || unreadWork(s.Actors) || slices.ContainsFunc(s.Actors, near) {
		return
	}
	if n == nil {
		n = &node{}
	}
	if own := n.get(bench.CondWire); own != nil && own.text == s.Conditions[bench.CondWire] { // else it is said to be no rate
		d.fail(s.Places.At("conditions."+bench.CondWire), "wire: no peer on this host is at its other end%w", bench.Hint("take a workload that has one, such as netperf or web"))
	}
	s.Conditions = maps.Clone(s.Conditions)
	delete(s.Conditions, bench.CondWire)
}

// whole reads true, false, or node.
func (d *decoder) whole(n *node, s *Scene) {
	if n != nil && n.text == "node" {
		s.Whole, s.Node = true, true
		return
	}
	d.boolean(n, &s.Whole)
}

// wholly refuses whole where the subjects neither have the machine to themselves nor share it.
func (d *decoder) wholly(n *node, s *Scene) {
	if !s.Whole {
		return
	}
	subjects := 0
	for _, a := range s.Actors {
		if a.Role == bench.Subject && a.Placement != Shared {
			subjects += a.Count
		}
	}
	switch {
	case s.Fit:
		d.fail(n.place, "whole and fit exclude each other: one gives all of the host's CPUs, the other as many as there are for each%w", bench.Hint("remove one of the two"))
	case s.Pool > 0:
		d.fail(n.place, "whole and pool exclude each other: one gives all of the host's CPUs, the other some%w", bench.Hint("remove one of the two"))
	case subjects > 1:
		d.fail(n.place, "whole gives one subject the machine, and there are %d%w", subjects, bench.Hint("alike: 4 with placement: shared has several on the same CPUs"))
	}
}

// short expands the short form to actors.
func (d *decoder) short(f map[string]*node, s Scene, like Actor) []Actor {
	subject := like
	subject.Name, subject.Role = "subject", bench.Subject
	subject.Places = maps.Clone(like.Places)
	fewest := 2
	if slices.ContainsFunc(s.Factors, func(f Factor) bool { return f.Name == "alike" }) {
		fewest = 1
	}
	if f["alike"] != nil {
		d.integer(f["alike"], fewest, maxCount, &subject.Count)
		subject.Places["count"] = f["alike"].place
	} else {
		if f["load"] != nil {
			d.fail(f["load"].place, "load needs several alike%w", bench.Hint("say how many: alike: 4"))
		}
		if p := f["placement"]; p != nil && p.text == string(Shared) {
			d.fail(p.place, "placement: shared needs several subjects%w", bench.Hint("say how many there are: alike: 4; or let it run on any CPU: placement: floating"))
		}
	}
	d.subject(f, s, &subject)
	d.placement(f["placement"], &subject)
	d.share(f["load"], &subject)
	actors := []Actor{subject}
	if f["members"] != nil {
		actors = append(actors, d.members(f["members"], subject, like)...)
	}

	if f["beside"] != nil {
		actors = append(actors, d.beside(f["beside"], like))
	}
	if f["idle"] != nil {
		idle := like
		idle.Name, idle.Role = "idle", bench.Idle
		d.integer(f["idle"], 1, maxCount, &idle.Count)
		idle.Places = maps.Clone(like.Places)
		idle.Places["count"] = f["idle"].place
		actors = append(actors, idle)
	}
	return actors
}

// subject reads the workload of an actor that is measured.
func (d *decoder) subject(f map[string]*node, s Scene, a *Actor) {
	if s.Startup {
		for _, key := range []string{"workload", "params", "load"} {
			if f[key] != nil {
				d.fail(f[key].place, "a start-up scene has no %s: the launch is what is measured", key)
			}
		}
		return
	}
	if f["workload"] == nil && s.Migrate != "" {
		return // an idle instance can be moved, too
	}
	if f["workload"] == nil && f["startup"] != nil && f["startup"].value != false {
		return // the value of startup could not be read
	}
	if f["workload"] == nil {
		d.fail(a.Places.At(""), "scene %q has nothing to measure%w", s.Name, bench.Hint("give it a workload, or startup: true"))
		return
	}
	d.workload(f, a)
}

// beside reads the neighbour of the short form.
func (d *decoder) beside(n *node, like Actor) Actor {
	a := like
	a.Name, a.Role = "neighbour", bench.Neighbour
	a.Places = maps.Clone(like.Places)
	a.Places[""] = n.place
	f := d.fields(n, "beside", besideKeys)
	d.actor(f, &a)
	if f["workload"] == nil && n.kind == mapping {
		d.fail(n.place, "a neighbour needs a workload%w", bench.Hint("for instances that do nothing write idle: 2"))
	}
	d.boolean(f["read"], &a.Read)
	return a
}

// peerPlatform returns the default platform of a peer.
func peerPlatform() *bench.PlatformRef { return &bench.PlatformRef{Name: bench.Native} }

// peers adds an actor for every part of a workload that no actor runs yet.
func (d *decoder) peers(n *node, s Scene, like Actor) []Actor {
	like.Role, like.Platform = bench.Peer, peerPlatform()
	f := d.fields(n, "peer", peerKeys)
	if n != nil {
		like.Places[""] = n.place
	}
	d.actor(f, &like)
	var added []Actor
	for _, a := range s.Actors {
		if a.Workload == "" || a.Part != bench.SubjectPart {
			continue
		}
		parts := partsFor(bench.Peer, d.words.Workload(a.Workload))
		for _, part := range parts {
			if slices.ContainsFunc(s.Actors, func(b Actor) bool { return b.Serves == a.Name && b.Part == part }) {
				continue
			}
			p := like
			p.Name = peerName(a, part, parts)
			p.Workload, p.Params, p.Part, p.Serves = a.Workload, a.Params, part, a.Name
			p.Places = maps.Clone(like.Places)
			for path, at := range a.Places { // its parameters were written there
				if ofWork(path) {
					p.Places[path] = at
				}
			}
			added = append(added, p)
		}
	}
	if n != nil && len(added) == 0 && !unreadWork(s.Actors) {
		d.fail(n.place, "scene %q has no part that a peer could run", s.Name)
	}
	return added
}

// ofWork reports whether a path is that of an actor's workload or of its parameters.
func ofWork(path string) bool { return path == "workload" || strings.HasPrefix(path, "params") }

// unreadWork reports whether a workload of actors could not be read. The error is reported already.
func unreadWork(actors []Actor) bool {
	return slices.ContainsFunc(actors, func(a Actor) bool {
		_, given := a.Places["workload"]
		return given && a.Workload == "" && (a.Role == bench.Subject || a.Role == bench.Neighbour)
	})
}

// peerName returns "peer" for the subject's only peer. Otherwise the name has the served actor and
// the part: "neighbour-peer", "peer-worker".
func peerName(of Actor, part string, parts []string) string {
	var words []string
	if of.Name != "subject" {
		words = append(words, of.Name)
	}
	words = append(words, "peer")
	if len(parts) > 1 {
		words = append(words, part)
	}
	return strings.Join(words, "-")
}
