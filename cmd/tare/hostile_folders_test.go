package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/result/store/storetest"
)

// A tamperer changes a folder of results as an attacker might.
type tamperer func(f *hostileFolder)

// hostileFolder is a copy of a good folder, and a place elsewhere with a secret.
type hostileFolder struct {
	t              *testing.T
	dir, elsewhere string
}

const secret = "what-lies-elsewhere"

func (f *hostileFolder) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *hostileFolder) path(name string) string { return filepath.Join(f.dir, name) }

// files are those of a name or pattern.
func (f *hostileFolder) files(pattern string) []string {
	names, err := filepath.Glob(f.path(pattern))
	if err != nil || len(names) == 0 {
		f.t.Fatalf("%s: %v, %v", pattern, names, err)
	}
	return names
}

// edit passes the text of every file of the pattern through a function that must change one of them.
func (f *hostileFolder) edit(pattern string, change func(string) string) {
	f.t.Helper()
	changed := false
	for _, name := range f.files(pattern) {
		old, err := os.ReadFile(name)
		f.must(err)
		if len(old) == 0 {
			continue // nothing was sampled while it started
		}
		text := change(string(old))
		changed = changed || text != string(old)
		f.must(os.WriteFile(name, []byte(text), 0o644))
	}
	if !changed {
		f.t.Fatalf("nothing of %s was changed", pattern)
	}
}

// swap puts a text in the place of another wherever it is.
func swap(pattern, old, to string) tamperer {
	return func(f *hostileFolder) {
		f.edit(pattern, func(s string) string { return strings.ReplaceAll(s, old, to) })
	}
}

// whole puts a text in the place of a file.
func whole(pattern, text string) tamperer {
	return func(f *hostileFolder) { f.edit(pattern, func(string) string { return text }) }
}

// set gives every JSON field of the name in the files another value, which is JSON.
func set(pattern, field, value string) tamperer {
	return func(f *hostileFolder) {
		f.edit(pattern, func(s string) string {
			lines := []string{s}
			if strings.HasSuffix(pattern, ".jsonl") {
				lines = strings.Split(strings.TrimSuffix(s, "\n"), "\n")
			}
			for i, line := range lines {
				d := json.NewDecoder(strings.NewReader(line))
				d.UseNumber()
				var v any
				f.must(d.Decode(&v))
				text, err := json.Marshal(setField(v, field, json.RawMessage(value)))
				f.must(err)
				lines[i] = string(text) + "\n"
			}
			return strings.Join(lines, "")
		})
	}
}

func setField(v any, field string, to json.RawMessage) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			if k == field {
				v[k] = to
			} else {
				v[k] = setField(v[k], field, to)
			}
		}
	case []any:
		for i := range v {
			v[i] = setField(v[i], field, to)
		}
	}
	return v
}

// poisoned puts the markup into a field that holds text.
func poisoned(pattern, field string) tamperer { return set(pattern, field, quoted(markup)) }

func quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// added puts further fields into an object that begins with the text.
func added(pattern, begin, fields string) tamperer { return swap(pattern, begin, begin+fields+",") }

// enlarged gives a file another size, of which nothing is on the disk.
func enlarged(name string, size int64) tamperer {
	return func(f *hostileFolder) { f.must(os.Truncate(f.files(name)[0], size)) }
}

// linked puts a link to what lies elsewhere in the place of a file or folder.
func linked(name, to string) tamperer {
	return func(f *hostileFolder) {
		name := f.files(name)[0]
		f.must(os.RemoveAll(name))
		if !filepath.IsAbs(to) {
			to = filepath.Join(f.elsewhere, to)
		}
		f.must(os.Symlink(to, name))
	}
}

// piped puts a named pipe that nobody writes in the place of a file.
func piped(name string) tamperer {
	return func(f *hostileFolder) {
		name := f.files(name)[0]
		f.must(os.Remove(name))
		f.must(unix.Mkfifo(name, 0o644))
	}
}

const (
	samplesFiles = "samples/*.jsonl"
	trialsLines  = "trials.jsonl"
	leftOut      = "is left out"
)

// hostileFolders are the corpus. says is a text of the report, or of what is said
// in its place; "" is a report like any other.
var hostileFolders = []struct {
	name   string
	tamper tamperer
	says   string
}{
	// Markup, wherever a text comes from.
	{"level of samples", set(samplesFiles, "level", `"x\"/><script>document.documentElement.dataset.hit=1</script>"`), leftOut},
	{"actor of samples", set(samplesFiles, "actor", quoted(markup)), leftOut},
	{"meter of samples", set(samplesFiles, "meter", quoted(strings.TrimSuffix(markup, "\x1b[31m"))), ""},
	{"columns of samples", swap(samplesFiles, `"mem_used_bytes"`, quoted("mem_"+markup+"_bytes")), ""},
	{"parts in columns", swap(samplesFiles, `"cpu_busy_s"`, quoted("cpu_"+strings.TrimSuffix(markup, "\x1b[31m")+"_s")), ""},
	{"id of the run", poisoned("run.json", "run"), "not an id of a run"},
	{"version", poisoned("run.json", "tare"), ""},
	{"version in an unknown format", func(f *hostileFolder) {
		poisoned("run.json", "tare")(f)
		set("run.json", "format", `"tare-run/9"`)(f)
	}, "is not known to this version"},
	{"image", poisoned("run.json", "image"), ""},
	{"start of the run", poisoned("run.json", "started"), ""},
	{"versions of programs", set("run.json", "programs", `{`+quoted(markup)+`:`+quoted(markup)+`}`), ""},
	{"label of a platform", poisoned("run.json", "label"), ""},
	{"command line", set("run.json", "command", `[`+quoted(markup)+`]`), ""},
	{"power meters", added("run.json", `"format": "tare-run/2",`, `"power":[{"name":`+quoted(markup)+`,"of":`+quoted(markup)+`,"every_s":1}]`), ""},
	{"title", poisoned("plan.json", "title"), ""},
	{"question", poisoned("plan.json", "question"), ""},
	{"baseline", poisoned("plan.json", "baseline"), ""},
	{"units", poisoned("plan.json", "unit"), ""},
	{"warnings of the plan", set("plan.json", "warnings", `[`+quoted(markup)+`]`), ""},
	{"what was left out", set("plan.json", "skipped", `[{"platform":`+quoted(markup)+`,"reason":`+quoted(markup)+`,"hint":`+quoted(markup)+`}]`), ""},
	{"conditions", added("plan.json", `"kind": "one",`, `"conditions":{"thp":`+quoted(markup)+`}`), ""},
	{"kind of scenes", poisoned("plan.json", "kind"), "is none of"},
	{"roles", poisoned("*.json*", "role"), "is none of"},
	{"name of a platform everywhere", func(f *hostileFolder) {
		for _, file := range []string{"run.json", "plan.json", "trials.jsonl"} {
			swap(file, `docker`, strings.Trim(quoted(`do`+markup), `"`))(f)
		}
	}, ""},
	{"name of a case everywhere", func(f *hostileFolder) {
		for _, file := range []string{"plan.json", "trials.jsonl"} {
			swap(file, `"cpu`, `"`+strings.Trim(quoted(markup), `"`))(f)
		}
	}, ""},
	{"host", func(f *hostileFolder) {
		for _, field := range []string{"hostname", "os", "kernel", "cpu_model", "hypervisor", "governor", "filesystem", "thp"} {
			poisoned("host.json", field)(f)
		}
		set("host.json", "caveats", `[`+quoted(markup)+`]`)(f)
		set("host.json", "mitigations", `{`+quoted(markup)+`:`+quoted(markup)+`}`)(f)
	}, ""},
	{"failures", func(f *hostileFolder) {
		added(trialsLines, `{`, `"error":`+quoted(markup)+`,"hint":`+quoted(markup)+`,"phase":`+quoted(markup))(f)
	}, ""},
	{"all trials failed", func(f *hostileFolder) {
		set(trialsLines, "status", `"failed"`)(f)
		f.edit(trialsLines, func(s string) string {
			return strings.ReplaceAll(s, `"status":"failed"`, `"status":"failed","error":`+quoted(markup)+`,"hint":`+quoted(markup)+`,"phase":`+quoted(markup))
		})
	}, "failed"},
	{"versions in outcomes", poisoned(trialsLines, "version"), ""},
	{"caveats, facts and last words", added(trialsLines, `"role":"subject",`, `"caveats":[`+quoted(markup)+`],"label":`+quoted(markup)+`,"kernel":`+quoted(markup)+
		`,"facts":{"kernel":`+quoted(markup)+`,`+quoted(markup)+`:"x"},"unenforced":[`+quoted(markup)+`],"log":`+quoted(markup)), ""},
	{"warnings and refusals", swap(trialsLines, `{"trial"`, `{"warnings":[`+quoted(markup)+`],"refused":[{"level":"host","meter":`+quoted(markup)+`,"what":`+quoted(markup)+`}],"trial"`), ""},
	{"grid of histograms", poisoned(trialsLines, "grid"), ""},
	{"sources of start-up", poisoned(trialsLines, "source"), ""},
	{"specification", whole("spec.yaml", markup), ""},
	{"name of an actor", poisoned(trialsLines, "actor"), "is not in the scene"},

	// Numbers.
	{"a reading of 1.7e308", set(samplesFiles, "mem_used_bytes", `1.7e308`), leftOut},
	{"a reading of 5e-324", set(samplesFiles, "mem_used_bytes", `5e-324`), leftOut},
	{"a reading at the bound", set(samplesFiles, "mem_used_bytes", `1152921504606846976`), ""},
	{"a negative reading", set(samplesFiles, "mem_used_bytes", `-1e17`), ""},
	{"a reading of 1e999", set(samplesFiles, "cpu_busy_s", `1e999`), leftOut},
	{"instants at the end of time", set(samplesFiles, "at", `9223372036854775807`), leftOut},
	{"instants apart", set(samplesFiles, "late", `2305843009213693952`), ""},
	{"values of 1.7e308", set(trialsLines, "value", `1.7e308`), "out of all measure"},
	{"values of 5e-324", set(trialsLines, "value", `5e-324`), "out of all measure"},
	{"values of 1e30", set(trialsLines, "value", `1e30`), "out of all measure"},
	{"values of 0", set(trialsLines, "value", `0`), ""},
	{"values below 0", set(trialsLines, "value", `-1e30`), "out of all measure"},
	{"values of the least and the most", func(f *hostileFolder) {
		f.edit(trialsLines, func(s string) string {
			lines := strings.SplitAfter(s, "\n")
			for i, l := range lines[:len(lines)-1] {
				var o map[string]any
				f.must(json.Unmarshal([]byte(l), &o))
				b, err := json.Marshal(setField(o, "value", json.RawMessage([]string{"1e30", "1e-30"}[i%2])))
				f.must(err)
				lines[i] = string(b) + "\n"
			}
			return strings.Join(lines, "")
		})
	}, "out of all measure"},
	{"a window without end", set(trialsLines, "window", `[0,2305843009213693952]`), "not a time of a monotonic clock"},
	{"a window that ends before it begins", set(trialsLines, "window", `[2,1]`), "before it begins"},
	{"phases without end", set(trialsLines, "end", `2305843009213693952`), "not a time of a monotonic clock"},
	{"blocks without end", set("plan.json", "blocks", `1000000000`), "at most 1000"},
	{"blocks without end with rests", added("plan.json", `"experiment": "synthetic",`, `"rest":1,"blocks":1000000000`), ""},
	{"looks without end", added("plan.json", `"experiment": "synthetic",`, `"until":{"interval":0.03,"min":1,"max":3,"looks":[1,2,2000000000]}`), "looks of the stopping rule"},
	{"no margin", set("plan.json", "margin", `1e300`), "a margin of"},
	{"a margin of 1", set("plan.json", "margin", `1`), "less than 1"},
	{"metrics of quantile 9", set("plan.json", "quantile", `9`), "quantile 9"},
	{"CPUs without end", set(trialsLines, "cpuset", `[`+strings.Repeat("1,", 400_000)+`1]`), "400001 CPUs in a set"},
	{"a CPU below 0", set("plan.json", "cpuset", `[-1]`), "CPU -1 in a set"},
	{"memory of the host", set("host.json", "memory", `9223372036854775807`), ""},
	{"a bin without end", set(trialsLines, "bins", `[[1,9223372036854775807,1]]`), ""},
	{"bins that overlap", set(trialsLines, "bins", `[[1,5,1],[2,6,1]]`), "cannot be"},
	{"more bins than there are", set(trialsLines, "bins", `[`+strings.Repeat("[1,2,1],", 5000)+`[3,4,1]]`), "more than 4096"},
	{"bins that count to the end", set(trialsLines, "bins", `[[1,5,9223372036854775807],[5,6,1]]`), "cannot be"},

	// Sizes.
	{"a gibibyte without a newline", enlarged(trialsLines, 1<<30), "more than 16 MiB"},
	{"a gibibyte of samples without a newline", enlarged(samplesFiles, 1<<30), ""},
	{"a gibibyte of run.json", enlarged("run.json", 1<<30), "more than 16 MiB"},
	{"a gibibyte of plan.json", enlarged("plan.json", 1<<30), "more than 16 MiB"},
	{"a gibibyte of host.json", enlarged("host.json", 1<<30), "more than 16 MiB"},
	{"a tebibyte of spec.yaml", enlarged("spec.yaml", 1<<40), ""},
	{"brackets in run.json", whole("run.json", strings.Repeat("[", 4<<20)), "values are too many"},
	{"platforms on platforms", set("plan.json", "platform", strings.Repeat(`{"name":"a","on":`, 5000)+"null"+strings.Repeat("}", 5000)), "cannot unmarshal"},
	{"empty trials", set("plan.json", "trials", `[`+strings.Repeat("{},", 3_000_000)+`{}]`), "objects are too many"},
	{"empty actors", set(trialsLines, "actors", `[`+strings.Repeat("{},", 100_000)+`{}]`), "is not in the scene"},
	{"empty warnings", set("plan.json", "warnings", `[`+strings.Repeat(`"",`, 450_000)+`""]`), ""},
	{"a line of 15 MiB", func(f *hostileFolder) {
		f.edit(trialsLines, func(s string) string {
			return strings.Replace(s, `{"trial"`, `{"hint":"`+strings.Repeat("x", 15<<20)+`","trial"`, 1)
		})
	}, "at most 65536"},
	{"an outcome a hundred times", func(f *hostileFolder) {
		f.edit(trialsLines, func(s string) string { return strings.Repeat(s, 100) })
	}, ""},
	{"half a million samples", func(f *hostileFolder) {
		for _, name := range f.files(samplesFiles)[:1] {
			old, err := os.ReadFile(name)
			f.must(err)
			f.must(os.WriteFile(name, []byte(strings.Repeat(`{"at":1,"late":1,"took":1,"cpu":1,"level":"host","meter":"m","values":{}}`+"\n", 200_000)+string(old)), 0o644))
		}
	}, ""},
	{"sources without end", func(f *hostileFolder) {
		f.edit(f.base(samplesFiles), func(s string) string {
			var b strings.Builder
			for i := range 20_000 {
				fmt.Fprintf(&b, `{"at":1,"late":1,"took":1,"cpu":1,"level":"layer","actor":"a%d","meter":"m%d","values":{"mem_used_bytes":1}}`+"\n", i, i)
			}
			return s + b.String()
		})
	}, ""},
	{"columns without end", func(f *hostileFolder) {
		f.edit(f.base(samplesFiles), func(s string) string {
			var b strings.Builder
			for i := range 40_000 {
				fmt.Fprintf(&b, `"cpu_p%d_s":1,`, i)
			}
			return strings.ReplaceAll(s, `"values":{`, `"values":{`+b.String())
		})
	}, ""},

	// Damage.
	{"no plan", func(f *hostileFolder) { f.must(os.Remove(f.path("plan.json"))) }, "no such file"},
	{"no samples", func(f *hostileFolder) { f.must(os.RemoveAll(f.path("samples"))) }, leftOut},
	{"null everywhere", func(f *hostileFolder) {
		for _, name := range []string{"plan.json", "host.json"} {
			whole(name, "null")(f)
		}
	}, "is not in the plan"},
	{"null as an outcome", func(f *hostileFolder) { f.edit(trialsLines, func(s string) string { return "null\n" + s }) }, "trials.jsonl:1: "},
	{"null as a sample", func(f *hostileFolder) { f.edit(samplesFiles, func(s string) string { return "null\n" + s }) }, leftOut},
	{"bytes that are no text", whole("plan.json", "\xff\xfe\x00"), "invalid character"},
	{"another's trial", swap(trialsLines, `"trial":"b01`, `"trial":"b77`), "is not in the plan"},
	{"a trial's path", func(f *hostileFolder) {
		swap("plan.json", `"id": "b01-t001"`, `"id": "../../elsewhere"`)(f)
	}, "cannot be the name of a file"},
	{"no actors", set(trialsLines, "actors", `[]`), ""},
	{"no scenes", set("plan.json", "scenes", `[]`), "no scene"},
	{"no metrics", set("plan.json", "metrics", `{}`), ""},
	{"the same metric twice", func(f *hostileFolder) {
		f.edit("plan.json", func(s string) string { return strings.ReplaceAll(s, `"p95_latency"`, `"throughput"`) })
	}, ""},

	// Links and what is no file.
	{"samples elsewhere", linked("samples", "samples"), "a symbolic link"},
	{"a trial's samples elsewhere", linked(samplesFiles, "samples/secret.jsonl"), "a symbolic link"},
	{"outcomes elsewhere", linked(trialsLines, "secret"), "a symbolic link"},
	{"plan elsewhere", linked("plan.json", "secret"), "a symbolic link"},
	{"run.json elsewhere", linked("run.json", "secret"), "a symbolic link"},
	{"host.json is endless", linked("host.json", "/dev/zero"), "a symbolic link"},
	{"specification elsewhere", linked("spec.yaml", "secret"), ""},
	{"report elsewhere", func(f *hostileFolder) {
		f.must(os.Symlink(filepath.Join(f.elsewhere, "secret"), f.path("report.html")))
	}, ""},
	{"torn lines elsewhere", func(f *hostileFolder) {
		f.must(os.Symlink(filepath.Join(f.elsewhere, "secret"), f.path("trials.jsonl.torn")))
		f.edit(trialsLines, func(s string) string { return s + `{"torn` })
	}, ""},
	{"a pipe for run.json", piped("run.json"), "a named pipe"},
	{"a pipe for outcomes", piped(trialsLines), "a named pipe"},
	{"a pipe for samples", piped(samplesFiles), "a named pipe"},
}

// base is the first file of a pattern, as a pattern.
func (f *hostileFolder) base(pattern string) string {
	name, err := filepath.Rel(f.dir, f.files(pattern)[0])
	f.must(err)
	return name
}

// Whatever a folder holds, every verb that reads one refuses or renders it within
// bounds, follows no link out of it, and shows nothing of it but as text.
func TestHostileFolders(t *testing.T) {
	if n := len(hostileFolders); n < 60 {
		t.Fatalf("%d folders", n)
	}
	good := filepath.Join(t.TempDir(), "good")
	storetest.Synthetic(t, good, storetest.Options{Platforms: []bench.PlatformRef{{Name: "native"}, {Name: "docker"}},
		Cases: []string{"cpu", "startup"}, Blocks: 3, Seconds: 3}).Close()
	var worst taken
	var mu sync.Mutex
	pages := map[string]string{}
	began := time.Now()
	t.Run("each", func(t *testing.T) {
		for i, c := range hostileFolders {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				page := readHostileFolder(t, &worst, good, c.tamper, c.says)
				mu.Lock()
				defer mu.Unlock()
				if page != "" {
					pages[fmt.Sprintf("page-%d", i)] = page
				}
			})
		}
	})
	t.Logf("%d folders in %v: %v", len(hostileFolders), time.Since(began).Round(time.Second), &worst)
	began = time.Now()
	checkInBrowser(t, pages)
	t.Logf("%d pages looked at in %v", len(pages), time.Since(began).Round(time.Second))
}

// readHostileFolder has every verb read a copy of the folder and returns its page.
func readHostileFolder(t *testing.T, worst *taken, good string, tamper tamperer, says string) (page string) {
	f := &hostileFolder{t: t, dir: filepath.Join(t.TempDir(), "run"), elsewhere: t.TempDir()}
	f.must(os.CopyFS(f.dir, os.DirFS(good)))
	f.must(os.Mkdir(filepath.Join(f.elsewhere, "samples"), 0o755))
	for _, name := range []string{"secret", "samples/secret.jsonl", "samples/b01-t001.jsonl"} {
		f.must(os.WriteFile(filepath.Join(f.elsewhere, name), []byte(secret+"\n"), 0o644))
	}
	tamper(f)
	var all []string
	for _, format := range formats {
		args := []string{"report", f.dir, "--format", format}
		if format == "text" {
			args = append(args, "--all")
		}
		got := bounded(t, worst, args...)
		all = append(all, got.stdout, got.stderr)
		switch {
		case format == "html":
			page = got.stdout
		case format == "text" && (!strings.Contains(strings.Join(strings.Fields(got.stdout+got.stderr), " "), says) || says == "" && got.stdout == ""):
			t.Errorf("it does not say %q: %.2000s%s", says, got.stdout, got.stderr)
		}
	}
	verbs := [][]string{{"compare", f.dir, good}, {"compare", good, f.dir, "--json"}, {"gate", f.dir, good, "--max-regression", "5%"}}
	if os.Geteuid() == 0 {
		verbs = append(verbs, []string{"resume", f.dir})
	}
	for _, v := range verbs {
		got := bounded(t, worst, v...)
		all = append(all, got.stdout, got.stderr)
	}
	if slices.ContainsFunc(all, func(s string) bool { return strings.Contains(s, secret) }) {
		t.Error("what lies elsewhere was shown")
	}
	for _, name := range []string{"secret", "samples/secret.jsonl", "samples/b01-t001.jsonl"} {
		if text, err := os.ReadFile(filepath.Join(f.elsewhere, name)); err != nil || string(text) != secret+"\n" {
			t.Errorf("%s elsewhere is now %q, %v", name, text, err)
		}
	}
	return page
}
