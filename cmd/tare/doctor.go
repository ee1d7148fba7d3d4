package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tare/internal/bench"
	"tare/internal/cgroup"
	"tare/internal/host"
	"tare/internal/meter"
	"tare/internal/meter/idle"
	"tare/internal/power"
	"tare/internal/spec"
)

// diagnosis is the JSON of tare doctor.
type diagnosis struct {
	Host      *host.Facts     `json:"host"`
	Platforms []platformState `json:"platforms"`
	Meters    []meterState    `json:"meters"`
	Programs  []host.Program  `json:"programs"`
}

type platformState struct {
	Name      string            `json:"name"`
	Available bool              `json:"available"`
	Untried   bool              `json:"untried,omitempty"` // whether it starts here is yet to be tried
	Version   string            `json:"version,omitempty"`
	Label     string            `json:"label,omitempty"`
	Programs  map[string]string `json:"programs,omitempty"`
	Caveats   []string          `json:"caveats,omitempty"`
	Lacks     []lackState       `json:"lacks,omitempty"`
	Migrates  string            `json:"migrates,omitempty"` // live or checkpoint
	Unmoved   *lackState        `json:"unmoved,omitempty"`  // why it cannot here
	Reason    string            `json:"reason,omitempty"`
	Hint      string            `json:"hint,omitempty"`
}

// state is the platform's in two words, with its label.
func (p *platformState) state() string {
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

// lackState is a variant that cannot run here, chosen by the options.
type lackState struct {
	Options string `json:"options"` // runtime=kata
	Reason  string `json:"reason"`
	Hint    string `json:"hint,omitempty"`
}

type meterState struct {
	Name      string `json:"name"`
	Level     string `json:"level"`
	Available bool   `json:"available"`
	Reason    string `json:"reason,omitempty"`
}

func (a *app) doctorCommand() *cobra.Command {
	var asJSON bool
	var packagesFor string
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this host can measure, and what stands in the way",
		Long: `Checks every platform, meter and program and lists the facts of this host
that matter to a measurement. Changes nothing: a platform that a run decides on
by starting it once is "not tried yet" until one has.

With --packages it prints nothing but the Debian or Ubuntu packages that are
missing for an experiment, or for "tests", one a line. Names with | between
them are one package in different releases: take the first that there is.`,
		Example: "  tare doctor\n  tare doctor --packages quick\n  tare doctor --json | jq '.platforms[] | select(.available | not)'",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if packagesFor != "" {
				return a.printMissing(packagesFor)
			}
			facts, err := host.Read("/", a.state)
			if err != nil {
				return err
			}
			d := diagnosis{Host: facts, Meters: meters(c.Context()), Programs: host.FindPrograms(c.Context(), host.Programs())}
			for _, p := range a.checkAll(c.Context(), checkDeadline) {
				s := platformState{Name: p.Name(), Available: p.err == nil, Untried: p.Untried,
					Version: p.Version, Label: p.Label, Programs: p.Availability.Programs}
				for _, c := range p.Availability.Caveats {
					if p.err == nil && p.Lacking(c.With) == nil {
						s.Caveats = append(s.Caveats, c.String())
					}
				}
				s.Lacks = lacks(p.Availability)
				if s.Migrates = p.Migrates; p.Unmoved != nil {
					s.Unmoved = &lackState{"migrate: " + p.Migrates, bench.Reason(p.Unmoved), bench.HintOf(p.Unmoved)}
				}
				if p.err != nil {
					s.Reason, s.Hint = p.reason(), bench.HintOf(p.err)
				}
				d.Platforms = append(d.Platforms, s)
			}
			if asJSON {
				return writeJSON(a.stdout, d)
			}
			return a.printDiagnosis(d)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	c.Flags().StringVar(&packagesFor, "packages", "", "print only the packages that are missing for this experiment, or for \"tests\"")
	c.MarkFlagsMutuallyExclusive("json", "packages")
	return c
}

// printMissing prints the packages that an experiment needs and the host lacks.
func (a *app) printMissing(experiment string) error {
	words := []string{host.Tests}
	if experiment != host.Tests {
		r := request{name: experiment}
		file, text, err := r.read()
		if err != nil {
			return err
		}
		e, err := spec.Parse(file, text, nil, a.vocabulary())
		if err != nil {
			return err
		}
		var all bool
		if words, all = e.OnHost(); all {
			for _, p := range a.platforms() {
				words = append(words, p.Name())
			}
		}
	}
	var packages []string
	for _, p := range host.Missing(host.Programs(), words) {
		packages = append(packages, p.Package)
	}
	slices.Sort(packages)
	for _, p := range slices.Compact(packages) {
		fmt.Fprintln(a.stdout, p)
	}
	return nil
}

func (a *app) printDiagnosis(d diagnosis) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PLATFORM\tSTATE\tVERSION")
	shown := map[string]bool{}
	for _, p := range d.Platforms {
		// Nestings lack the same thing: it is said once.
		if strings.Contains(p.Name, "@") && !p.Available {
			if outer := p.Name[strings.IndexByte(p.Name, '@'):] + p.Reason; !shown[outer] {
				shown[outer] = true
				fmt.Fprintf(w, "%s\tnot available\t\n  %s\n", nestingsLike(d.Platforms, p), explained(p.Reason, p.Hint))
			}
			continue
		}
		// Those three deep have one line, too, for all of one kind: what is in the
		// guest between is what any outer guest runs.
		if strings.Count(p.Name, "@") > 1 {
			if outer := p.Name[strings.IndexByte(p.Name, '@'):] + p.state(); !shown[outer] {
				shown[outer] = true
				fmt.Fprintf(w, "%s\t%s\t\n", nestingsLike(d.Platforms, p), p.state())
			}
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", p.Name, p.state(), p.Version)
		if p.Reason != "" {
			fmt.Fprintf(w, "  %s\n", explained(p.Reason, p.Hint))
		}
		for _, c := range p.Caveats {
			fmt.Fprintf(w, "  %s\n", c)
		}
		printLacks(w, p)
		if p.Unmoved != nil {
			fmt.Fprintf(w, "  without %s: %s\n", p.Unmoved.Options, explained(p.Unmoved.Reason, p.Unmoved.Hint))
		}
	}
	fmt.Fprintln(w, "\nMETER\tLEVEL\tSTATE")
	for _, m := range d.Meters {
		state := "ready"
		if !m.Available {
			state = m.Reason
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", m.Name, m.Level, state)
	}
	fmt.Fprintln(w, "\nPROGRAM\tVERSION\tPACKAGE")
	for _, p := range d.Programs {
		if len(p.For) == 1 && p.For[0] == host.Tests {
			continue
		}
		version := cmp.Or(p.Problem, p.Version, "installed")
		fmt.Fprintf(w, "%s\t%s\t%s\n", p.Name, version, strings.ReplaceAll(p.Package, "|", " or "))
	}
	fmt.Fprintln(w, "\nHOST\t")
	for _, l := range d.Host.Lines() {
		fmt.Fprintf(w, "%s\t%s\n", l.Name, l.Value)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout)
	for _, c := range d.Host.Caveats {
		fmt.Fprintf(a.stdout, "! %s\n", c)
	}
	return nil
}

// lacks are the variants that this host cannot run. Options that exclude each
// other are no fault of the host's.
func lacks(a bench.Availability) []lackState {
	var list []lackState
	for _, l := range a.Lacks {
		if !errors.Is(l.Err, bench.ErrInvalid) {
			list = append(list, lackState{strings.Trim(bench.PlatformRef{Options: l.With}.String(), "[]"), bench.Reason(l.Err), bench.HintOf(l.Err)})
		}
	}
	return list
}

// printLacks has a line for each variant, or for all of a nesting, the outer
// platform's own being explained there.
func printLacks(w io.Writer, p platformState) {
	var own []string
	for _, l := range p.Lacks {
		if _, outer := bench.OuterOption(l.Options); !outer {
			own = append(own, l.Options)
		}
	}
	if strings.Contains(p.Name, "@") {
		if len(own) > 0 {
			fmt.Fprintf(w, "  without %s\n", strings.Join(own, ", "))
		}
		return
	}
	for _, l := range p.Lacks {
		fmt.Fprintf(w, "  without %s: %s\n", l.Options, explained(strings.TrimPrefix(l.Reason, l.Options+": "), l.Hint))
	}
}

// explained is a reason and what to do about it, in one line.
func explained(reason, hint string) string {
	if hint == "" {
		return reason
	}
	return reason + "; " + hint
}

// nestingsLike names all nestings in the outer platform of p that lack what it lacks.
func nestingsLike(all []platformState, p platformState) string {
	inner, outer, _ := strings.Cut(p.Name, "@")
	names := []string{inner}
	for _, q := range all {
		in, out, nested := strings.Cut(q.Name, "@")
		if nested && in != inner && out == outer && q.Reason == p.Reason && q.Untried == p.Untried {
			names = append(names, in)
		}
	}
	return strings.Join(names, "|") + "@" + outer
}

// meters tries every meter that needs no instance; those of instances read the
// same kernel files, which exist wherever instances do.
func meters(ctx context.Context) []meterState {
	var states []meterState
	add := func(name, level string, err error) {
		s := meterState{Name: name, Level: level, Available: err == nil}
		if err != nil {
			s.Reason = strings.TrimPrefix(bench.Reason(err), "power meter "+name+": ")
		}
		states = append(states, s)
	}
	rs, err := meter.OpenHost()
	for _, r := range rs {
		err = r.Read(make([]float64, len(r.Columns())))
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
	_, err = agentPath()
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
