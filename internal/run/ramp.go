package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/host/clock"
	"tare/internal/host/proc"
	"tare/internal/meter"
)

// ramp launches idle instances one after the other, and after each step
// measures what they take together, until it is as large as declared or a limit is
// reached. Only a ramp whose first step was never complete has failed.
type ramp struct {
	scene    *bench.Scene
	account  *account
	actors   cast
	launcher *launcher
	jobs     *jobs
	observer *observer
	before   meter.Count // what the host held without them
	density  bench.Density
}

// run carries the ramp out.
func (r *ramp) run(ctx context.Context) (err error) {
	if r.before, err = meter.Census("/proc", "/sys", nil); err != nil {
		return err
	}
	if err := r.observer.startOnHost(); err != nil {
		return err
	}
	defer func() { err = r.observer.end(err) }()
	if err := r.grow(ctx); err != nil {
		return err
	}
	d := &r.density
	if n := len(d.Steps); n == 0 || d.Steps[n-1].Instances < d.Instances {
		if err := r.step(ctx); err != nil {
			return err
		}
	}
	r.account.enter("collect")
	o := &r.account.outcome
	o.Density = d
	last := d.Steps[len(d.Steps)-1]
	o.Window = [2]int64{last.Start, last.End}
	r.jobs.takeFacts(ctx, r.actors[0]) // they are all alike
	takeHostFacts(r.actors[0])
	o.Values, err = rampValues(d, r.actors[:d.Instances])
	return err
}

// grow launches one instance after the other and says which limit that came to. Each
// complete step but the last is measured.
func (r *ramp) grow(ctx context.Context) error {
	d, plan := &r.density, r.scene.Ramp
	began := clock.Now()
	r.account.enter("launch")
	for _, a := range r.actors {
		if d.Limit, d.Why = reached(plan, d.Instances, time.Duration(clock.Now()-began)); d.Limit != "" {
			return nil
		}
		if err := r.join(ctx, a); err != nil {
			if ctx.Err() != nil || d.Instances == 0 {
				return err
			}
			d.Limit, d.Why = bench.LimitLaunch, fmt.Sprintf("instance %d did not start: %v", d.Instances+1, err)
			return nil
		}
		d.Instances++
		if d.Instances%plan.Step == 0 && d.Instances < plan.To {
			if err := r.step(ctx); err != nil {
				return err
			}
			r.account.enter("launch")
		}
	}
	d.Limit, d.Why = bench.LimitCount, fmt.Sprintf("all %d were up", d.Instances)
	return nil
}

// join launches one more instance and has it sampled from then on. One
// that does not come up is closed again.
func (r *ramp) join(ctx context.Context, a *actor) error {
	err := r.launcher.launch(ctx, a)
	if err != nil {
		err = fmt.Errorf("launch %s on %s: %w", a.Name, a.Platform, err)
	} else if err = a.firstCommand(ctx); err == nil {
		a.outcome.Values = a.startTimes()
		err = r.observer.join(a)
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	if a.instance != nil {
		a.outcome.Log = a.log()
	}
	err = errors.Join(err, r.launcher.end(a))
	a.client, a.instance = nil, nil // it is closed once
	return err
}

// step lets the instances settle, watches them for the measured time and counts what
// they hold.
func (r *ramp) step(ctx context.Context) error {
	d := &r.density
	r.account.enter("warmup")
	if err := sleep(ctx, r.scene.Timing.Warmup); err != nil {
		return err
	}
	r.account.enter("measure")
	scopes, err := r.scopes(d.Instances)
	if err != nil {
		return err
	}
	first, err := meter.Census("/proc", "/sys", scopes)
	if err != nil {
		return err
	}
	s := bench.DensityStep{Instances: d.Instances, Start: clock.Now()}
	host0, own0, known := busyTasks()
	if err := sleep(ctx, r.scene.Timing.Measure); err != nil {
		return err
	}
	s.End = clock.Now()
	host1, own1, still := busyTasks()
	last, err := meter.Census("/proc", "/sys", scopes)
	if err != nil {
		return err
	}
	seconds := float64(s.End-s.Start) / 1e9
	if first.Known && last.Known {
		cores := max(0, last.CPU-first.CPU) / seconds
		s.CPU = &cores
	}
	if known && still {
		host, own := max(0, host1-host0)/seconds, max(0, own1-own0)/seconds
		s.HostCPU, s.Observer = &host, &own
	}
	s.Memory, s.Processes, s.Merged = last.Memory, last.Processes, last.Merged-r.before.Merged
	for _, name := range []string{bench.DensityAvailable, bench.DensityUsed} {
		if v, ok := s.Memory[name]; ok {
			s.Memory[name] = v - r.before.Memory[name]
		}
	}
	d.Steps = append(d.Steps, s)
	return nil
}

// scopes asks each of the first n where its cost is paid by now: a program
// that serves it may have come up after it greeted.
func (r *ramp) scopes(n int) ([]bench.Scope, error) {
	all := make([]bench.Scope, n)
	for i, a := range r.actors[:n] {
		s, err := a.instance.Scope()
		if err != nil {
			return nil, fmt.Errorf("scope of %s: %w", a.Name, err)
		}
		all[i], a.outcome.Scope = s, &s
	}
	return all, nil
}

// busyTasks is the CPU time of all the host's tasks, and of Tare's own process, in seconds.
func busyTasks() (host, own float64, ok bool) {
	t, err := meter.OpenTasks("/proc")
	if err != nil {
		return 0, 0, false
	}
	defer t.Close()
	v := make([]float64, len(t.Columns())) // tasks, observer
	err = t.Read(v)
	return v[0], v[1], err == nil
}

// reached says which limit of the ramp is reached before one more is launched.
// What the host does not tell bounds nothing.
func reached(r *bench.Ramp, instances int, after time.Duration) (bench.Limit, string) {
	if instances == 0 {
		return "", ""
	}
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		if m, err := proc.ParseMeminfo(b); err == nil && m.Used()/m.Total >= r.Until.Memory {
			return bench.LimitMemory, fmt.Sprintf("%.0f %% of the host's memory were in use, the limit is %.0f %%", 100*m.Used()/m.Total, 100*r.Until.Memory)
		}
	}
	if used, most := tasks(); r.Until.Pids > 0 && most > 0 && float64(used) >= r.Until.Pids*float64(most) {
		return bench.LimitPids, fmt.Sprintf("%d of the host's %d tasks were in use, the limit is %.0f %%", used, most, 100*r.Until.Pids)
	}
	if r.Until.Time > 0 && after >= r.Until.Time {
		return bench.LimitTime, fmt.Sprintf("%.0f s were over, the limit is %v", after.Seconds(), r.Until.Time)
	}
	return "", ""
}

// tasks are how many the host has, and may have: the lower of the kernel's
// bounds on numbers and on memory for them (proc_sys_kernel(5)).
func tasks() (used, most int) {
	f := strings.Fields(word("/proc/loadavg"))
	if len(f) < 4 {
		return 0, 0
	}
	_, all, _ := strings.Cut(f[3], "/")
	used, err := strconv.Atoi(all)
	if err != nil {
		return 0, 0
	}
	for _, file := range []string{"/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"} {
		if n, err := strconv.Atoi(word(file)); err == nil && (most == 0 || n < most) {
			most = n
		}
	}
	return used, most
}

// rampValues are the values of bench.RampMetrics. A slope needs two steps; of
// fewer its metric is missing.
func rampValues(c *bench.Density, actors []*actor) ([]bench.Value, error) {
	var values []bench.Value
	for _, name := range []string{bench.DensityPSS, bench.DensityRSS, bench.DensityCgroup, bench.DensityCgroupHeld} {
		var n, bytes []float64
		for _, s := range c.Steps {
			if v, ok := s.Memory[name]; ok {
				n, bytes = append(n, float64(s.Instances)), append(bytes, v)
			}
		}
		if l, err := stats.FitLine(n, bytes); err == nil {
			values = append(values, bench.Value{Metric: "memory_" + name, Value: l.Slope / float64(bench.MiB)})
		}
	}
	starts, err := combine(bench.StartupMetrics, actors)
	if err != nil {
		return nil, fmt.Errorf("start-ups of the instances together: %w", err)
	}
	for _, v := range starts {
		if v.Metric == "time_to_first_command" {
			values = append(values, v)
		}
	}
	return values, nil
}
