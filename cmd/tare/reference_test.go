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
	"tare/internal/app/reproduce"
	"tare/internal/app/site"
	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/meter/power"
	"tare/internal/papers"
	"tare/internal/spec/builtin"
	"tare/internal/workload"
)

var update = flag.Bool("update", false, "write the pages of docs/reference anew")

// TestReferencePages holds the pages of docs/reference to the program's own
// tables. With -update it writes them.
func TestReferencePages(t *testing.T) {
	a := &app{site: &site.Site{Dir: "/var/lib/tare"}}
	states := reproduce.Experiments(a.catalog().Words())
	for name, lines := range map[string][]string{
		"commands": commandPage(a), "platforms": platformPage(a.catalog()), "workloads": workloadPage(t),
		"experiments": experimentPage(), "meters": meterPage(), "exit-status": exitPage(),
		"exhibits": exhibitPage(states), "claims": claimPage(),
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

// TestREADMECounts holds the counts of the README to the data. With -update it writes them.
func TestREADMECounts(t *testing.T) {
	var c planning.Catalog
	from := reproduce.Experiments(c.Words())
	var total []papers.State
	claims := 0
	for _, p := range papers.All()[:five] {
		states, n := statesOf(&p, from)
		total, claims = append(total, states...), claims+n
	}
	const begin, end, path = "<!-- exhibits -->\n", "<!-- /exhibits -->", "../../README.md"
	text := fmt.Sprintf("The %d exhibits of five papers, by how near the experiments come to each: %s ([all of them](docs/reference/exhibits.md)). Their %d claims, and more about today's platforms, are [tests](docs/reference/claims.md).",
		len(total), papers.Counts(total), claims)
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the counts", path)
	}
	want := before + begin + strings.Join(wrapped("", "", text), "\n") + "\n" + end + after
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(page) {
		t.Errorf("%s has other counts than the data: go test ./cmd/tare -run READMECounts -update writes them", path)
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
		"Their files are in `internal/spec/builtin`. [The published figures](exhibits.md), one by one.")
	for _, e := range builtin.List() {
		page = append(page, "", "## "+e.Name, "")
		page = append(page, wrapped("", "", "*"+e.Title+"*")...)
		page = append(page, "", "```text", e.Doc, "```")
		if shows := papers.ShownBy(e.Name); len(shows) > 0 {
			page = append(append(page, ""), wrapped("", "", "Shows: "+byPaper(shows)+".")...)
		}
	}
	return page
}

// five are the papers whose exhibits this program is made to reproduce, the first of all there are.
const five = 5

func exhibitPage(from papers.Experiments) []string {
	page := head("The papers' exhibits", "How near the built-in experiments come to every figure, table and number of the papers. `tare reproduce PAPER EXHIBIT` measures one anew. "+
		"States: *as published*, in program, factors, platforms, metric and scene; *narrower*, where some are missing; *stand-in*, another program for a like question; *not here*; *set-up*, where the paper measures nothing. "+
		"They are worked out from the data in `internal/papers/data` and the experiments: what an experiment lacks lowers them.")
	page = append(page, "", "All of ours differ from all of theirs in this: fresh launches in randomized blocks, where theirs repeat in a row; intervals, where theirs have bars; signed effects; a fairness audit; "+
		"one image on all platforms; an instance of one CPU, so that it fits a small host (`--set shape.cpus=`); fewer seconds for each launch (`--set timing.measure=`), because the launch is what repeats.")
	page = append(page[:len(page)-1], wrapped("", "", page[len(page)-1])...)
	page = append(page, "", "| paper | exhibits | claims |", "|---|---|---|")
	var total []papers.State
	claims := 0
	for i, p := range papers.All() {
		states, n := statesOf(&p, from)
		page = append(page, fmt.Sprintf("| [%s](#%s) | %s | %d |", p.ID, p.ID, papers.Counts(states), n))
		if i < five {
			total, claims = append(total, states...), claims+n
		}
		if i == five-1 {
			page = append(page, fmt.Sprintf("| *these five* | %d: %s | %d |", len(total), papers.Counts(total), claims))
		}
	}
	for _, p := range papers.All() {
		page = append(page, "", "## "+p.ID, "")
		about := p.Title + "."
		if len(p.Authors) > 0 {
			about += " " + strings.Join(p.Authors, ", ") + "."
		}
		for _, more := range []string{p.Venue, p.DOI, p.Machine} {
			if more != "" {
				about += " " + strings.TrimSuffix(more, ".") + "."
			}
		}
		page = append(append(page, wrapped("", "", about)...), "")
		for i := range p.Exhibits {
			x := &p.Exhibits[i]
			s := p.State(x, from)
			text := fmt.Sprintf("**%s** %s: *%s*", x.ID, x.Title, s.Kind)
			if by := x.Experiments(); len(by) > 0 {
				text += " by " + asCode(by)
			}
			if s.Instead != "" {
				text += "; " + s.Instead
			}
			if len(s.Missing) > 0 {
				text += "; " + strings.Join(s.Missing, "; ")
			}
			if len(x.Scale) > 0 {
				text += ". Of another size: " + strings.Join(x.Scale, "; ")
			}
			if len(s.Else) > 0 {
				text += ". Narrower on a host without the paper's platforms: " + strings.Join(s.Else, "; ")
			}
			page = append(page, item(strings.TrimSuffix(text, ".")+".")...)
		}
	}
	return page
}

// statesOf are the states of a paper's exhibits, and how many claims they make.
func statesOf(p *papers.Paper, from papers.Experiments) (states []papers.State, claims int) {
	for i := range p.Exhibits {
		states = append(states, p.State(&p.Exhibits[i], from))
		claims += len(p.Exhibits[i].Claims)
	}
	return states, claims
}

func claimPage() []string {
	page := head("Claims", "Every claim of the papers, and of a second shelf of statements about today's platforms, with its test. `tare reproduce` judges them on your host. [How to add one](../howto/claims.md).")
	for _, p := range papers.All() {
		page = append(page, "", "## "+p.ID)
		for _, x := range p.Exhibits {
			if len(x.Claims) == 0 {
				continue
			}
			page = append(append(page, ""), wrapped("", "", fmt.Sprintf("**%s** %s", x.ID, x.Title))...)
			page = append(page, "")
			for _, c := range x.Claims {
				text := c.Says + " `" + c.Test() + "`"
				if len(c.Size) > 0 {
					text += fmt.Sprintf(", published %s", numbers(c.Size))
				}
				if c.Void != "" {
					text += ". Not asked: " + c.Void
				}
				page = append(page, item(text)...)
			}
		}
	}
	return page
}

// numbers are one or two numbers: "0.89" or "0.8 to 0.9".
func numbers(n []float64) string {
	text := figure.Ratio(n[0])
	if len(n) > 1 {
		text += " to " + figure.Ratio(n[1])
	}
	return text
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
