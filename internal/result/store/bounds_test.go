package store

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
)

// What is meddled with is refused as it is read, at once, with the place and a hint.
func TestBoundsOfAFolder(t *testing.T) {
	repeated := func(n int, item string) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }
	outcome := func(field string) string { // as an added last field counts
		return `{"trial":"b01-t01","block":1,"scene":"cpu/native","status":"done","window":[1,2],` + field + `}` + "\n"
	}
	for name, c := range map[string]struct{ file, old, to, says string }{
		"blocks without end":     {planFile, `"blocks": 3`, `"blocks": 2000000000, "rest": 5000000000`, "2000000000 blocks"},
		"no blocks":              {planFile, `"blocks": 3`, `"blocks": -3`, "-3 blocks"},
		"a rest below nothing":   {planFile, `"blocks": 3`, `"blocks": 3, "rest": -1`, "a rest of -1 ns"},
		"a margin below nothing": {planFile, `"margin": 0`, `"margin": -1`, "a margin of -1"},
		"a margin without end":   {planFile, `"margin": 0`, `"margin": 1e300`, "a margin of 1e+300"},
		"looks without end": {planFile, `"margin": 0`, `"margin": 0, "until": {"interval": 0.1, "min": 1, "max": 3, "looks": [` + repeated(5000, "2") + `]}`,
			"looks of the stopping rule"},
		"a rule of no blocks":   {planFile, `"margin": 0`, `"margin": 0, "until": {"interval": 0.1, "min": -1, "max": 3}`, "a stopping rule of"},
		"a kind of its own":     {planFile, `"kind": "one"`, `"kind": "\"><script>"`, "kind"},
		"trials of no block":    {planFile, `"block": 1`, `"block": 9`, "block 9 of 3"},
		"two scenes of one id":  {planFile, `"scenes": [`, `"scenes": [{"id": "cpu/native", "kind": "one"},`, "is there twice"},
		"scenes without end":    {planFile, `"scenes": [`, `"scenes": [` + strings.Repeat("{},", maxObjects), "objects are too many"},
		"brackets without end":  {hostFile, `{`, strings.Repeat("[", maxValues+1), "values are too many"},
		"a metric of its own":   {planFile, `"metrics": null`, `"metrics": {"cpu": [{"name": "m", "better": "red", "combine": "sum"}]}`, "better"},
		"metrics without end":   {planFile, `"metrics": null`, `"metrics": {"cpu": [` + repeated(maxMetrics+1, `{"better": "lower"}`) + `]}`, "201 metrics"},
		"a resource of its own": {planFile, `"metrics": null`, `"metrics": null, "resources": {"cpu": "\"><script>"}`, "resource"},
		"platforms without end": {planFile, `"name": "native"`, strings.Repeat(`"name": "x", "on": {`, 3000) + `"name": "native"` + strings.Repeat("}", 3000), "at most 4096"},
		"a title without end":   {planFile, `"title": ""`, `"title": "` + strings.Repeat("x", maxName+1) + `"`, "is of 4097 bytes"},
		"a text without end":    {hostFile, `"hostname": ""`, `"hostname": "` + strings.Repeat("x", maxString+1) + `"`, "a text of 65537 bytes"},
		"power without end":     {headerFile, `"run": "r1"`, `"run": "r1", "power": [{"name": "m", "every_s": 1e300}]`, "out of all measure"},

		"trials of no plan":          {trialsFile, `"trial":"b01-t01"`, `"trial":"b09-t09"`, `trial "b09-t09" is not in the plan`},
		"trials of another block":    {trialsFile, `"block":1`, `"block":2`, "is of block 1 in the plan, and of 2 here"},
		"actors of no scene":         {trialsFile, "", outcome(`"actors":[{"actor":"x"}]`), `actor "x" is not in the scene`},
		"a phase of its own":         {trialsFile, "", outcome(`"phases":[{"name":"x\"><script>"}]`), "phase"},
		"a time of no clock":         {trialsFile, `"window":[1,2]`, `"window":[1,9223372036854775807]`, "not a time of a monotonic clock"},
		"a window turned over":       {trialsFile, `"window":[1,2]`, `"window":[2,1]`, "before it begins"},
		"a result without end":       {trialsFile, "", outcome(`"values":[{"metric":"m","value":1.7e308}]`), "out of all measure"},
		"a result next to nothing":   {trialsFile, "", outcome(`"values":[{"metric":"m","value":5e-324}]`), "out of all measure"},
		"a refusal's level":          {trialsFile, "", outcome(`"refused":[{"level":"x\"><script>"}]`), "level"},
		"a crowd without end":        {trialsFile, "", outcome(`"density":{"steps":[{"instances":9000000000000000000}]}`), "step of the ramp"},
		"a pool below nothing":       {trialsFile, "", outcome(`"pool":{"used":-1}`), "pool"},
		"memory of a thousand hosts": {trialsFile, "", outcome(`"watch":{"available":9000000000000000000}`), "watch"},
		"actors without end":         {trialsFile, "", outcome(`"actors":[` + repeated(maxObjects+1, "{}") + `]`), "objects are too many"},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		w := create(t, dir)
		appendTrial(t, w, "b01-t01")
		w.Close()
		path := filepath.Join(dir, c.file)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		bad := strings.Replace(string(good), c.old, c.to, 1)
		if bad == string(good) || !strings.Contains(string(good), c.old) {
			t.Fatalf("%s: %s has no %s: %s", name, c.file, c.old, good)
		}
		if err := os.WriteFile(path, []byte(bad), 0o644); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		r, err := Open(dir)
		if err == nil {
			for _, err = range r.Outcomes() {
				if err != nil {
					break
				}
			}
			r.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.says) || !errors.Is(err, bench.ErrInvalid) || bench.HintOf(err) == "" || len(err.Error()) > 4<<10 {
			t.Errorf("%s: %.300v", name, err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: refused after %v", name, took)
		}
	}
}

// Files that are each within their bounds are together more than a folder may
// hold: it is refused before they are read, and also where one grows later.
func TestBoundOfTheWhole(t *testing.T) {
	defer func(most int64) { maxFolder = most }(maxFolder)
	dir := filepath.Join(t.TempDir(), "run")
	w := create(t, dir)
	appendTrial(t, w, "b01-t01")
	appendTrial(t, w, "b02-t02")
	w.Close()
	whole := int64(0)
	for _, name := range []string{trialsFile, "samples/b01-t01.jsonl", "samples/b02-t02.jsonl"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		whole += info.Size()
	}
	refused := func(what string, err error) {
		t.Helper()
		if says := "more than " + bench.Bytes(maxFolder).String() + " in trials.jsonl and samples together"; err == nil || !errors.Is(err, bench.ErrInvalid) ||
			!strings.Contains(err.Error(), says) || bench.HintOf(err) == "" {
			t.Errorf("%s: %v, want %q", what, err, says)
		}
	}
	maxFolder = whole
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	read := func() (err error) {
		for range 2 { // what is read again weighs no more
			for _, oerr := range r.Outcomes() {
				err = errors.Join(err, oerr)
			}
			for _, trial := range []string{"b01-t01", "b02-t02"} {
				err = errors.Join(err, r.Samples(trial, func(*bench.Sample) error { return nil }))
			}
		}
		return err
	}
	if err := read(); err != nil {
		t.Errorf("a folder of just so much: %v", err)
	}
	grown, err := os.OpenFile(filepath.Join(dir, "samples/b02-t02.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := grown.WriteString("{"); err != nil {
		t.Fatal(err)
	}
	grown.Close()
	refused("one that grew while it was read", read())
	_, err = Open(dir)
	refused("one of a byte more", err)
	_, _, err = OpenForResume(dir)
	refused("one to go on with", err)

	maxFolder = whole + 1
	w, _, err = OpenForResume(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	o := outcome("b03-t03", bench.Done)
	refused("one that would be too much with another trial", w.Append(t.Context(), o, someSamples(3), nil))
	if got := trials(t, w); got != "b01-t01:done b02-t02:done" {
		t.Error(got)
	}
}

// Nothing is written that could not be read again, and what is refused leaves nothing.
func TestAppendKeepsToTheBounds(t *testing.T) {
	w := create(t, filepath.Join(t.TempDir(), "run"))
	for name, change := range map[string]func(*bench.Outcome, []bench.Sample){
		"level":   func(_ *bench.Outcome, s []bench.Sample) { s[1].Level = "galaxy" },
		"reading": func(_ *bench.Outcome, s []bench.Sample) { s[1].Values = map[string]float64{bench.ColMemUsed: 1.7e308} },
		"instant": func(_ *bench.Outcome, s []bench.Sample) { s[1].Guest = bench.MaxInstant + 1 },
		"actor":   func(_ *bench.Outcome, s []bench.Sample) { s[1].Actor = "nobody" },
		"result":  func(o *bench.Outcome, _ []bench.Sample) { o.Values = []bench.Value{{Metric: "m", Value: 1e19}} },
		"text":    func(o *bench.Outcome, _ []bench.Sample) { o.Error = strings.Repeat("x", maxString+1) },
		"line": func(o *bench.Outcome, _ []bench.Sample) {
			o.Warnings = make([]string, maxLine/maxString+1)
			for i := range o.Warnings {
				o.Warnings[i] = strings.Repeat("x", maxString)
			}
		},
	} {
		o, samples := outcome("b01-t01", bench.Done), someSamples(3)
		change(o, samples)
		if err := w.Append(t.Context(), o, samples, nil); err == nil {
			t.Errorf("%s: it was stored", name)
		}
	}
	appendTrial(t, w, "b01-t01")
	if got := trials(t, w); got != "b01-t01:done" {
		t.Error(got)
	}
}

// Text of no more bytes than a file may have takes no more memory than its objects and values may.
func TestCountJSON(t *testing.T) {
	for text, says := range map[string]string{
		`{"a":[1,2,{"b":"{[,\"{[,"}]}`:                  "",
		strings.Repeat("{", maxObjects):                 "",
		strings.Repeat("{", maxObjects+1):               "objects",
		strings.Repeat("[", maxValues+1):                "values",
		`"` + strings.Repeat("{", maxObjects+1) + `"`:   "",
		`"\"` + strings.Repeat("{", maxObjects+1) + `"`: "",
		`"\\"` + strings.Repeat("{", maxObjects+1):      "objects",
		`"never ends` + strings.Repeat(",", maxValues):  "",
	} {
		err := countJSON([]byte(text))
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%.40s: %v", text, err)
		}
		if err != nil && json.Valid([]byte(text)) && len(text) < maxObjects {
			t.Errorf("%.40s: a small text is refused", text)
		}
	}
}

// A series of an actor is bounded like all else.
func TestBoundOfASeries(t *testing.T) {
	a := bench.ActorOutcome{Role: bench.Subject, Series: []bench.Series{{Metric: "iops", Step: 0.1, Values: []float64{1, 2}}}}
	if err := boundActor(&a); err != nil {
		t.Error(err)
	}
	a.Series[0].Step = 0
	if err := boundActor(&a); err == nil || !strings.Contains(err.Error(), "a step of 0 s") {
		t.Errorf("a series of no time: %v", err)
	}
	a.Series[0] = bench.Series{Metric: strings.Repeat("x", maxName+1), Step: 1, Values: []float64{1}}
	if err := boundActor(&a); err == nil || !strings.Contains(err.Error(), "at most 4096") {
		t.Errorf("a name without end: %.200v", err)
	}
}
