package run

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"tare/internal/bench"
	"tare/internal/host/clock"
)

// record is how the launches of a run fared so far, as far as it decides what is
// launched at all. It knows nothing but outcomes, so that a resumed run decides the same.
type record struct {
	up   map[string]bool       // the platforms of which an instance came up
	last map[attempt]string    // how the last launch failed, if it did
	ends map[attempt]surrender // what is given up
}

// attempt is a platform, of which nothing came up yet in any scene, or one that
// did, in a scene.
type attempt struct{ platform, scene string }

// surrender is a platform that is given up, and why.
type surrender struct{ platform, why string }

// learn takes notice of an outcome, in the order of the run. A platform whose launches fail
// twice in the same way, and none came up between, is given up: in every scene if
// none ever came up, else in that one, for it may be the scene that asks too much.
func (r *record) learn(o *bench.Outcome) {
	if o.GivenUp != "" || !o.Status.Final() {
		return
	}
	if r.up == nil {
		r.up, r.last, r.ends = map[string]bool{}, map[attempt]string{}, map[attempt]surrender{}
	}
	failed := failedLaunch(o)
	for _, a := range o.Actors {
		if p := a.Platform.String(); a.ReadyMS > 0 {
			r.up[p] = true
			delete(r.last, attempt{p, ""})
			if p != failed {
				delete(r.last, attempt{p, o.Scene})
			}
		}
	}
	if failed == "" {
		return
	}
	at := attempt{failed, ""}
	if r.up[failed] {
		at.scene = o.Scene
	}
	way := wayOf(o.Error)
	if r.last[at] == way {
		r.ends[at] = surrender{failed, reasonOf(o.Error)}
	}
	r.last[at] = way
}

// givenUp says whether a trial of the scene is not to be run, because a platform in
// it is given up.
func (r *record) givenUp(s *bench.Scene) (surrender, bool) {
	for _, a := range s.Actors {
		p := a.Platform.String()
		for _, at := range []attempt{{p, ""}, {p, s.ID}} {
			if end, ok := r.ends[at]; ok {
				return end, true
			}
		}
	}
	return surrender{}, false
}

// failedLaunch is the platform of the actor that did not come up, "" if the outcome is no
// such failure.
func failedLaunch(o *bench.Outcome) string {
	if o.Status != bench.Failed || o.Phase != "launch" {
		return ""
	}
	for _, a := range o.Actors {
		if a.Actor != "" && a.ReadyMS == 0 {
			return a.Platform.String()
		}
	}
	return ""
}

// reasonOf is the first line of a launch's error, without which actor it was.
func reasonOf(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	if rest, ok := strings.CutPrefix(text, "launch "); ok {
		if _, reason, ok := strings.Cut(rest, ": "); ok {
			return reason
		}
	}
	return text
}

// numbers are what differs between two launches that fail in one way: names of
// instances, addresses, process ids, times.
var numbers = regexp.MustCompile(`[0-9a-fA-F]*[0-9][0-9a-zA-Z._:-]*`)

func wayOf(text string) string { return numbers.ReplaceAllString(reasonOf(text), "#") }

// outcome is that of a trial which is not run.
func (s surrender) outcome(t bench.Trial) bench.Outcome {
	return bench.Outcome{
		Trial: t.ID, Block: t.Block, Scene: t.Scene, Status: bench.Failed, Phase: "launch", GivenUp: s.platform,
		Started: time.Now().UTC().Format(time.RFC3339Nano), Origin: clock.Now(),
		Phases: []bench.Phase{}, Actors: []bench.ActorOutcome{},
		Error: fmt.Sprintf("not launched: %s failed twice in the same way and is given up for the rest of the run: %s", s.platform, s.why),
		Hint:  "mend it and start a new run; with --keep-trying every trial is launched all the same",
	}
}
