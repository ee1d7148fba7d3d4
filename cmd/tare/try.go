package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"tare/internal/app/planning"
	"tare/internal/bench"
	"tare/internal/image"
)

// trying is an experiment on one command line.
type trying struct {
	argv         []string
	platforms    []string
	metrics      []string // NAME=json:PATH or NAME=regex:PATTERN, NAME with :lower and :UNIT
	files        []string
	add          []string // packages
	image        string
	kernel       string // with its initrd, disk and command line
	initrd, disk string
	line         string
	whole        bool // a command line is whole, whatever the image's entrypoint
	serve, ready string
	within       time.Duration // how long the server may take to be ready; 0 is the specification's default
	itself       bool          // the image's own command is the server
	afar         string        // the further host that the client runs on, NAME=ADDRESS/LENGTH
	own          []string      // that command
	warmup       bool
	cpus         int
	memory       string
	budget       time.Duration
	blocks       int
	save, out    string
}

func tryCommand(a *app) *cobra.Command {
	var t trying
	var m manner
	c := &cobra.Command{
		Use:   "try [flags] [-- PROGRAM [ARG...]]",
		Short: "Measure one command on several platforms, without a file",
		Long: `Runs a program on each platform, again and again in blocks of fresh launches,
until its wall time, or the first metric that is read from its output, is decided or the
budget is over. The report is about every --metric. A program of this host that is given
with a directory (./bench, /opt/bench) is copied into the instances, and so is every
--file. Any other is the image's (tare image list --programs), and so is what is in /usr,
/bin or /sbin.

With --image the instances run an image of your own: a path of what docker save wrote, of
an OCI layout or of a root file system; or docker:NAME, podman:NAME, containerd:NAME.
PROGRAM is then the image's, after its entrypoint, as in docker run; without one, the
image's own command runs. Environment, user and working directory are the image's.

With --serve a server runs in each instance and PROGRAM is its client, natively, on a
machine of its own in the run's network, where it alone is copied to; {server} and {port} stand for where it is.
With --peer-host that is another host, which your own ssh reaches: docs/howto/hosts.md.

With --kernel machines boot a kernel of your own, a unikernel or any other that serves,
without an agent. PROGRAM is its client, as with --serve; without one, the time until the
server accepts is measured. It is booted on kvm, and without KVM on qemu-tcg, unless
--platforms says otherwise. With --serve, too, the platforms that boot it are those with
[guest=own], and the others run the server: --platforms 'native,kvm[guest=own]'.

--save FILE writes what is run as a specification, which tare run takes. What is refused is
not written.

Exit status: as of tare run.`,
		Example: `  tare try -- stress-ng --cpu 1 --cpu-ops 500
  tare try --platforms native,docker,gvisor --metric rate:req/s=json:result.rate -- ./bench --json
  tare try --image docker:myapp --platforms native,docker,gvisor -- --benchmark
  tare try --serve './serve --listen 0.0.0.0:{port}' --ready tcp:8080 -- ./ask http://{server}:{port}/
  tare try --kernel ./server.elf --ready tcp:8080 -- ./ask http://{server}:{port}/`,
		RunE: func(c *cobra.Command, args []string) error {
			t.argv = args
			t.itself = t.serve == "" && c.Flags().Changed("serve")
			if t.afar != "" && !c.Flags().Changed("platforms") {
				t.platforms[1] += "[net=host]" // another host finds nothing else
			}
			if t.kernel != "" && !c.Flags().Changed("platforms") {
				t.platforms = t.booting(a.catalog().FirstUsable(c.Context(), "kvm", "qemu-tcg")) // the emulator boots one anywhere
			}
			if err := t.ofImage(c.Context(), a.site.Dir); err != nil {
				return err
			}
			text, err := t.specification()
			if err != nil {
				return err
			}
			if err := m.check(); err != nil {
				return err
			}
			r := planning.Request{Text: text, Insist: true}
			if t.save != "" {
				if _, err := os.Lstat(t.save); err == nil { // rather than after minutes of building
					return existing(t.save)
				}
				m.Accepted = func() error {
					r.Name = t.save
					return save(t.save, text)
				}
			}
			return a.run(c.Context(), &r, t.out, m)
		},
	}
	c.Flags().StringSliceVar(&t.platforms, "platforms", []string{bench.Native, "docker"}, "measure on these platforms; the first is the baseline")
	c.Flags().StringArrayVar(&t.metrics, "metric", nil, "read this from standard output: NAME=json:PATH or NAME=regex:PATTERN; NAME:UNIT, and NAME:UNIT:lower where less is better (repeatable)")
	c.Flags().StringArrayVar(&t.files, "file", nil, "copy this file into "+bench.ScratchDir+", where the program runs (repeatable)")
	c.Flags().StringVar(&t.image, "image", "", "run this image of your own in the instances; --add is then for clients")
	c.Flags().StringArrayVar(&t.add, "add", nil, "add this Debian package to the image (repeatable)")
	c.Flags().StringVar(&t.serve, "serve", "", "a server to run in each instance, with its arguments; PROGRAM is its client; '' is the image's own command")
	c.Flags().StringVar(&t.kernel, "kernel", "", "boot this kernel of your own, a bzImage or an ELF file with a server in it, without an agent")
	c.Flags().StringVar(&t.initrd, "initrd", "", "with --kernel: its initial RAM file system")
	c.Flags().StringVar(&t.disk, "disk", "", "with --kernel: the content of its disk, a raw file, which is never written to")
	c.Flags().StringVar(&t.line, "append", "", "with --kernel: its command line; "+strings.Join(bench.Placeholders, ", ")+" stand for what the launch is given")
	c.Flags().StringVar(&t.ready, "ready", "", "with --serve or --kernel: where the server listens, tcp:PORT")
	c.Flags().StringVar(&t.afar, "peer-host", "", "with --serve: run PROGRAM on this further host, NAME=ADDRESS/LENGTH: what ssh knows it by, and a free private address at which it finds the servers")
	c.Flags().DurationVar(&t.within, "ready-within", 0, "with --serve, or --kernel alone: how long it may take until then (default 30s; 90s of a kernel)")
	c.Flags().BoolVar(&t.warmup, "warmup", false, "run the program once before, not measured")
	c.Flags().IntVar(&t.cpus, "cpus", 1, "CPUs of an instance")
	c.Flags().StringVar(&t.memory, "memory", "512MiB", "memory of an instance")
	c.Flags().DurationVar(&t.budget, "budget", 3*time.Minute, "stop after about this time; what is decided ends sooner")
	c.Flags().IntVar(&t.blocks, "blocks", 0, "launch it so many times on each platform, whatever is decided")
	c.Flags().StringVar(&t.save, "save", "", "write what is run as a specification to this file")
	c.Flags().StringVarP(&t.out, "output", "o", "", "directory of the results (default results/ID)")
	m.flags(c)
	return c
}

// save writes a specification to a file that is not there yet.
func save(file string, text []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return existing(file)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

func existing(file string) error {
	return usageError("--save: %s exists already%w", file, bench.Hint("name another file, or remove this one"))
}

// ofImage takes the image's own command where no program is named. A kernel needs none to start.
func (t *trying) ofImage(ctx context.Context, dir string) error {
	switch {
	case t.itself && t.image == "":
		return usageError("--serve '': an image's own command is the server: say --image, too%w", bench.Hint("--serve './serve --port {port}' runs a server of this host"))
	case !t.itself && (len(t.argv) > 0 || t.starts()):
		return nil
	case len(t.argv) == 0 && (t.image == "" || t.serves()):
		return usageError("name a program to run%w", bench.Hint("tare try -- PROGRAM [ARG...]"))
	}
	own, err := image.New(dir).OpenOwn(ctx, t.image)
	if err != nil {
		return err
	}
	config := own.Config()
	t.own, t.whole = slices.Concat(config.Entrypoint, config.Cmd), true
	switch {
	case len(t.own) > 0 && !t.itself:
		t.argv = t.own
	case len(t.own) > 0:
	case t.itself:
		err = usageError("image %s has neither an entrypoint nor a command: name a server to run%w", t.image, bench.Hint("--serve 'SERVER [ARG...]'"))
	default:
		err = usageError("image %s has neither an entrypoint nor a command: name a program to run%w", t.image, bench.Hint("tare try --image "+t.image+" -- PROGRAM [ARG...]"))
	}
	return errors.Join(err, own.Close())
}

// serves says that a server runs in the instances.
func (t *trying) serves() bool { return t.serve != "" || t.itself }

// starts says that nothing but the start of the kernel is measured.
func (t *trying) starts() bool { return len(t.argv) == 0 && t.kernel != "" && !t.serves() }

// specification is what the command line stands for.
func (t *trying) specification() ([]byte, error) {
	port, err := t.port()
	if err != nil {
		return nil, err
	}
	platforms, title := planning.JoinOptions(t.platforms), ""
	var scene yaml.MapSlice
	if t.starts() {
		scene, err = t.start()
		title = "How soon is " + path.Base(t.kernel) + " up?"
	} else {
		if scene, err = t.work(port); err == nil {
			title = "What does " + t.subject() + " lose?"
		}
	}
	if err != nil {
		return nil, err
	}
	host, reach, err := t.farHost()
	if err != nil {
		return nil, err
	}
	if t.kernel != "" && !t.serves() { // nothing else would serve
		for i, ref := range platforms {
			platforms[i] = boots(ref)
		}
	}
	timing := yaml.MapSlice{{Key: "cooldown", Value: "100ms"}}
	if t.within > 0 && t.starts() {
		timing = append(timing, yaml.MapItem{Key: "deadline", Value: t.within.String()})
	}
	e := yaml.MapSlice{
		{Key: "name", Value: "try"},
		{Key: "title", Value: title},
		{Key: "platforms", Value: platforms},
		{Key: "baseline", Value: platforms[0]},
		{Key: "shape", Value: yaml.MapSlice{{Key: "cpus", Value: t.cpus}, {Key: "memory", Value: t.memory}}},
		{Key: "timing", Value: timing},
	}
	if asked := t.answers(); len(asked) > 1 { // one is the headline as it is
		e = append(e, yaml.MapItem{Key: "answers", Value: asked})
	}
	if t.blocks > 0 {
		e = append(e, yaml.MapItem{Key: "blocks", Value: t.blocks})
	} else {
		e = append(e, yaml.MapItem{Key: "until", Value: yaml.MapSlice{{Key: "min", Value: 3}, {Key: "max", Value: 30}}}, yaml.MapItem{Key: "budget", Value: t.budget.String()})
	}
	if of := t.runs(port); len(of) > 0 {
		e = append(e, yaml.MapItem{Key: "image", Value: of})
	}
	if host != "" {
		e = append(e, yaml.MapItem{Key: "hosts", Value: yaml.MapSlice{{Key: host, Value: yaml.MapSlice{{Key: "reach", Value: reach}}}}})
		scene = append(scene, yaml.MapItem{Key: "peer", Value: yaml.MapSlice{{Key: "host", Value: host}}})
	}
	return yaml.Marshal(append(e, yaml.MapItem{Key: "scenes", Value: []yaml.MapSlice{scene}}))
}

// farHost is the further host that the client runs on, and where it finds the servers; "" for none.
func (t *trying) farHost() (name, reach string, err error) {
	if t.afar == "" {
		return "", "", nil
	}
	name, reach, said := strings.Cut(t.afar, "=")
	at, bad := netip.ParsePrefix(reach)
	switch {
	case !said || bad != nil:
		return "", "", usageError("--peer-host %q: it takes NAME=ADDRESS/LENGTH, such as load1=10.0.0.7/24", t.afar)
	case !t.serves():
		return "", "", usageError("--peer-host is about the client of a server: say --serve, too")
	}
	if err := (bench.FurtherHost{Name: name, Reach: at}).Check(); err != nil {
		return "", "", fmt.Errorf("--peer-host %q: %w", t.afar, err)
	}
	return name, reach, nil
}

// answers are the metrics asked for: the report is about all of them.
func (t *trying) answers() (names []string) {
	for _, text := range t.metrics {
		name, _, _ := strings.Cut(text, "=")
		name, _, _ = strings.Cut(name, ":")
		names = append(names, name)
	}
	return names
}

// subject is the name of what runs in the instances.
func (t *trying) subject() string {
	switch {
	case t.itself:
		return path.Base(t.own[0])
	case t.serve != "":
		return path.Base(strings.Fields(t.serve)[0])
	case t.kernel != "":
		return path.Base(t.kernel)
	}
	return path.Base(t.argv[0])
}

// port is where the server listens; 0 if there is none.
func (t *trying) port() (int, error) {
	switch {
	case t.kernel == "" && (t.initrd != "" || t.disk != "" || t.line != ""):
		return 0, usageError("--initrd, --disk and --append are about a kernel: say --kernel, too")
	case t.kernel != "" && t.image != "" && !t.serves():
		return 0, usageError("--image %s: machines boot the kernel alone%w", t.image, bench.Hint("with --serve the other platforms run the image"))
	case !t.serves() && t.kernel == "" && t.ready != "":
		return 0, usageError("--ready is about a server: say --serve, or --kernel")
	case !t.serves() && t.kernel == "" && t.within != 0:
		return 0, usageError("--ready-within is about a server: say --serve, or --kernel")
	case t.within < 0:
		return 0, usageError("--ready-within %v is negative", t.within)
	case t.within > 0 && !t.serves() && !t.starts():
		return 0, usageError("--ready-within: the deadline of a machine without an agent is its client's, too%w",
			bench.Hint("--save a specification, and set timing.deadline above what both take"))
	case !t.serves() && t.kernel == "":
		return 0, nil
	}
	port, ok := strings.CutPrefix(t.ready, "tcp:")
	n, err := strconv.Atoi(port)
	if !ok || err != nil || n < 1 {
		return 0, usageError("--ready %q: with --serve or --kernel, say where the server listens: tcp:8080", t.ready)
	}
	return n, nil
}

// booting are the platforms where none is named and one boots the kernel: that one, beside those that
// run the server if there is one.
func (t *trying) booting(one string) []string {
	if t.serves() {
		return append(slices.Clone(t.platforms), boots(one))
	}
	return []string{one}
}

// boots has a platform boot the kernel of the user's own. One that cannot is refused where it is read.
func boots(ref string) string {
	const own = bench.GuestOption + "=" + bench.OwnGuest
	options, some := strings.CutSuffix(ref, "]")
	switch {
	case strings.Contains(ref, bench.GuestOption+"="):
		return ref
	case some:
		return options + "," + own + "]"
	}
	return ref + "[" + own + "]"
}

// runs is what the instances run: images, packages, a kernel.
func (t *trying) runs(port int) (of yaml.MapSlice) {
	add := func(key string, value any, said bool) {
		if said {
			of = append(of, yaml.MapItem{Key: key, Value: value})
		}
	}
	add("from", t.image, t.image != "")
	add("add", t.add, len(t.add) > 0)
	add("kernel", t.kernel, t.kernel != "")
	add("initrd", t.initrd, t.initrd != "")
	add("disk", t.disk, t.disk != "")
	add("append", t.line, t.line != "")
	add("port", port, t.kernel != "")
	return of
}

// start is the scene in which a kernel does nothing but start.
func (t *trying) start() (yaml.MapSlice, error) {
	if len(t.metrics)+len(t.files)+len(t.add) > 0 || t.warmup {
		return nil, usageError("--metric, --file, --add and --warmup are about a program, and none is named%w", bench.Hint("tare try --kernel "+t.kernel+" [flags] -- PROGRAM [ARG...]"))
	}
	return yaml.MapSlice{{Key: "name", Value: "startup"}, {Key: "startup", Value: true}}, nil
}

// work is the scene in which the program runs, and its server if it has one.
func (t *trying) work(port int) (yaml.MapSlice, error) {
	params := yaml.MapSlice{}
	files, clients := slices.Clone(t.files), []string(nil)
	local := func(argv []string, inside bool) ([]string, error) {
		if inside && t.image != "" {
			return argv, nil
		}
		file, err := ofThisHost(argv[0])
		if err != nil || file == "" {
			return argv, err
		}
		switch {
		case slices.Contains(files, file): // a server and its client may be one program
		case inside:
			files = append(files, file)
		default:
			clients = append(clients, file)
		}
		return append([]string{"./" + path.Base(file)}, argv[1:]...), nil
	}
	workload, program := "command", "argv"
	if port != 0 {
		workload, program = "service", "load"
	}
	if t.serves() {
		server, err := t.server()
		if err != nil {
			return nil, err
		}
		if server, err = local(server, true); err != nil {
			return nil, err
		}
		params = append(params, yaml.MapItem{Key: "server", Value: server})
	}
	if port != 0 {
		params = append(params, yaml.MapItem{Key: "port", Value: port})
	}
	if t.within > 0 {
		params = append(params, yaml.MapItem{Key: "ready", Value: t.within.String()})
	}
	argv, err := local(t.argv, port == 0)
	if err != nil {
		return nil, err
	}
	params = append(params, yaml.MapItem{Key: program, Value: argv})
	if t.warmup {
		params = append(params, yaml.MapItem{Key: "warmup", Value: argv})
	}
	if t.whole {
		params = append(params, yaml.MapItem{Key: "entrypoint", Value: "none"})
	}
	if len(files) > 0 {
		params = append(params, yaml.MapItem{Key: "files", Value: files})
	}
	if len(clients) > 0 {
		params = append(params, yaml.MapItem{Key: "load-files", Value: clients})
	}
	var metrics []yaml.MapSlice
	for _, text := range t.metrics {
		m, err := metricOf(text)
		if err != nil {
			return nil, err
		}
		metrics = append(metrics, m)
	}
	if len(metrics) > 0 {
		params = append(params, yaml.MapItem{Key: "metrics", Value: metrics})
	}
	return yaml.MapSlice{{Key: "name", Value: "command"}, {Key: "short", Value: t.subject()}, {Key: "workload", Value: workload}, {Key: "params", Value: params}}, nil
}

// server is the server's command line in words. What needs quoting is refused: no shell is involved.
func (t *trying) server() ([]string, error) {
	if t.itself {
		return t.own, nil
	}
	words := strings.Fields(t.serve)
	if len(words) == 0 || strings.ContainsAny(t.serve, "'\"\\$`|&;<>*?") {
		return nil, usageError("--serve %q: words divided by blanks, and no shell that would read more into them%w", t.serve,
			bench.Hint("put the rest into a script, or write a specification: docs/howto/own-program.md"))
	}
	return words, nil
}

// imageDirs are those whose programs are the image's, whatever this host has there.
var imageDirs = []string{"/usr/", "/bin/", "/sbin/", bench.ScratchDir + "/"}

// ofThisHost is the file of this host that a program named with a directory is; "" if it is the image's.
func ofThisHost(program string) (string, error) {
	if !strings.Contains(program, "/") || slices.ContainsFunc(imageDirs, func(dir string) bool { return strings.HasPrefix(path.Clean(program), dir) }) {
		return "", nil
	}
	info, err := os.Stat(program)
	switch {
	case errors.Is(err, fs.ErrNotExist) && path.IsAbs(program): // the image may have it
		return "", nil
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%s: there is no such file here to copy into the instances: %w", program, bench.ErrInvalid)
	case err == nil && (!info.Mode().IsRegular() || info.Mode()&0o111 == 0):
		return "", fmt.Errorf("%s is not a program: %w", program, bench.ErrInvalid)
	}
	return program, err
}

// metricOf reads what --metric says: rate=json:a.b, p99:ms:lower=regex:(.*).
func metricOf(text string) (yaml.MapSlice, error) {
	about, from, ok := strings.Cut(text, "=")
	kind, where, said := strings.Cut(from, ":")
	words := strings.Split(about, ":")
	if !ok || !said || kind != "json" && kind != "regex" || words[0] == "" || len(words) > 3 {
		return nil, usageError("--metric %q: it takes NAME[:UNIT[:lower]]=json:PATH or =regex:PATTERN, such as rate:req/s=json:result.rate", text)
	}
	better, unit := "higher", ""
	for _, w := range words[1:] {
		switch w {
		case "higher", "lower":
			better = w
		default:
			unit = w
		}
	}
	return yaml.MapSlice{{Key: "name", Value: words[0]}, {Key: "unit", Value: unit}, {Key: "better", Value: better}, {Key: kind, Value: where}}, nil
}
