package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// conformance is what became of the platforms' suites: a row for each test that
// said "conformance of PLATFORM; VERSION; LABEL".
type conformance struct {
	rows []*suite
	by   map[string]*suite // by package and test
}

type suite struct {
	platform, version, label string
	state                    string // of the whole
	seconds                  float64
	passed, failed           int
	skipped                  []string
}

const announces = "conformance of "

// fake is the label of a program that stands in for one that cannot be had.
const fake = "a fake in its place"

// see takes notice of one event. reason is why a test was skipped.
func (c *conformance) see(e event, reason string) {
	top, sub, nested := strings.Cut(e.Test, "/")
	key := e.Package + " " + top
	if e.Action == "output" {
		_, said, ok := strings.Cut(e.Output, announces)
		if words := strings.Split(strings.TrimSpace(said), "; "); ok && !nested && len(words) == 3 {
			s := &suite{platform: words[0], version: words[1], label: words[2]}
			if c.by == nil {
				c.by = map[string]*suite{}
			}
			c.by[key] = s
			c.rows = append(c.rows, s)
		}
		return
	}
	s := c.by[key]
	switch {
	case s == nil:
	case !nested:
		if e.Action == "pass" || e.Action == "fail" || e.Action == "skip" {
			s.state, s.seconds = e.Action, e.Elapsed
		}
		if e.Action == "skip" {
			s.skipped = append(s.skipped, reason)
		}
	case strings.Contains(sub, "/"): // part of a case
	case e.Action == "pass":
		s.passed++
	case e.Action == "fail":
		s.failed++
	case e.Action == "skip":
		s.skipped = append(s.skipped, strings.ReplaceAll(sub, "_", " ")+": "+reason)
	}
}

// write prints the table and, below it, what was skipped; nothing if no suite ran.
func (c *conformance) write(w io.Writer) {
	if len(c.rows) == 0 {
		return
	}
	fmt.Fprintln(w)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "CONFORMANCE OF\tVERSION\tMEASURED\tSUITE\tCASES\tSKIPPED\tSECONDS")
	passed, real, seconds := 0, 0, 0.0
	for _, s := range c.rows {
		if s.state == "pass" && s.label != fake {
			passed++
			if s.label == "real" {
				real++
			}
		}
		seconds += s.seconds
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%d of %d\t%d\t%.1f\n", s.platform, s.version, s.label, s.state,
			s.passed, s.passed+s.failed, len(s.skipped), s.seconds)
	}
	tw.Flush()
	for _, s := range c.rows {
		for _, why := range s.skipped {
			fmt.Fprintf(w, "%s skips %s\n", s.platform, why)
		}
	}
	fmt.Fprintf(w, "%d platforms and variants pass, %d of them measured for real; %.0f s\n\n", passed, real, seconds)
}
