package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"tare/internal/bench"
	"tare/internal/host/tree"
	"tare/internal/result/store"
	"tare/internal/state/ledger"
)

// note remembers the runs that the ledger knows.
func (k *killing) note() {
	led, err := ledger.Open(k.state(), "endure")
	if err != nil {
		return
	}
	held, _ := led.Held() // a torn line is no run
	for _, e := range held {
		if len(e.Owner.Run) > 8 {
			k.runs[e.Owner.Run] = true
		}
	}
}

// exists says whether the run under way has begun.
func (k *killing) exists() bool {
	_, err := os.Stat(filepath.Join(k.results, "run.json"))
	return err == nil
}

// outcomes reads what is stored of the run under way.
func (k *killing) outcomes() (map[string]*bench.Outcome, error) {
	all := map[string]*bench.Outcome{}
	r, err := store.Open(k.results)
	if err != nil {
		return all, err
	}
	defer r.Close()
	for o, err := range r.Outcomes() {
		if err != nil {
			return all, err
		}
		if !r.Plan().Settled(o) {
			continue // it was aborted, or is to be repeated
		}
		c := *o
		all[o.Trial] = &c
	}
	return all, nil
}

// check looks whether every trial is kept that was finished before the run was killed or, as its lines say, since.
func (k *killing) check(at string, r *running) {
	if k.task.Platform == build {
		return
	}
	now, err := k.outcomes()
	if err != nil {
		if len(k.kept) > 0 || r.finished > 0 {
			k.Lost = append(k.Lost, fmt.Sprintf("%s: the whole run: %v", at, err))
		}
		// It was killed before there was a run: there is nothing to go on with, and the folder is in the way of another.
		k.results = ""
		return
	}
	final := 0
	for _, o := range now {
		if o.Status.Final() {
			final++
		}
	}
	if final < len(k.kept)+r.finished {
		k.Lost = append(k.Lost, fmt.Sprintf("%s: %d outcomes of at least %d", at, final, len(k.kept)+r.finished))
	}
	k.compare(at, now)
}

func (k *killing) compare(at string, now map[string]*bench.Outcome) {
	for id, o := range k.kept {
		if n := now[id]; n == nil || n.Started != o.Started || n.Status != o.Status {
			k.Lost = append(k.Lost, fmt.Sprintf("%s: trial %s is not as it was", at, id))
		}
	}
	maps.DeleteFunc(now, func(_ string, o *bench.Outcome) bool { return !o.Status.Final() })
	k.kept = now
}

// ended looks at a run that has come to its end.
func (k *killing) ended(first bool) error {
	if k.task.Platform == build {
		// The next build is to begin anew.
		if !first {
			k.Ends++
		}
		return tree.Remove(filepath.Join(k.state(), "images"))
	}
	at := fmt.Sprintf("run %d", k.count)
	now, err := k.outcomes()
	if err != nil {
		return err
	}
	r, err := store.Open(k.results)
	if err != nil {
		return err
	}
	planned := len(r.Plan().Trials)
	k.runs[r.Header().Run] = true
	r.Close()
	k.compare(at, now)
	if len(now) != planned {
		k.Failed = append(k.Failed, fmt.Sprintf("%s: %d of %d trials have an outcome", at, len(now), planned))
	}
	failed := 0
	for _, o := range now {
		if o.Status == bench.Failed {
			failed++
		}
		switch {
		case o.Status != bench.Failed:
		case first && failed == len(now):
			k.Lack = "no trial is done, killed or not: " + o.Error
		case first:
			k.failing[o.Scene] = true
			k.say("%s fails though nothing is killed: %s", o.Scene, o.Error)
		case !k.failing[o.Scene]:
			k.Failed = append(k.Failed, fmt.Sprintf("%s: trial %s of %s: %s", at, o.Trial, o.Scene, o.Error))
		}
	}
	if !first {
		k.Ends++
		k.Trials += len(now)
		k.looks(at)
	}
	err = tree.Remove(k.results)
	k.results = ""
	return err
}
