package workload

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tare/internal/bench"
)

func TestCommandSteps(t *testing.T) {
	w := command{}
	p := fill(t, w, bench.Params{
		"argv": `["./run.sh", 3]`, "env": `{"N": 4, "FAST": true}`, "files": `["/home/me/run.sh"]`,
		"warmup": `["./run.sh", 1]`, "timeout": "30s", "ok-exit": "[0, 3]",
	})
	steps, err := w.Steps(bench.SubjectPart, p, setting())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(steps.Main.Argv, []string{"./run.sh", "3"}) || steps.Main.Dir != "/scratch" || steps.Main.Timeout != 30*time.Second {
		t.Errorf("main %+v", steps.Main)
	}
	if !maps.Equal(steps.Main.Env, map[string]string{"N": "4", "FAST": "true"}) {
		t.Errorf("environment %v", steps.Main.Env)
	}
	if len(steps.Files) != 1 || steps.Files[0].Path != "/scratch/run.sh" || steps.Files[0].HostPath != "/home/me/run.sh" {
		t.Errorf("files %+v", steps.Files)
	}
	if len(steps.Warm) != 1 || !slices.Equal(steps.Warm[0].Argv, []string{"./run.sh", "1"}) {
		t.Errorf("warm-up %+v", steps.Warm)
	}
	if !slices.Equal(steps.OKExit, []int{0, 3}) {
		t.Errorf("exits %v", steps.OKExit)
	}
}

func TestCommandMetrics(t *testing.T) {
	w := command{}
	for metrics, want := range map[string]string{
		`[]`: "wall lower mean headline",
		`[{"name":"a","better":"higher","json":"x"}]`: "a higher sum headline, wall lower mean",
		`[{"name":"a","better":"lower","json":"x"},{"name":"b","better":"higher","combine":"max","regex":"(x)","headline":true}]`: "a lower mean, b higher max headline, wall lower mean",
	} {
		got, err := w.Metrics(fill(t, w, bench.Params{"argv": `["x"]`, "metrics": metrics}))
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, m := range got {
			text := m.Name + " " + string(m.Better) + " " + string(m.Combine)
			if m.Headline {
				text += " headline"
			}
			list = append(list, text)
		}
		if text := strings.Join(list, ", "); text != want {
			t.Errorf("%s: %s, want %s", metrics, text, want)
		}
	}
}

func TestCommandParse(t *testing.T) {
	w := command{}
	p := fill(t, w, bench.Params{"argv": `["fio"]`, "metrics": `[
		{"name":"iops","better":"higher","json":"jobs[0].read.iops"},
		{"name":"p99","better":"lower","json":"jobs[0].read.clat_ns.percentile[\"99.000000\"]"},
		{"name":"first","better":"lower","regex":"^took (\\S+) s$","from":"stderr"}]`})
	values, err := w.Parse(p, setting(), bench.Output{
		Stdout: captured(t, "fio-read.json"), Stderr: []byte("start\ntook 1.25 s\ntook 9 s\n"), Wall: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	checkValues(t, w, p, values)
	for metric, want := range map[string]float64{"iops": 22150.566289, "p99": 43776, "first": 1.25, "wall": 3} {
		if got := value(t, values, metric); got != want {
			t.Errorf("%s is %v, want %v", metric, got, want)
		}
	}
}

func TestCommandParseRefuses(t *testing.T) {
	w := command{}
	const metric = `[{"name":"m","better":"higher",`
	for _, c := range []struct {
		name    string
		metrics string
		okExit  string
		out     bench.Output
		says    []string
	}{
		{"no such key", metric + `"json":"a.c.d"}]`, "", bench.Output{Stdout: []byte(`{"a": {"b": 1}}`)},
			[]string{`metric "m"`, "a.c.d: not there; a has the keys b", `{\"a\": {\"b\": 1}}`}},
		{"no such position", metric + `"json":"a[2]"}]`, "", bench.Output{Stdout: []byte(`{"a": [1, 2]}`)}, []string{"a[2]", "a is a list of 2"}},
		{"a path into a number", metric + `"json":"a.b"}]`, "", bench.Output{Stdout: []byte(`{"a": 5}`)}, []string{"a is 5"}},
		{"a text", metric + `"json":"a"}]`, "", bench.Output{Stdout: []byte(`{"a": "5"}`)}, []string{`not a number: "\"5\""`}},
		{"null", metric + `"json":"a"}]`, "", bench.Output{Stdout: []byte(`{"a": null}`)}, []string{`not a number: "null"`}},
		{"not JSON", metric + `"json":"a"}]`, "", bench.Output{Stdout: []byte("oops")}, []string{"not JSON", `"oops"`}},
		{"two JSON values", metric + `"json":"a"}]`, "", bench.Output{Stdout: []byte("{\"a\": 1}\n{\"a\": 2}\n")}, []string{"more than one JSON value"}},
		{"out of range", metric + `"json":"a"}]`, "", bench.Output{Stdout: []byte(`{"a": 1e999}`)}, []string{`"1e999": not a number`}},
		{"no match", metric + `"regex":"took (.*)"}]`, "", bench.Output{Stdout: []byte("gave 3")}, []string{"regex `took (.*)`: no match in \"gave 3\""}},
		{"no number", metric + `"regex":"took (.*)"}]`, "", bench.Output{Stdout: []byte("took inf")}, []string{`"inf": not a number`}},
		{"exit status", "[]", "", bench.Output{Exit: 3, Stderr: []byte("no luck")}, []string{"exit status 3", `"no luck"`}},
		{"0 is not a success", "[]", "[1]", bench.Output{}, []string{"exit status 0 is not among [1]"}},
		{"a signal is never a success", "[]", "[137]", bench.Output{Exit: 137, Signal: "killed"}, []string{"signal killed"}},
		{"timed out", "[]", "[137]", bench.Output{Exit: 137, Signal: "killed", TimedOut: true}, []string{"deadline"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			given := bench.Params{"argv": `["prog"]`, "metrics": c.metrics}
			if c.okExit != "" {
				given["ok-exit"] = c.okExit
			}
			c.out.Wall = time.Second
			_, err := w.Parse(fill(t, w, given), setting(), c.out)
			wantError(t, err, append(c.says, "prog: ")...)
		})
	}
	if _, err := w.Parse(fill(t, w, bench.Params{"argv": `["prog"]`, "ok-exit": "[3]"}), setting(), bench.Output{Exit: 3, Wall: time.Second}); err != nil {
		t.Errorf("exit status 3 was allowed: %v", err)
	}
}

// A path to any number of any document leads to it, however odd the keys.
func TestJSONPathFindsEveryNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const want = 42.5
		var node any = want
		var path jsonPath
		for range rapid.IntRange(1, 5).Draw(t, "depth") {
			if rapid.Bool().Draw(t, "list") {
				list := make([]any, rapid.IntRange(1, 4).Draw(t, "length"))
				at := rapid.IntRange(0, len(list)-1).Draw(t, "at")
				list[at] = node
				node, path = list, append(jsonPath{{index: at, list: true}}, path...)
				continue
			}
			key := rapid.String().Draw(t, "key")
			node, path = map[string]any{key: node, key + "x": nil}, append(jsonPath{{key: key}}, path...)
		}
		text, err := json.Marshal(node)
		if err != nil {
			t.Fatal(err)
		}
		read, err := parseJSONPath(path.String())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := read.number(text); err != nil || got != want {
			t.Errorf("%s in %s: %v, %v", path, text, got, err)
		}
	})
}

func TestJSONPathRefuses(t *testing.T) {
	for _, text := range []string{"", ".", ".a", "a.", "a..b", "a[", "a[-1]", "a[x]", `a["b]`, `a["b"`, "a]b", "a[0]b", `a"b`, "[99999999999]"} {
		if path, err := parseJSONPath(text); err == nil {
			t.Errorf("%q is %v", text, path)
		}
	}
}

func FuzzJSONPath(f *testing.F) {
	f.Add("jobs[0].read.iops", captured(f, "fio-read.json"))
	f.Add(`jobs[0].read.clat_ns.percentile["99.000000"]`, captured(f, "fio-read.json"))
	f.Add("a.b", []byte(`{"a": {"b": 1}}`))
	f.Fuzz(func(t *testing.T, text string, document []byte) {
		path, err := parseJSONPath(text)
		if err != nil {
			return
		}
		again, err := parseJSONPath(path.String())
		if err != nil || again.String() != path.String() {
			t.Errorf("%q is written %q, which reads as %v, %v", text, path, again, err)
		}
		if _, err := path.number(document); err != nil && err.Error() == "" {
			t.Error("an error that says nothing")
		}
	})
}

func FuzzCommandMetrics(f *testing.F) {
	f.Add(`[{"name":"a","better":"higher","json":"jobs[0].read.iops"}]`, captured(f, "fio-read.json"))
	f.Add(`[{"name":"a","better":"lower","regex":"avg: +(.*)"}]`, captured(f, "sysbench.txt"))
	f.Fuzz(func(t *testing.T, metrics string, stdout []byte) {
		w := command{}
		p, err := Fill(w, bench.Params{"argv": `["x"]`, "metrics": metrics})
		if err != nil {
			return
		}
		if values, err := w.Parse(p, setting(), bench.Output{Stdout: stdout, Wall: time.Second}); err == nil {
			checkValues(t, w, p, values)
		}
	})
}
