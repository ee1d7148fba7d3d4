package workload

import (
	"cmp"
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

// wallMetric is the metric that every program of the user's own has.
const wallMetric = "wall"

// ownParams are the parameters of every workload that runs programs of the user's own.
var ownParams = []bench.Param{
	{Name: "metrics", Kind: bench.KindJSON, Default: "[]",
		Doc: "what to read from its output: a list of {name, unit, better: higher or lower, json: path or regex: pattern with one group, " +
			"from: stdout or stderr, combine: sum, mean or max, headline: true or false, doc}; the wall time is always read"},
	{Name: "env", Kind: bench.KindJSON, Default: "{}", Doc: "environment variables to add, a map of texts"},
	{Name: "dir", Kind: bench.KindString, Doc: "directory to run in; " + bench.ScratchDir + " if not given, or the working directory of an image of your own"},
	{Name: "entrypoint", Kind: bench.KindWord, Default: "image", Words: []string{"image", "none"},
		Doc: "with an image of your own: whether its entrypoint comes before the program and its arguments, as in Docker"},
	{Name: "files", Kind: bench.KindJSON, Default: "[]",
		Doc: "files of the host to copy into " + bench.ScratchDir + " under their own names, a list of paths"},
	{Name: "warmup", Kind: bench.KindJSON, Default: "[]",
		Doc: "a program and its arguments to run first, not measured"},
	{Name: "timeout", Kind: bench.KindDuration, Default: "1h",
		Doc: "time after which it is killed and the trial has failed"},
	{Name: "ok-exit", Kind: bench.KindJSON, Default: "[0]", Doc: "exit statuses that are not failures, a list"},
}

// ownPlan is what the parameters of a workload that runs programs of the user's own say.
type ownPlan struct {
	argv    map[string][]scalar // by parameter
	metrics []commandMetric     // those read from the output
	listed  []bench.Metric      // those and the wall time
	env     map[string]scalar
	dir     string // "" if not given
	bare    bool   // without the image's entrypoint
	files   []string
	clients []string // files for the client of a server alone
	timeout time.Duration
	okExit  []int
}

// planOwn reads the parameters of w; required is a command line, and so are those in optional and the
// warm-up, which may be empty. Its error joins one for each value that cannot be used.
func planOwn(w bench.Workload, p bench.Params, required string, optional ...string) (ownPlan, error) {
	c := ownPlan{argv: map[string][]scalar{}, dir: p["dir"], bare: p["entrypoint"] == "none"}
	var faults []error
	fault := func(param string, err error) { faults = append(faults, &ParamError{w.Name(), param, err}) }
	read := func(param string, into any) bool {
		err := json.Unmarshal([]byte(p[param]), into)
		if err != nil {
			fault(param, fmt.Errorf("%s: %w", p[param], plainType(err)))
		}
		return err == nil
	}
	for _, param := range slices.Concat(optional, []string{required, "warmup"}) {
		var argv []scalar
		if read(param, &argv) && len(argv) == 0 && param == required {
			fault(param, fmt.Errorf("%s: names no program", p[param]))
		}
		for i, text := range argv {
			switch {
			case i == 0 && text == "":
				fault(param, fmt.Errorf("%s: names no program", p[param]))
			case strings.ContainsRune(string(text), 0):
				fault(param, fmt.Errorf("%q: contains a zero byte", text))
			}
		}
		c.argv[param] = argv
	}
	read("env", &c.env)
	for _, name := range slices.Sorted(maps.Keys(c.env)) {
		if value := c.env[name]; name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(string(value), 0) {
			fault("env", &valueError{name, fmt.Errorf("%q=%q: not an environment variable", name, value)})
		}
	}
	seen := make(map[string]bool)
	copies := func(param string, files *[]string) {
		read(param, files)
		for i, file := range *files {
			base := path.Base(file)
			if base == "." || base == ".." || base == "/" {
				fault(param, &valueError{strconv.Itoa(i), fmt.Errorf("%q: not a file", file)})
			} else if seen[base] {
				fault(param, &valueError{strconv.Itoa(i), fmt.Errorf("%q: another file has the same name", file)})
			}
			seen[base] = true
		}
	}
	copies("files", &c.files)
	if _, served := p[clientFiles]; served {
		copies(clientFiles, &c.clients)
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

// command is the command line of a parameter, which runs as long as the timeout and the
// specification allow, as the image says. say puts in what only the trial knows.
func (c *ownPlan) command(param string, t bench.Timing, image *bench.ImageConfig, say func(string) string) bench.Command {
	limit := c.timeout
	if t.Deadline > 0 {
		limit = min(limit, t.Deadline)
	}
	argv := texts(c.argv[param])
	for i := range argv {
		argv[i] = say(argv[i])
	}
	env := make(map[string]string, len(c.env))
	for name, value := range c.env {
		env[name] = say(string(value))
	}
	if image == nil {
		return bench.Command{Argv: argv, Env: env, Dir: cmp.Or(c.dir, bench.ScratchDir), Timeout: limit}
	}
	if !c.bare {
		argv = slices.Concat(image.Entrypoint, argv)
	}
	all := maps.Clone(image.Env)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, env)
	return bench.Command{Argv: argv, Env: all, Dir: cmp.Or(c.dir, image.Dir, "/"), User: image.User, Timeout: limit}
}

// asWritten puts nothing into a text.
func asWritten(text string) string { return text }

// copied are files to place in an instance.
func copied(files []string) (all []bench.File) {
	for _, file := range files {
		all = append(all, bench.File{Path: bench.ScratchDir + "/" + path.Base(file), Mode: 0o755, HostPath: file})
	}
	return all
}

// carries are the command lines of the parameters, and the files; see [bench.Carrier].
func (c *ownPlan) carries(params ...string) (commands [][]string, files []string) {
	for _, param := range params {
		if argv := texts(c.argv[param]); len(argv) > 0 {
			commands = append(commands, argv)
		}
	}
	return commands, slices.Concat(c.files, c.clients)
}

// parse reads what a parameter's program printed.
func (c *ownPlan) parse(param string, out bench.Output) ([]bench.Value, error) {
	program := string(c.argv[param][0])
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
