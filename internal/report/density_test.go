package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
)

// dense is a case of two platforms, with a ramp each that memory ended, and two of a third.
func dense() result.Case {
	slope := func(of string, mid float64) result.Slope {
		return result.Slope{Of: of, Unit: "MiB", PerInstance: mid, Low: mid - 0.5, High: mid + 0.5, At0: 90}
	}
	ramp := func(block int, limit bench.Limit, n int, pss float64) result.DensityRamp {
		r := result.DensityRamp{Block: block, Density: bench.Density{Limit: limit, Why: "80 % of the host's memory were in use", Instances: n}}
		for _, k := range []int{n / 2, n} {
			r.Density.Steps = append(r.Density.Steps, bench.DensityStep{Instances: k, Merged: 3 << 20,
				Memory: map[string]float64{bench.DensityPSS: pss * float64(k) * float64(bench.MiB), bench.DensityUsed: float64(k-6) * float64(bench.MiB)}})
		}
		for i := range n {
			r.Starts = append(r.Starts, 400+float64(i))
		}
		return r
	}
	start, cpu, observer := slope("start", 1.25), slope("cpu", 0.00002), slope("observer", 0.00001)
	observer.At0 = 0.001
	cpu.Low, cpu.High = 0.00001, 0.00003
	few := result.Slope{Of: bench.DensityPSS, PerInstance: 0.77, Why: "only 1 block with a slope"}
	return result.Case{Name: "crowd", Title: "A crowd", Kind: bench.Ramped, Density: []result.DensityRow{
		{Platform: "docker", Memory: []result.Slope{slope(bench.DensityPSS, 9.25), slope(bench.DensityUsed, 6.5)}, Start: &start, CPU: &cpu, Observer: &observer,
			Ramps: []result.DensityRamp{ramp(1, bench.LimitCount, 10, 9), ramp(2, bench.LimitMemory, 8, 10)}},
		{Platform: "native", Memory: []result.Slope{few}, Ramps: []result.DensityRamp{ramp(1, bench.LimitCount, 10, 0.8)}},
	}}
}

func TestDensityInText(t *testing.T) {
	var b bytes.Buffer
	writeBlocks(&b, densityText(dense()))
	text := regexp.MustCompile(` +`).ReplaceAllString(b.String(), " ")
	for _, want := range []string{
		"docker 9.25 (8.75 to 9.75) – – 6.5 (6 to 7) 90", "native 0.77 – – – 0\n",
		"docker 8 to 10 count, memory 91.25 ms 1.25 (0.75 to 1.75) 0.0020 (0.0010 to 0.0030)",
		"0.11 at 10", "docker: samepage merging saves up to 3 MiB on the whole host", "docker: the ramp ended at 8 instances: 80 % of the host's memory",
		"MIB PER INSTANCE, MEAN PSS", "INSTANCES, MEANS", "The medians of the table above are",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for line := range strings.Lines(b.String()) {
		if n := len([]rune(line)); n > 141 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	b.Reset()
	if writeBlocks(&b, densityText(result.Case{})); b.Len() > 0 {
		t.Errorf("a case without ramps says %q", b.String())
	}
}

func TestDensityInHTML(t *testing.T) {
	var b bytes.Buffer
	if err := HTML(&b, &result.Result{Title: "t", Cases: []result.Case{dense()}}); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{"What one more instance takes", "8.75 to 9.75", "count, memory", "samepage merging saves 3 MiB", "Memory of the instances by PSS, MiB",
		"<b>docker:</b> the ramp ended at 8 instances", "mean of the blocks' slopes", "what serves it; means of the blocks", "lines through the means of the blocks",
		"The medians of the table above are over the same blocks."} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
	v := densityOf(func() result.Case { return dense() }())
	figures := v.Figures()
	dots := regexp.MustCompile(`<circle class="dot`)
	for i, want := range []int{6, 6, 28} { // two sizes of three ramps, those of the host below zero included; launches
		if n := len(dots.FindAllString(string(figures[i].Plot), -1)); n != want {
			t.Errorf("%s: %d points, want %d", figures[i].Title, n, want)
		}
		if len(figures[i].Legend) != 2 {
			t.Errorf("%s: legend %v", figures[i].Title, figures[i].Legend)
		}
	}
}
