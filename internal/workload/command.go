package workload

import "tare/internal/bench"

// command runs the user's own program and reads its figures from what it
// prints, by JSON path or regular expression. Its wall time is always a metric.
type command struct{}

func (command) Name() string { return "command" }

func (command) Summary() string {
	return "your own program, its results read by JSON path or regular expression"
}

func (command) Resource() string { return "other" }

func (command) Parts() []string { return nil }

// Programs is empty: which program it is only the parameters know.
func (command) Programs() []string { return nil }

func (command) Params() []bench.Param {
	return append([]bench.Param{
		{Name: "argv", Kind: bench.KindJSON, Required: true,
			Doc: `the program and its arguments, a list such as ["redis-benchmark", "--csv"]; no shell is involved`},
	}, ownParams...)
}

func (w command) Metrics(p bench.Params) ([]bench.Metric, error) {
	c, err := planOwn(w, p, "argv")
	return c.listed, err
}

func (w command) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	if part != bench.SubjectPart {
		return bench.Part{}, unknownPart(w, part)
	}
	c, err := planOwn(w, p, "argv")
	if err != nil {
		return bench.Part{}, err
	}
	steps := bench.Part{Main: c.command("argv", s.Timing, s.Image, asWritten), Files: copied(c.files), OKExit: c.okExit}
	if len(c.argv["warmup"]) > 0 {
		steps.Warm = []bench.Command{c.command("warmup", s.Timing, s.Image, asWritten)}
	}
	return steps, nil
}

// Carries are the program, what runs before it, and its files.
func (w command) Carries(p bench.Params) (commands [][]string, files []string, err error) {
	c, err := planOwn(w, p, "argv")
	if err != nil {
		return nil, nil, err
	}
	commands, files = c.carries("argv", "warmup")
	return commands, files, nil
}

// Program implements [bench.Carrier].
func (command) Program(string) string { return "argv" }

func (w command) Parse(p bench.Params, _ bench.Setting, out bench.Output) ([]bench.Value, error) {
	c, err := planOwn(w, p, "argv")
	if err != nil {
		return nil, err
	}
	return c.parse("argv", out)
}
