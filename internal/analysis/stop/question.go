package stop

import "tare/internal/bench"

// Group are the cases that end together, with what is asked of them.
type Group struct {
	Cases     []string // the one that the others are set against is the first
	Scenes    []*bench.Scene
	Questions []Question
}

// Question is one ratio that decides when a platform ends.
type Question struct {
	Platform string
	Case     string // of the scene that is asked about
	Name     string // as it is said: the platform, and what tells it from the platform's others
	Metric   string
	// Family is how many ratios are decided together.
	Family int
	// Own is the scene, and Against what its values are divided by in the same block: the geometric
	// mean of these. They are empty where the baseline has no part.
	Own     string
	Against []string
}

// Groups are a plan's, in its order, with a stopping rule or without.
func Groups(p *bench.Plan) []Group {
	var all []Group
	for _, f := range rulings(p) {
		g := Group{Cases: f.cases, Scenes: f.scenes}
		asked := map[string]bool{}
		for _, sc := range f.scenes {
			platform := sc.Platform.String()
			if asked[platform] || sc.Control {
				continue
			}
			asked[platform] = true
			for _, c := range comparisons(p, f, platform) {
				g.Questions = append(g.Questions, c.question(p, f, platform))
			}
		}
		all = append(all, g)
	}
	return all
}

func (c *comparison) question(p *bench.Plan, f *ruling, platform string) Question {
	q := Question{Platform: platform, Name: c.name, Metric: c.metric, Family: c.family, Own: c.own, Case: p.Scene(c.own).Case}
	if c.cell() {
		q.Against = []string{c.alone}
		return q
	}
	for _, sc := range f.scenes {
		if sc.Case == c.of && (sc.Control || sc.Platform.String() == p.Baseline) {
			q.Against = append(q.Against, sc.ID)
		}
	}
	return q
}
