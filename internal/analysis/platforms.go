package analysis

import (
	"tare/internal/bench"
	"tare/internal/result"
	"tare/internal/result/store"
)

// platforms are those of the scenes, controls left out, with what the launches told of them. It warns
// of those that changed meanwhile.
func platforms(scenes []bench.Scene, trials []launch, found map[string]store.Platform, w *warnings) []result.Platform {
	var all []result.Platform
	seen := map[string]bool{}
	for i := range scenes {
		ref := scenes[i].Platform
		name := ref.String()
		if seen[name] || scenes[i].Control {
			continue
		}
		seen[name] = true
		f := found[ref.Driver()]
		p := result.Platform{Name: name, Version: f.Version, Label: f.Label, Files: f.Files}
		for _, t := range trials {
			if t.outcome == nil || t.scene.Platform.String() != name {
				continue
			}
			for _, a := range t.outcome.Actors {
				if !a.Role.OfSubject() || a.Version == "" {
					continue
				}
				if p.Version != "" && p.Version != a.Version {
					w.add("%s changed from version %s to %s during the run: its figures mix the two", name, p.Version, a.Version)
				}
				p.Version, p.Label, p.Caveats = a.Version, wearing(a.Label, a.Caveats), a.Caveats
				if a.Kernel != "" {
					p.Kernel = a.Kernel
				}
			}
		}
		all = append(all, p)
	}
	return all
}
