package bench

import "slices"

// Steal is what the hypervisor below the host takes, in CPUs, in the pause before a launch and from
// the launch until the measurement has ended.
type Steal struct{ Before, During float64 }

// From so many launches on their median says what is usual: of the scene's own, or of all the run's.
const (
	usualOfScene = 3
	usualOfRun   = 6
)

// UsualSteal tells what the hypervisor below usually takes around the launches of a run. It knows
// their outcomes in the order of the run and nothing else: a run that was killed and resumed comes to
// the same. The zero value has seen none.
type UsualSteal struct {
	run    stretches
	scenes map[string]*stretches // by id
}

// stretches are what was taken so far, ascending, in CPUs.
type stretches struct{ before, during []float64 }

// Learn takes notice of a launch's outcome. Its values have no part in it.
func (u *UsualSteal) Learn(o *Outcome) {
	if o.Outside == nil {
		return
	}
	if u.scenes == nil {
		u.scenes = map[string]*stretches{}
	}
	if u.scenes[o.Scene] == nil {
		u.scenes[o.Scene] = &stretches{}
	}
	for _, s := range []*stretches{&u.run, u.scenes[o.Scene]} {
		s.before = insert(s.before, o.Outside.Before.Stolen)
		if o.Outside.During != nil {
			s.during = insert(s.during, o.Outside.During.Stolen)
		}
	}
}

// Of returns what is usual beside a scene. What is taken follows what the host asks for, and so the
// scene: its own launches say more than others. Nothing is usual before there are enough of either.
func (u *UsualSteal) Of(scene string) Steal {
	own := u.scenes[scene]
	if own == nil {
		own = &stretches{}
	}
	return Steal{usual(own.before, u.run.before), usual(own.during, u.run.during)}
}

// Run returns what is usual beside all scenes.
func (u *UsualSteal) Run() Steal {
	return Steal{usual(nil, u.run.before), usual(nil, u.run.during)}
}

func usual(scene, run []float64) float64 {
	switch {
	case len(scene) >= usualOfScene:
		return middle(scene)
	case len(run) >= usualOfRun:
		return middle(run)
	}
	return 0
}

// middle is the median of values that ascend.
func middle(values []float64) float64 {
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// insert puts a value at its place among values that ascend.
func insert(values []float64, v float64) []float64 {
	at, _ := slices.BinarySearch(values, v)
	return slices.Insert(values, at, v)
}
