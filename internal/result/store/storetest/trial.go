package storetest

import (
	"math"
	"math/rand/v2"
	"time"

	"tare/internal/bench"
)

const second = int64(time.Second)

// A generator makes the trials of one run one after the other.
type generator struct {
	Options
	rng *rand.Rand
	now int64 // CLOCK_MONOTONIC nanoseconds
}

// jitter is a factor around 1 with the given standard deviation of its log.
func (g *generator) jitter(sd float64) float64 { return math.Exp(g.rng.NormFloat64() * sd) }

// launchMS is the start-up time of a platform in milliseconds.
func launchMS(platform string) float64 {
	switch platform {
	case "docker":
		return 300
	case "lxc":
		return 95
	case "kvm", "qemu-tcg":
		return 1850
	}
	return 4.1
}

func (g *generator) trial(t bench.Trial, s *bench.Scene, fails bool) (*bench.Outcome, []bench.Sample) {
	c := caseOf(s.Case)
	o := &bench.Outcome{
		Trial: t.ID, Block: t.Block, Scene: t.Scene, Status: bench.Done, Origin: g.now,
		Started: time.Unix(1763719200, g.now-1_000_000_000_000).UTC().Format(time.RFC3339Nano),
	}
	phase := func(name string, d float64) bench.Phase {
		p := bench.Phase{Name: name, Start: g.now, End: g.now + int64(d*1e9)}
		g.now = p.End
		o.Phases = append(o.Phases, p)
		return p
	}
	ready := launchMS(s.Platform.Name) * g.jitter(0.05)
	phase("setup", 0.02)
	phase("launch", ready/1e3)
	o.Actors = g.actors(s, ready)
	if fails {
		o.Status, o.Phase = bench.Failed, "prepare"
		o.Error, o.Hint = "the agent did not answer within 30 s", "look at the platform's log below"
		phase("close", 0.3)
		phase("cooldown", s.Timing.Cooldown.Seconds())
		return o, nil
	}
	var samples []bench.Sample
	if c.kind == bench.Startup {
		p := phase("measure", 0.01)
		o.Window = [2]int64{o.Phases[1].Start, p.End}
	} else {
		phase("prepare", 0.05)
		phase("warmup", s.Timing.Warmup.Seconds())
		p := phase("measure", s.Timing.Measure.Seconds())
		o.Window = [2]int64{p.Start, p.End}
		samples = g.samples(c, s, o.Window)
	}
	o.Values = g.values(c, s.Platform.Name, ready)
	o.Actors[0].Values = o.Values
	if c.kind == bench.Startup {
		o.Actors[0].StartUp = startUp(s.Platform.Name, o.Window[0], ready, o.Values[1].Value)
	}
	for i, m := range c.metrics {
		if m.Combine == bench.Merge {
			share(o, m, o.Values[i].Value, o.Values[0].Value*s.Timing.Measure.Seconds()/float64(c.instances))
		}
	}
	if c.instances == 1 {
		for i := range o.Actors {
			o.Actors[i].Output = &bench.Output{Wall: time.Duration(g.Seconds) * time.Second}
		}
	}
	phase("collect", 0.02)
	phase("close", 0.1*g.jitter(0.1))
	phase("cooldown", s.Timing.Cooldown.Seconds())
	return o, samples
}

func (g *generator) values(c caseModel, platform string, ready float64) []bench.Value {
	drift := g.jitter(g.Noise)
	var values []bench.Value
	for i, m := range c.metrics {
		v := c.native[i]
		switch {
		case c.kind == bench.Startup:
			v = ready + 3*float64(i)
		case m.Better == bench.HigherIsBetter:
			v *= g.Ratio[platform] * drift
		default:
			v /= g.Ratio[platform] * drift
		}
		values = append(values, bench.Value{Metric: m.Name, Value: v * g.jitter(g.Noise/4)})
	}
	return values
}

func (g *generator) actors(s *bench.Scene, ready float64) []bench.ActorOutcome {
	var out []bench.ActorOutcome
	for _, a := range s.Actors {
		own := ownKernel(a.Platform.Name)
		o := bench.ActorOutcome{
			Actor: a.Name, Role: a.Role, Platform: a.Platform, Version: version(a.Platform.Name), Label: label(a.Platform.Name),
			CPUSet: a.CPUSet, CPUsSeen: 1, Kernel: "6.12.1", ReadyMS: ready,
			Launch: []string{a.Platform.Name, "start"}, Command: []string{"sysbench", "cpu", "run"},
			Scope: scope(a.Platform.Name, a.Name), Clock: &bench.ClockFit{Uncertainty: 40_000},
		}
		if own {
			o.Kernel = "6.12.48+deb13-cloud-amd64"
			o.Clock.Offset, o.Clock.Drift, o.Clock.Uncertainty = -second*900, 12_500, 900_000
		}
		o.ClockOffset, o.ClockUncertainty = o.Clock.Offset, o.Clock.Uncertainty
		if a.Platform.Name == "lxc" {
			o.Unenforced = []string{"scratch space is not bounded in size"}
		}
		out = append(out, o)
	}
	return out
}

func scope(platform, actor string) *bench.Scope {
	s := &bench.Scope{OwnKernel: ownKernel(platform), Cgroups: map[string]string{"cpuacct": "/sys/fs/cgroup/cpuacct/tare/" + actor}}
	switch platform {
	case "docker":
		s.Helpers = []bench.Process{{PID: 1001, Part: "shim"}}
		s.Shared = []bench.Process{{PID: 900, Part: "daemon"}, {PID: 901, Part: "containerd"}}
	case "lxc":
		s.Helpers = []bench.Process{{PID: 1001, Part: "monitor"}}
	case "kvm", "qemu-tcg":
		s.Helpers = []bench.Process{{PID: 1001, Part: "vmm"}}
	}
	return s
}

func ownKernel(platform string) bool { return platform == "kvm" || platform == "qemu-tcg" }
