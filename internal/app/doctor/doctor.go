// Package doctor says what this host can measure, and what stands in the way.
package doctor

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"tare/internal/app/planning"
	"tare/internal/app/site"
	"tare/internal/bench"
	"tare/internal/host"
	"tare/internal/host/cgroup"
	"tare/internal/meter"
	"tare/internal/meter/idle"
	"tare/internal/meter/power"
)

// Diagnosis is the JSON of tare doctor.
type Diagnosis struct {
	Host      *host.Facts    `json:"host"`
	Platforms []Platform     `json:"platforms"`
	Meters    []Meter        `json:"meters"`
	Programs  []host.Program `json:"programs"`
}

// Platform is a platform as its check found it.
type Platform struct {
	Name      string            `json:"name"`
	Available bool              `json:"available"`
	Untried   bool              `json:"untried,omitempty"` // whether it starts here is yet to be tried
	Version   string            `json:"version,omitempty"`
	Label     string            `json:"label,omitempty"`
	Programs  map[string]string `json:"programs,omitempty"`
	Caveats   []string          `json:"caveats,omitempty"`
	Lacks     []Lack            `json:"lacks,omitempty"`
	Migrates  string            `json:"migrates,omitempty"` // live or checkpoint
	Unmoved   *Lack             `json:"unmoved,omitempty"`  // why it cannot here
	Reason    string            `json:"reason,omitempty"`
	Hint      string            `json:"hint,omitempty"`
}

// State is the platform's in two words, with its label.
func (p *Platform) State() string {
	state := "ready"
	switch {
	case !p.Available:
		return "not available"
	case p.Untried:
		state = "not tried yet"
	}
	if p.Label != "" {
		state += ", " + p.Label
	}
	return state
}

// Lack is a variant that cannot run here, chosen by the options.
type Lack struct {
	Options string `json:"options"` // runtime=kata
	Reason  string `json:"reason"`
	Hint    string `json:"hint,omitempty"`
}

// Meter is a meter as a try found it.
type Meter struct {
	Name      string `json:"name"`
	Level     string `json:"level"`
	Available bool   `json:"available"`
	Reason    string `json:"reason,omitempty"`
}

// patience is how long the check of a platform may take: a diagnosis ends soon,
// whatever a broken program does.
const patience = 5 * time.Second

// Diagnose checks every platform, meter and program, and changes nothing. If platforms are named,
// the others and the programs of none of them are left out; one that there is not is an error that wraps
// bench.ErrInvalid.
func Diagnose(ctx context.Context, c planning.Catalog, named ...string) (*Diagnosis, error) {
	words := c.Words()
	var drivers []string
	for _, name := range named {
		ref, err := words.Ref(name)
		if err != nil {
			return nil, err
		}
		drivers = append(drivers, ref.Driver())
	}
	facts, err := host.Read("/", c.Dir)
	if err != nil {
		return nil, err
	}
	d := &Diagnosis{Host: facts, Meters: meters(ctx), Programs: host.FindPrograms(ctx, host.Programs(c.Platforms()))}
	for _, p := range c.Check(ctx, patience) {
		s := Platform{Name: p.Name(), Available: p.Err == nil, Untried: p.Untried,
			Version: p.Version, Label: p.Label, Programs: p.Availability.Programs}
		for _, caveat := range p.Availability.Caveats {
			if p.Err == nil && p.Lacking(caveat.With) == nil {
				s.Caveats = append(s.Caveats, caveat.String())
			}
		}
		s.Lacks = lacks(p.Availability)
		if s.Migrates = p.Migrates; p.Unmoved != nil {
			s.Unmoved = &Lack{"migrate: " + p.Migrates, bench.Reason(p.Unmoved), bench.HintOf(p.Unmoved)}
		}
		if p.Err != nil {
			s.Reason, s.Hint = p.Reason(), bench.HintOf(p.Err)
		}
		d.Platforms = append(d.Platforms, s)
	}
	if len(named) > 0 {
		d.Platforms = slices.DeleteFunc(d.Platforms, func(p Platform) bool { return !slices.Contains(drivers, p.Name) })
		d.Programs = slices.DeleteFunc(d.Programs, func(p host.Program) bool {
			return !slices.ContainsFunc(p.For, func(f string) bool { return slices.Contains(drivers, f) })
		})
	}
	return d, nil
}

// lacks are the variants that this host cannot run. Options that exclude each
// other are no fault of the host's.
func lacks(a bench.Availability) []Lack {
	var list []Lack
	for _, l := range a.Lacks {
		if !errors.Is(l.Err, bench.ErrInvalid) {
			with := maps.Clone(l.With)
			maps.DeleteFunc(with, func(_, value string) bool { return value == "" }) // unless another program is chosen
			list = append(list, Lack{strings.Trim(bench.PlatformRef{Options: with}.String(), "[]"), bench.Reason(l.Err), bench.HintOf(l.Err)})
		}
	}
	return list
}

// meters tries every meter that needs no instance; those of instances read the
// same kernel files, which exist wherever instances do.
func meters(ctx context.Context) []Meter {
	var states []Meter
	add := func(name, level string, err error) {
		s := Meter{Name: name, Level: level, Available: err == nil}
		if err != nil {
			s.Reason = strings.TrimPrefix(bench.Reason(err), "power meter "+name+": ")
		}
		states = append(states, s)
	}
	rs, err := meter.OpenHost()
	for _, r := range rs {
		err = errors.Join(err, r.Read(make([]float64, len(r.Columns()))))
		r.Close()
	}
	add("proc", string(bench.Host), err)
	watcher, err := idle.Open()
	if err == nil {
		err = watcher.Close()
	}
	add("idle", string(bench.Host), err)
	_, err = os.Stat("/proc/pressure/cpu")
	add("pressure", string(bench.Host), err)
	_, err = cgroup.Detect()
	add("cgroup", string(bench.Layer), err)
	_, err = os.Stat("/proc/self/schedstat")
	add("helpers", string(bench.Layer), err)
	_, err = site.Agent()
	add("agent", string(bench.Guest), err)
	for _, k := range power.Kinds() {
		if !k.Local {
			continue
		}
		r, err := power.Open(ctx, k.Name+":")
		if err == nil {
			err = r.Close()
		}
		add(k.Name, string(bench.Power), err)
	}
	return states
}

// Missing returns the packages that an experiment needs, or the tests, and the host
// lacks, sorted. Names with | between them are one package in different releases.
func Missing(c planning.Catalog, experiment string) ([]string, error) {
	words := []string{host.Tests}
	if experiment != host.Tests {
		r := planning.Request{Name: experiment}
		e, _, err := r.Experiment(c.Words())
		if err != nil {
			return nil, err
		}
		var all bool
		if words, all = e.OnHost(); all {
			for _, p := range c.Platforms() {
				words = append(words, p.Name())
			}
		}
	}
	var packages []string
	for _, p := range host.Missing(host.Programs(c.Platforms()), words) {
		packages = append(packages, p.Package)
	}
	slices.Sort(packages)
	return slices.Compact(packages), nil
}
