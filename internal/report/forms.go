package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/report/chart"
)

// Forms is what an image took to make in each form, and its sizes.
type Forms struct {
	Digest          string
	Packages, Files int
	Bytes           bench.Bytes
	Forms           []Form
}

// Form is one of them.
type Form struct {
	Name, What   string
	From         string // the form it is made from, whose own time is not in Seconds
	Seconds      float64
	Size, OnDisk bench.Bytes
	Problem      string // why it was not made; "" if it was
	Command      string // that makes it again, "" for none
}

//go:embed forms.html
var formsText string

// published are the figures of tables 3 and 4 of sharma2016.
var published = []struct{ What, Vagrant, Docker, Increment string }{
	{"MySQL, time to build", "236.2 s", "129 s", ""},
	{"Nodejs, time to build", "303.8 s", "49 s", ""},
	{"MySQL, size", "1.68 GB", "0.37 GB", "112 KB"},
	{"Nodejs, size", "2.05 GB", "0.66 GB", "72 KB"},
}

// FormsHTML writes the forms as one page that needs nothing else.
func FormsHTML(w io.Writer, f Forms) error {
	t, err := template.New("forms").Parse(formsText)
	if err != nil {
		return fmt.Errorf("forms template: %w", err)
	}
	return t.Execute(w, map[string]any{
		"Style": template.CSS(styleText), "Image": f, "Published": published,
		"Times": f.bars("Seconds to make each form", "s", func(x Form) float64 { return x.Seconds }),
		"Sizes": f.bars("Mebibytes on the disk of each form", "MiB", func(x Form) float64 { return float64(x.OnDisk) / float64(bench.MiB) }),
	})
}

// Made reports whether the form could be made.
func (f Form) Made() bool { return f.Problem == "" }

// bars draws a quantity of each form that was made as a bar, all on one scale.
func (f Forms) bars(what, unit string, of func(Form) float64) template.HTML {
	var bars []chart.Bar
	for _, x := range f.Forms {
		if x.Made() {
			value := figure.Quantity(of(x), unit)
			bars = append(bars, chart.Bar{Name: x.Name + ", " + value, Parts: []chart.Part{{Class: "guest", Value: of(x), Title: value}}})
		}
	}
	return chart.Bars(what, "", bars)
}
