package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
)

// command runs the user's own program and reads its figures from what it
// prints, by JSON path or regular expression. Its wall time is always a metric.
type command struct{}

// wallMetric is the metric every command has.
const wallMetric = "wall"

func (command) Name() string { return "command" }

func (command) Summary() string {
	return "your own program, its results read by JSON path or regular expression"
}

func (command) Resource() string { return "other" }

func (command) Parts() []string { return nil }

// Programs is empty: which program it is only the parameters know.
func (command) Programs() []string { return nil }

func (command) Params() []bench.Param {
	return []bench.Param{
		{Name: "argv", Kind: bench.KindJSON, Required: true,
			Doc: `the program and its arguments, a list such as ["redis-benchmark", "--csv"]; no shell is involved`},
		{Name: "metrics", Kind: bench.KindJSON, Default: "[]",
			Doc: "what to read from its output: a list of {name, unit, better: higher or lower, json: path or regex: pattern with one group, " +
				"from: stdout or stderr, combine: sum, mean or max, headline: true or false, doc}; the wall time is always read"},
		{Name: "env", Kind: bench.KindJSON, Default: "{}", Doc: "environment variables to add, a map of texts"},
		{Name: "dir", Kind: bench.KindString, Default: bench.ScratchDir, Doc: "directory to run in"},
		{Name: "files", Kind: bench.KindJSON, Default: "[]",
			Doc: "files of the host to copy into " + bench.ScratchDir + " under their own names, a list of paths"},
		{Name: "warmup", Kind: bench.KindJSON, Default: "[]",
			Doc: "a program and its arguments to run first, not measured"},
		{Name: "timeout", Kind: bench.KindDuration, Default: "1h",
			Doc: "time after which it is killed and the trial has failed"},
		{Name: "ok-exit", Kind: bench.KindJSON, Default: "[0]", Doc: "exit statuses that are not failures, a list"},
	}
}

// commandPlan is what the parameters say.
type commandPlan struct {
	argv    []scalar
	metrics []commandMetric // those read from the output
	listed  []bench.Metric  // those and the wall time
	env     map[string]scalar
	files   []string
	warmup  []scalar
	timeout time.Duration
	okExit  []int
}

// plan reads the parameters. Its error joins one for each value that cannot be used.
func (w command) plan(p bench.Params) (commandPlan, error) {
	var c commandPlan
	var faults []error
	fault := func(param string, err error) { faults = append(faults, &ParamError{w.Name(), param, err}) }
	read := func(param string, into any) bool {
		err := json.Unmarshal([]byte(p[param]), into)
		if err != nil {
			fault(param, fmt.Errorf("%s: %w", p[param], plainType(err)))
		}
		return err == nil
	}
	if read("argv", &c.argv) && len(c.argv) == 0 {
		fault("argv", fmt.Errorf("%s: names no program", p["argv"]))
	}
	read("warmup", &c.warmup)
	for param, argv := range map[string][]scalar{"argv": c.argv, "warmup": c.warmup} {
		for i, text := range argv {
			switch {
			case i == 0 && text == "":
				fault(param, fmt.Errorf("%s: names no program", p[param]))
			case strings.ContainsRune(string(text), 0):
				fault(param, fmt.Errorf("%q: contains a zero byte", text))
			}
		}
	}
	read("env", &c.env)
	for _, name := range slices.Sorted(maps.Keys(c.env)) {
		if value := c.env[name]; name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(string(value), 0) {
			fault("env", &valueError{name, fmt.Errorf("%q=%q: not an environment variable", name, value)})
		}
	}
	read("files", &c.files)
	seen := make(map[string]bool)
	for i, file := range c.files {
		base := path.Base(file)
		if base == "." || base == ".." || base == "/" {
			fault("files", &valueError{strconv.Itoa(i), fmt.Errorf("%q: not a file", file)})
		} else if seen[base] {
			fault("files", &valueError{strconv.Itoa(i), fmt.Errorf("%q: another file has the same name", file)})
		}
		seen[base] = true
	}
	if read("ok-exit", &c.okExit) && len(c.okExit) == 0 {
		fault("ok-exit", errors.New("no status at all would be a success"))
	}
	for i, status := range c.okExit {
		if status < 0 || status > 255 {
			fault("ok-exit", &valueError{strconv.Itoa(i), fmt.Errorf("%d: an exit status is from 0 to 255", status)})
		}
	}
	var err error
	if c.timeout, err = time.ParseDuration(p["timeout"]); err != nil || c.timeout <= 0 {
		fault("timeout", fmt.Errorf("%q: not a positive duration", p["timeout"]))
	}
	var wrong []error
	c.metrics, c.listed, wrong = parseMetrics(p["metrics"])
	for _, err := range wrong {
		fault("metrics", err)
	}
	return c, errors.Join(faults...)
}

func (w command) Metrics(p bench.Params) ([]bench.Metric, error) {
	c, err := w.plan(p)
	return c.listed, err
}

func (w command) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	if part != bench.SubjectPart {
		return bench.Part{}, unknownPart(w, part)
	}
	c, err := w.plan(p)
	if err != nil {
		return bench.Part{}, err
	}
	limit := c.timeout
	if s.Timing.Deadline > 0 {
		limit = min(limit, s.Timing.Deadline)
	}
	env := make(map[string]string, len(c.env))
	for name, value := range c.env {
		env[name] = string(value)
	}
	steps := bench.Part{
		Main:   bench.Command{Argv: texts(c.argv), Env: env, Dir: p["dir"], Timeout: limit},
		OKExit: c.okExit,
	}
	for _, file := range c.files {
		steps.Files = append(steps.Files, bench.File{Path: bench.ScratchDir + "/" + path.Base(file), Mode: 0o755, HostPath: file})
	}
	if len(c.warmup) > 0 {
		steps.Warm = []bench.Command{{Argv: texts(c.warmup), Env: env, Dir: p["dir"], Timeout: limit}}
	}
	return steps, nil
}

// Carries are the program, what runs before it, and its files.
func (w command) Carries(p bench.Params) (commands [][]string, files []string, err error) {
	c, err := w.plan(p)
	if err != nil {
		return nil, nil, err
	}
	commands = append(commands, texts(c.argv))
	if len(c.warmup) > 0 {
		commands = append(commands, texts(c.warmup))
	}
	return commands, c.files, nil
}

func (w command) Parse(p bench.Params, _ bench.Setting, out bench.Output) ([]bench.Value, error) {
	c, err := w.plan(p)
	if err != nil {
		return nil, err
	}
	program := string(c.argv[0])
	judged := out
	if out.Signal == "" && slices.Contains(c.okExit, out.Exit) {
		judged.Exit = 0
	} else if out.Signal == "" && out.Exit == 0 && !out.TimedOut {
		return nil, fmt.Errorf("%s: exit status 0 is not among %v: %s", program, c.okExit, lastWords(out))
	}
	if err := finished(program, judged); err != nil {
		return nil, err
	}
	if out.Wall <= 0 {
		return nil, fmt.Errorf("%s: a wall time of %v was recorded", program, out.Wall)
	}
	var values []bench.Value
	for _, m := range c.metrics {
		v, err := m.read(out)
		if err != nil {
			return nil, fmt.Errorf("%s: metric %q: %w", program, m.Name, err)
		}
		values = append(values, bench.Value{Metric: m.Name, Value: v})
	}
	return append(values, bench.Value{Metric: wallMetric, Value: out.Wall.Seconds()}), nil
}
