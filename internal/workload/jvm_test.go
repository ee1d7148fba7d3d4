package workload

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
)

// jvmSetting is that of the capture.
func jvmSetting() bench.Setting {
	s := setting()
	s.Timing = bench.Timing{Warmup: 5 * time.Second, Measure: 5 * time.Second}
	return s
}

func TestJVMSteps(t *testing.T) {
	w := jvm{}
	steps, err := w.Steps(bench.SubjectPart, fill(t, w, bench.Params{"collector": "g1"}), jvmSetting())
	if err != nil {
		t.Fatal(err)
	}
	want := "java -Xms268435456 -Xmx268435456 -Xmn67108864 -XX:+AlwaysPreTouch -XX:+UseG1GC -XX:ActiveProcessorCount=2 -XX:-UsePerfData " +
		"-cp /scratch Warehouses 2 5000 5000 100"
	if got := strings.Join(steps.Main.Argv, " "); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := strings.Join(steps.Prepare[0].Argv, " "); !strings.HasSuffix(got, "-d /scratch /scratch/Warehouses.java") || !strings.Contains(got, "-J-XX:ActiveProcessorCount=2") {
		t.Errorf("prepared by %q", got)
	}
	small, none := jvmSetting(), jvmSetting()
	small.Shape.Memory, none.Timing.Measure = 256*bench.MiB, 0
	for _, c := range []struct {
		given bench.Params
		s     bench.Setting
		says  string
	}{
		{nil, small, "a heap of 256 MiB needs 512 MiB of memory and the instance has 256 MiB"},
		{bench.Params{"warehouses": "16"}, jvmSetting(), "256 MiB: 16 warehouses need at least 272 MiB"},
		{nil, none, "measuring time of 0s"},
	} {
		_, err := w.Steps(bench.SubjectPart, fill(t, w, c.given), c.s)
		wantError(t, err, c.says)
		if !errors.Is(err, bench.ErrInvalid) {
			t.Errorf("%v is not ErrInvalid", err)
		}
	}
	for name, text := range map[string]string{"warehouses": "0", "heap": "31MiB", "collector": "zgc"} {
		_, err := Fill(w, bench.Params{name: text})
		wantError(t, err, text)
	}
}

func TestJVMParse(t *testing.T) {
	w := jvm{}
	p, out := fill(t, w, nil), bench.Output{Stdout: captured(t, "jvm.txt")}
	values, err := w.Parse(p, jvmSetting(), out)
	if err != nil {
		t.Fatal(err)
	}
	checkValues(t, w, p, values)
	t.Log(values)
	hs, err := w.Histograms(p, jvmSetting(), out)
	checkHistograms(t, hs, err)
	for _, b := range hs[0].Bins {
		if width := b.High - b.Low; width > 1 && float64(width)/float64(b.Low) > 1./128 {
			t.Errorf("bin %+v is wider than 0.8 %%", b)
		}
	}
}

func TestJVMParseRefuses(t *testing.T) {
	w := jvm{}
	good := captured(t, "jvm.txt")
	change := func(old, new string) []byte {
		if !bytes.Contains(good, []byte(old)) {
			t.Fatalf("no %q in the capture", old)
		}
		return bytes.Replace(good, []byte(old), []byte(new), 1)
	}
	for says, out := range map[string]bench.Output{
		"the result is wrong: \"orders have 3 lines, 2":  {Stdout: change("books balance", "books orders have 3 lines, 2 were taken from stock")},
		`"books": found 0 times`:                         {Stdout: change("books balance", "")},
		"no garbage was collected in":                    {Stdout: replaceLine(good, "collecting ", "collecting 0 ms")},
		"garbage was collected for 90000 ms":             {Stdout: replaceLine(good, "collecting ", "collecting 90000 ms")},
		`seconds: "x": not a number`:                     {Stdout: replaceLine(good, "seconds ", "seconds x")},
		"nothing was done in the window":                 {Stdout: replaceLine(good, "transactions ", "transactions 0")},
		"transactions in the bins, 7 in all":             {Stdout: replaceLine(good, "transactions ", "transactions 7")},
		`line "bin 1 2\n": not a bin`:                    {Stdout: replaceLine(good, "bin ", "bin 1 2")},
		`"x" is not a whole number`:                      {Stdout: replaceLine(good, "bin ", "bin 1 x 3")},
		"cannot be":                                      {Stdout: replaceLine(good, "bin ", "bin 2 1 3")},
		`most: "-1" is not a time`:                       {Stdout: replaceLine(good, "most ", "most -1")},
		"exit status 1: it printed \"java.lang.OutOfMem": {Exit: 1, Stderr: []byte("java.lang.OutOfMemoryError: Java heap space")},
		"killed at its deadline":                         {TimedOut: true},
	} {
		_, err := w.Parse(fill(t, w, nil), jvmSetting(), out)
		wantError(t, err, says)
	}
}

// replaceLine puts another line in the place of the first that begins with prefix.
func replaceLine(text []byte, prefix, line string) []byte {
	var b []byte
	done := false
	for l := range bytes.Lines(text) {
		if !done && bytes.HasPrefix(l, []byte(prefix)) {
			l, done = []byte(line+"\n"), true
		}
		b = append(b, l...)
	}
	return b
}

func FuzzJVMParse(f *testing.F) {
	f.Add(captured(f, "jvm.txt"))
	f.Fuzz(func(t *testing.T, stdout []byte) {
		w := jvm{}
		p, out := fill(t, w, nil), bench.Output{Stdout: stdout}
		values, err := w.Parse(p, jvmSetting(), out)
		if err != nil {
			return
		}
		checkValues(t, w, p, values)
		hs, err := w.Histograms(p, jvmSetting(), out)
		checkHistograms(t, hs, err)
	})
}
