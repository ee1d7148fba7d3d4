package selftest

import (
	"iter"
	"math"
	"testing"

	"tare/internal/analysis/stats"
	"tare/internal/bench"
)

// lasting gives every outcome phases of so many seconds, the pause of 0.5 s
// after them not among them.
func lasting(outcomes iter.Seq2[*bench.Outcome, error], seconds func(*bench.Outcome) float64) iter.Seq2[*bench.Outcome, error] {
	return func(yield func(*bench.Outcome, error) bool) {
		for o, err := range outcomes {
			const begin = 7e9
			o.Phases = []bench.Phase{{Name: "setup", Start: begin, End: begin + 1e8}, {Name: "close", Start: begin + 1e8, End: begin + int64(1e9*seconds(o))}}
			if !yield(o, err) {
				return
			}
		}
	}
}

// noise is the same from run to run and independent from block to block.
func noise(block int, spread float64) float64 {
	x := math.Sin(float64(block)*12.9898) * 43758.5453
	return math.Exp(spread * 2 * (x - math.Floor(x) - 0.5))
}

func steps(min, max int) bench.Until {
	return bench.Until{Interval: 0.03, Min: min, Max: max, Looks: stats.Looks(min, max)}
}

// Trials of a second on native, two on lxc and four on docker, pauses included.
func threePlatforms(blocks int, value func(platform, block int) float64) Ran {
	p, outcomes := synthetic([]bench.PlatformRef{ref("native", ""), ref("lxc", ""), ref("docker", "")}, blocks, value)
	p.Baseline = "native"
	for i := range p.Scenes {
		p.Scenes[i].Timing.Cooldown = 5e8
	}
	took := map[string]float64{"cpu/native": 0.5, "cpu/lxc": 1.5, "cpu/docker": 3.5}
	return Ran{p, lasting(outcomes, func(o *bench.Outcome) float64 { return took[o.Scene] })}
}

func TestEachPlatformEndsByItself(t *testing.T) {
	s, err := EvaluateStopping(steps(5, 30), []int{10, 30}, threePlatforms(30, func(platform, block int) float64 {
		return []float64{100, 99 * noise(block, 0.01), 99 * noise(block, 0.04)}[platform]
	}))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Starts) != 6 || s.Starts[0] != 1 || s.Starts[5] != 26 || s.Whole != 30 || len(s.Rows) != 2 {
		t.Fatalf("%+v", s)
	}
	lxc, docker := s.Rows[0], s.Rows[1]
	if lxc.Blocks != 5 || docker.Blocks <= 5 {
		t.Errorf("lxc ends at %g, docker at %g", lxc.Blocks, docker.Blocks)
	}
	if lxc.Narrow != 6 || docker.Narrow != 6 || *docker.Width > 0.03 || *lxc.Width >= *docker.Width {
		t.Errorf("%+v, %+v", lxc, docker)
	}
	// Seconds are of the row and the baseline, the pause included.
	if math.Abs(lxc.Seconds-3*lxc.Blocks) > 1e-9 || math.Abs(docker.Seconds-5*docker.Blocks) > 1e-9 {
		t.Errorf("lxc took %g s, docker %g s in %g blocks", lxc.Seconds, docker.Seconds, docker.Blocks)
	}
	for k, blocks := range []float64{10, 30} {
		f := docker.Fixed[k]
		if math.Abs(f.Time-docker.Blocks/blocks) > 1e-9 || math.Abs(f.Seconds-5*blocks) > 1e-9 {
			t.Errorf("%g blocks: %+v", blocks, f)
		}
		// A block of native, lxc and docker takes 1, 2 and 4 s; native goes on with docker.
		total, all := (5*docker.Blocks+2*5)/(7*blocks), (docker.Blocks+5)/2/blocks
		if a := s.Against[k]; math.Abs(a.Total-total) > 1e-9 || math.Abs(a.All-all) > 1e-9 {
			t.Errorf("%+v, want %g and %g", a, total, all)
		}
	}
	// Whoever knew the number beforehand needs no correction for looking.
	if docker.Hindsight > docker.Blocks || docker.Time < 1 || lxc.Hindsight > lxc.Blocks {
		t.Errorf("with hindsight: lxc %g, docker %g blocks", lxc.Hindsight, docker.Hindsight)
	}
	if a := s.Against[2]; a.Blocks < 5 || a.Blocks > 30 || a.Both != 2 {
		t.Errorf("one number for all rows: %+v", a)
	}
	f := s.Finding()
	if !f.Complete || f.Size != 2 || len(f.Claims) != 2 || f.Claims[1].Held != Yes || len(f.Tables) != 2 || len(f.Tables[0].Rows[0]) != len(f.Tables[0].Head) {
		t.Errorf("%+v", f)
	}
}

func TestARowThatStaysWideIsCountedAsSuch(t *testing.T) {
	s, err := EvaluateStopping(steps(5, 30), []int{10, 30}, threePlatforms(30, func(platform, block int) float64 {
		if platform == 2 && block%3 == 0 {
			return math.NaN() // fails; takes time all the same
		}
		return []float64{100, 100, 100 * noise(block, 0.5)}[platform]
	}))
	if err != nil {
		t.Fatal(err)
	}
	docker := s.Rows[1]
	if docker.Blocks != 30 || docker.Narrow != 0 || docker.Seconds != 150 || *docker.Width <= 0.03 || *docker.Fixed[1].Width >= *docker.Width {
		t.Errorf("%+v", docker)
	}
	// lxc's ratios are all 1: within at once.
	if a := s.Against[1]; a.Both != 1 || a.Neither != 1 || math.Abs(a.Reached-5./30) > 1e-9 || s.Rows[0].Blocks != 5 {
		t.Errorf("%+v, %+v", a, s.Rows[0])
	}
	if c := s.Finding().Claims[1]; c.Held != Yes || c.Found != "0.17 of it, over the 1 of 2 rows that both bring there" {
		t.Errorf("%+v", c)
	}
}

func TestTooFewBlocksDecideNothing(t *testing.T) {
	run := threePlatforms(30, func(int, int) float64 { return 1 })
	whole := run.Outcomes
	run.Outcomes = func(yield func(*bench.Outcome, error) bool) {
		for o, err := range whole {
			if o.Scene == "cpu/docker" && o.Block == 12 {
				o.Status = bench.Aborted
			}
			if !yield(o, err) {
				return
			}
		}
	}
	s, err := EvaluateStopping(steps(5, 30), []int{10, 30}, run)
	if err != nil || s.Whole != 11 || len(s.Rows) != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	if f := s.Finding(); f.Complete || f.Claims[0].Held != Open || f.Short != "11 blocks of 30" {
		t.Errorf("%+v", f)
	}
}
