package workload

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
)

// service runs two programs of the user's own: a server in the instance, and a load on a machine
// beside it. The figures are read from what the load prints.
type service struct{}

// servicePart is the part of the peers that load a service.
const servicePart = "load"

// clientFiles is the parameter with the files that the load needs and the server does not.
const clientFiles = "load-files"

func (service) Name() string { return "service" }

func (service) Summary() string {
	return "your own server in the instance, loaded by your own client on a machine beside it"
}

func (service) Resource() string { return "other" }

func (service) Parts() []string { return []string{servicePart} }

// Programs is empty: which programs they are only the parameters know.
func (service) Programs() []string { return nil }

func (service) Params() []bench.Param {
	return append([]bench.Param{
		{Name: "server", Kind: bench.KindJSON, Default: "[]",
			Doc: `the server and its arguments, in the foreground, a list such as ["redis-server", "--port", "{port}"]; {server} is the instance's address, {port} the port; every platform needs it but those with guest=own`},
		{Name: "load", Kind: bench.KindJSON, Required: true,
			Doc: `the client and its arguments, a list such as ["redis-benchmark", "-h", "{server}", "-p", "{port}", "--csv"]; its output is read`},
		{Name: clientFiles, Kind: bench.KindJSON, Default: "[]",
			Doc: "files to copy for the load alone, a list of paths; those of files are copied for the server and the load"},
		{Name: "port", Kind: bench.KindInt, Required: true, Min: 1, Max: 65535,
			Doc: "the port on which the server listens, on all addresses or on {server}; both programs find it in TARE_PORT, too, and the address in TARE_SERVER"},
		{Name: "probe", Kind: bench.KindWord, Default: "tcp", Words: []string{"tcp", "none"},
			Doc: "how to tell that the server is ready: it accepts a connection, or it is taken to be at once"},
		{Name: "ready", Kind: bench.KindDuration, Default: "30s", Doc: "how long it may take until then"},
	}, ownParams...)
}

// plan reads the parameters.
func (w service) plan(p bench.Params) (c ownPlan, port int, ready time.Duration, err error) {
	c, err = planOwn(w, p, "load", "server")
	if err != nil {
		return c, 0, 0, err
	}
	if port, err = strconv.Atoi(p["port"]); err != nil {
		return c, 0, 0, &ParamError{w.Name(), "port", fmt.Errorf("%q: not a port", p["port"])}
	}
	if ready, err = time.ParseDuration(p["ready"]); err != nil || ready <= 0 {
		return c, 0, 0, &ParamError{w.Name(), "ready", fmt.Errorf("%q: not a positive duration", p["ready"])}
	}
	return c, port, ready, nil
}

func (w service) Metrics(p bench.Params) ([]bench.Metric, error) {
	c, _, _, err := w.plan(p)
	return c.listed, err
}

func (w service) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	c, port, ready, err := w.plan(p)
	if err != nil {
		return bench.Part{}, err
	}
	addr, err := served(w, s)
	if err != nil {
		return bench.Part{}, err
	}
	say := strings.NewReplacer("{server}", addr.String(), "{port}", strconv.Itoa(port)).Replace
	command := func(param string, image *bench.ImageConfig) bench.Command {
		x := c.command(param, s.Timing, image, say)
		x.Env["TARE_SERVER"], x.Env["TARE_PORT"] = addr.String(), strconv.Itoa(port)
		return x
	}
	switch part {
	case bench.SubjectPart:
		steps := bench.Part{Main: command("server", s.Image), Files: copied(c.files), Service: true, Ready: ready}
		steps.Main.Timeout = serviceLimit
		if p["probe"] == "tcp" {
			steps.Listen = port
		}
		return steps, nil
	case servicePart:
		steps := bench.Part{Main: command("load", nil), Files: copied(slices.Concat(c.files, c.clients)), OKExit: c.okExit}
		if len(c.argv["warmup"]) > 0 {
			steps.Warm = []bench.Command{command("warmup", nil)}
		}
		return steps, nil
	}
	return bench.Part{}, unknownPart(w, part)
}

// Carries are both programs, what runs before the load, and the files.
func (w service) Carries(p bench.Params) (commands [][]string, files []string, err error) {
	c, _, _, err := w.plan(p)
	if err != nil {
		return nil, nil, err
	}
	commands, files = c.carries("server", "load", "warmup")
	return commands, files, nil
}

// Program implements [bench.Carrier].
func (service) Program(part string) string {
	if part == servicePart {
		return "load"
	}
	return "server"
}

func (w service) Parse(p bench.Params, _ bench.Setting, out bench.Output) ([]bench.Value, error) {
	c, _, _, err := w.plan(p)
	if err != nil {
		return nil, err
	}
	return c.parse("load", out)
}
