package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// figure is a promise and what was measured of it.
type figure struct {
	Part   string  `json:"part"`
	Name   string  `json:"name"`
	Target string  `json:"target"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	// Interval holds the true value with 95 % confidence; absent if none was worked out.
	Interval []float64 `json:"interval,omitempty"`
	Pass     bool      `json:"pass"`
	How      string    `json:"how"`
}

// atMost is a figure that must not exceed the limit.
func atMost(name string, value, limit float64, unit, how string) figure {
	return figure{Name: name, Target: fmt.Sprintf("<= %g %s", limit, unit), Value: value, Unit: unit, Pass: value <= limit, How: how}
}

func (f figure) measured() string {
	text := fmt.Sprintf("%.3g %s", f.Value, f.Unit)
	if len(f.Interval) == 2 {
		text = fmt.Sprintf("%.4f [%.4f, %.4f]", f.Value, f.Interval[0], f.Interval[1])
	}
	return text
}

// write prints the figures as a table or as JSON.
func write(w io.Writer, figures []figure, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(figures)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PART\tFIGURE\tTARGET\tMEASURED\t\tHOW")
	for _, f := range figures {
		verdict := "pass"
		if !f.Pass {
			verdict = "MISS"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", f.Part, f.Name, f.Target, f.measured(), verdict, f.How)
	}
	return t.Flush()
}
