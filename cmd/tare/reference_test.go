package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tare/internal/app/planning"
	"tare/internal/app/site"
	"tare/internal/bench"
	"tare/internal/meter/power"
	"tare/internal/spec/builtin"
	"tare/internal/workload"
)

var update = flag.Bool("update", false, "write the pages of docs/reference anew")

// TestReferencePages holds the pages of docs/reference to the program's own
// tables. With -update it writes them.
func TestReferencePages(t *testing.T) {
	a := &app{site: &site.Site{Dir: "/var/lib/tare"}}
	for name, lines := range map[string][]string{
		"commands": commandPage(a), "platforms": platformPage(a.catalog()), "workloads": workloadPage(t),
		"experiments": experimentPage(), "meters": meterPage(), "exit-status": exitPage(),
	} {
		path := filepath.Join("../../docs/reference", name+".md")
		want := strings.Join(lines, "\n") + "\n"
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("%s is not what the program says (%v); go test ./cmd/tare -run ReferencePages -update writes it anew", path, err)
		}
	}
}

// made is said at the head of each page.
const made = "Written by `go test ./cmd/tare -run ReferencePages -update` from the program's own tables. A test fails where they differ."

// head begins a page.
func head(title, about string) []string {
	return slices.Concat([]string{"# " + title, ""}, wrapped("", "", about), []string{""}, wrapped("", "", made))
}

// item is one point of a list.
func item(text string) []string { return wrapped("- ", "  ", text) }

// wrapped breaks a text into lines of at most 100 characters, and none within a pair of `.
func wrapped(first, rest, text string) []string {
	var lines []string
	line := first
	words := 0
	parts := strings.Split(text, "`")
	for i := 1; i < len(parts); i += 2 {
		parts[i] = strings.ReplaceAll(parts[i], " ", "\x00")
	}
	for _, word := range strings.Fields(strings.Join(parts, "`")) {
		if words > 0 && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > 100 {
			lines = append(lines, line)
			line, words = rest, 0
		}
		if words > 0 {
			line += " "
		}
		line += word
		words++
	}
	lines = append(lines, line)
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], "\x00", " ")
	}
	return lines
}

// asCode are words as code, with a comma between.
func asCode(words []string) string { return "`" + strings.Join(words, "`, `") + "`" }

// sentence is a summary with a capital and a stop.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

func commandPage(a *app) []string {
	page := head("Commands", "Every verb and its flags, as `tare VERB --help` tells them.")
	var add func(*cobra.Command)
	add = func(c *cobra.Command) {
		if c.Hidden {
			return
		}
		about := c.Long
		if about == "" {
			about = sentence(c.Short)
		}
		page = append(page, "", "## "+c.CommandPath(), "", "```text", about, "```")
		if c.HasParent() {
			page = append(append(page, ""), wrapped("", "", "Usage: `"+c.UseLine()+"`")...)
			page = append(page, flagLines(c)...)
		}
		for _, sub := range c.Commands() {
			add(sub)
		}
	}
	add(a.command())
	return page
}

func flagLines(c *cobra.Command) []string {
	lines := []string{""}
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		kind, usage := pflag.UnquoteUsage(f)
		if kind != "" {
			name += " " + kind
		}
		text := "`" + name + "`: " + usage
		if f.DefValue != "" && !slices.Contains([]string{"false", "0", "0s", "[]"}, f.DefValue) {
			text += " (`" + f.DefValue + "` if not given)"
		}
		lines = append(lines, item(text)...)
	})
	if len(lines) == 1 {
		return nil
	}
	return lines
}

func platformPage(c planning.Catalog) []string {
	page := head("Platforms", "The names and options of `tare list platforms`. The first value of an option holds where it is not named. "+
		"Every platform takes `as=WORD`, which makes it a platform of its own under a second name. [What is measured on each](../DRIVERS.md).")
	for _, p := range c.Platforms() {
		page = append(page, "", "## "+p.Name(), "")
		page = append(page, wrapped("", "", sentence(p.Summary()))...)
		for i, o := range p.Options() {
			if i == 0 {
				page = append(page, "")
			}
			page = append(page, item("`"+o.Name+"="+strings.Join(o.Values, "|")+"`: "+o.Doc)...)
		}
	}
	page = append(page, "", "## Nestings", "", "Written INNER@OUTER, each with its own options in brackets.", "")
	for _, outer := range c.Outers("") {
		var inner []string
		for _, p := range c.Platforms() {
			if slices.Contains(c.Outers(p.Name()), outer) {
				inner = append(inner, p.Name())
			}
		}
		page = append(page, item("in `"+outer+"`: "+asCode(inner))...)
	}
	return page
}

func workloadPage(t *testing.T) []string {
	page := head("Workloads and metrics", "The names and parameters of `tare list workloads`, and what each workload tells. "+
		"Of several subjects a *sum* is added up, a *mean* averaged, a *merge* made of all requests together, a *max* the worst one's.")
	for _, w := range workload.All() {
		page = append(page, "", "## "+w.Name(), "")
		page = append(page, wrapped("", "", sentence(w.Summary()))...)
		page = append(append(page, ""), wrapped("", "", "Resource: "+w.Resource()+". Programs: "+programs(w)+".")...)
		if params := w.Params(); len(params) > 0 {
			page = append(page, "", "Parameters:", "")
			for _, p := range params {
				page = append(page, item(paramText(p))...)
			}
		}
		page = append(page, metricLines(metricsOf(t, w))...)
	}
	page = append(page, "", "## Scenes without a workload, and what all have", "")
	page = append(page, wrapped("", "", "What a launch, a ramp and a move tell is measured by Tare itself.")...)
	for _, of := range []struct {
		title   string
		metrics []bench.Metric
	}{
		{"Start-up", bench.StartupMetrics}, {"A ramp", bench.RampMetrics}, {"A live migration", bench.MigrationMetrics},
		{"A checkpoint", bench.CheckpointMetrics}, {"What an instance adds to the disk", bench.StoredMetrics},
	} {
		page = append(append(page, "", "### "+of.title), metricLines(of.metrics)...)
	}
	return page
}

func programs(w bench.Workload) string {
	if len(w.Programs()) == 0 {
		return "yours"
	}
	return asCode(w.Programs())
}

func paramText(p bench.Param) string {
	text := "`" + p.Name + "` (" + string(p.Kind)
	if len(p.Words) > 0 {
		text += ": " + asCode(p.Words)
	}
	switch {
	case p.Required:
		text += "; required"
	case p.Default != "":
		text += "; `" + p.Default + "` if not given"
	}
	return text + "): " + p.Doc
}

// metricsOf are what a workload tells, by whichever word its parameters take.
func metricsOf(t *testing.T, w bench.Workload) []bench.Metric {
	t.Helper()
	needed := bench.Params{}
	variants := []bench.Params{{}}
	for _, p := range w.Params() {
		switch {
		case p.Required && p.Kind == bench.KindJSON:
			needed[p.Name] = `["true"]`
		case p.Required:
			needed[p.Name] = "1"
		}
		for _, word := range p.Words {
			variants = append(variants, bench.Params{p.Name: word})
		}
		if p.Required && len(p.Words) > 0 {
			needed[p.Name] = p.Words[0]
		}
	}
	var all []bench.Metric
	for _, v := range variants {
		for name, text := range needed {
			if _, given := v[name]; !given {
				v[name] = text
			}
		}
		filled, err := workload.Fill(w, v)
		var needs *workload.ParamError
		if errors.As(err, &needs) && v[needs.Param] == "" { // what this word requires
			v[needs.Param] = "1"
			filled, err = workload.Fill(w, v)
		}
		if err != nil {
			t.Fatal(err)
		}
		metrics, err := w.Metrics(filled)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range metrics {
			if !slices.ContainsFunc(all, func(x bench.Metric) bool { return x.Name == m.Name && x.Doc == m.Doc }) {
				all = append(all, m)
			}
		}
	}
	return all
}

func metricLines(metrics []bench.Metric) []string {
	lines := []string{"", "Metrics:", ""}
	for _, m := range metrics {
		text := fmt.Sprintf("`%s` (%s", m.Name, m.Unit)
		if m.Combine != "" {
			text += ", " + string(m.Combine)
		}
		if m.Better != "" {
			text += fmt.Sprintf(", %s is better", m.Better)
		}
		if m.Headline {
			text += ", headline"
		}
		text += ")"
		if m.Doc != "" {
			text += ": " + m.Doc
		}
		lines = append(lines, item(text)...)
	}
	if len(metrics) == 0 {
		return []string{"", "It has no metrics."}
	}
	return lines
}

func experimentPage() []string {
	page := head("Experiments", "The built-in experiments of `tare list experiments`, which also tells the time that each would take on your host. "+
		"Their files are in `internal/spec/builtin`. [The published figures](../methodology/exhibits.md), one by one.")
	for _, e := range builtin.List() {
		page = append(page, "", "## "+e.Name, "")
		page = append(page, wrapped("", "", "*"+e.Title+"*")...)
		page = append(page, "", "```text", e.Doc, "```")
		if len(e.Covers) > 0 {
			page = append(append(page, ""), wrapped("", "", "Measures anew: "+byPaper(e.Covers)+".")...)
		}
	}
	return page
}

func meterPage() []string {
	page := head("Power meters", "The kinds of `tare list meters`, as `--power` takes them. [How to measure energy](../howto/energy.md), [all options](../SPEC.md#power-meters).")
	page = append(page, "")
	for _, k := range power.Kinds() {
		page = append(page, item("`"+k.Name+"`, such as `"+k.Example+"`: "+k.Doc+". Options: "+asCode(k.Options)+".")...)
	}
	return page
}

func exitPage() []string {
	page := head("Exit status", "As `tare --help` tells it. [The rules](../howto/exit-status.md), and what to do in a script.")
	return append(page, "", "```text", statusTable, "```")
}
