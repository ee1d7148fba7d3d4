package agent

import (
	"context"
	"os/exec"
	"testing"

	"tare/internal/bench"
	"tare/internal/host/clock"
)

// BenchmarkSample samples the real agent with a load like that of a benchmark
// beneath it: a few processes or many, at rest or forking. It reports the
// CPU time the agent spends on a sample, which at one a second is its cost.
func BenchmarkSample(b *testing.B) {
	for _, mode := range []struct {
		name   string
		args   []string
		script string
	}{
		{"tree of 3", nil, "sleep 1000 & exec sleep 1000"},
		{"tree of 66", nil, "for i in $(seq 64); do sleep 1000 & done; exec sleep 1000"},
		{"forking tree", nil, "for i in $(seq 16); do sleep 1000 & done; while :; do /bin/true; sleep 0.01; done"},
		{"own kernel", []string{"--own-kernel"}, "exec sleep 1000"},
	} {
		b.Run(mode.name, func(b *testing.B) {
			c := dialed(b, mode.args...)
			p, err := c.Start(testContext(b), bench.Command{Argv: []string{"sh", "-c", mode.script}}, nil)
			if err != nil {
				b.Fatal(err)
			}
			values := make([]float64, len(c.Columns()))
			at := len(values) - 1 // bench.ColObserver
			sample := func() {
				if _, err := c.Sample(context.Background(), values); err != nil {
					b.Fatal(err)
				}
			}
			sample()
			before := values[at]
			for b.Loop() {
				sample()
			}
			b.ReportMetric((values[at]-before)/float64(b.N)*1e6, "cpu-us/sample")
			if err := p.Kill(context.Background()); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkStart is a whole life: the process made, the greeting, /bin/true, bye.
func BenchmarkStart(b *testing.B) {
	program := buildAgent(b)
	var greeted, done int64
	for b.Loop() {
		cmd := exec.Command(program, "serve")
		in, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		start := clock.Now()
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		c, err := Dial(testContext(b), duplex{out, in, nil})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Exec(testContext(b), bench.Command{Argv: []string{"/bin/true"}}); err != nil {
			b.Fatal(err)
		}
		greeted += c.GreetedAt() - start
		done += clock.Now() - start
		c.Close()
		cmd.Wait()
	}
	b.ReportMetric(float64(greeted)/float64(b.N)/1e3, "greeted-us")
	b.ReportMetric(float64(done)/float64(b.N)/1e3, "first-command-us")
}

func BenchmarkProbe(b *testing.B) {
	c := dialed(b)
	for b.Loop() {
		if _, err := c.Probe(context.Background(), 1); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOutput moves 16 MiB of output through the agent, and reports the CPU
// time that costs the agent.
func BenchmarkOutput(b *testing.B) {
	c := dialed(b)
	values := make([]float64, len(c.Columns()))
	b.SetBytes(16 << 20)
	for b.Loop() {
		if _, err := c.Exec(context.Background(), shell("head -c 16777216 /dev/zero")); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := c.Sample(context.Background(), values); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(values[len(values)-1]/float64(b.N)*1e3, "cpu-ms/op")
}
