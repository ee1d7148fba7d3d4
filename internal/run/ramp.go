package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
	"tare/internal/clock"
	"tare/internal/meter"
	"tare/internal/proc"
	"tare/internal/stats"
)

// ramp launches idle instances one after the other, and after each step
// measures what the crowd takes, until it is as large as declared or a limit is
// reached. Only a ramp whose first step was never complete has failed.
func (x *trial) ramp(ctx context.Context) (err error) {
	r := x.scene.Ramp
	crowd := &bench.Crowd{}
	before, err := meter.Census("/proc", "/sys", nil)
	if err != nil {
		return err
	}
	if err := x.startQuietSampler(); err != nil {
		return err
	}
	defer func() { err = x.endSampling(err) }()
	began := clock.Now()
	x.enter("launch")
	for _, a := range x.actors {
		if crowd.Limit, crowd.Why = reached(r, crowd.Instances, time.Duration(clock.Now()-began)); crowd.Limit != "" {
			break
		}
		if err := x.join(ctx, a); err != nil {
			if ctx.Err() != nil || crowd.Instances == 0 {
				return err
			}
			crowd.Limit, crowd.Why = bench.LimitLaunch, fmt.Sprintf("instance %d did not start: %v", crowd.Instances+1, err)
			break
		}
		crowd.Instances++
		if crowd.Instances%r.Step == 0 && crowd.Instances < r.To {
			if err := x.step(ctx, crowd, before); err != nil {
				return err
			}
			x.enter("launch")
		}
	}
	if crowd.Limit == "" {
		crowd.Limit, crowd.Why = bench.LimitCount, fmt.Sprintf("all %d were up", crowd.Instances)
	}
	if n := len(crowd.Steps); n == 0 || crowd.Steps[n-1].Instances < crowd.Instances {
		if err := x.step(ctx, crowd, before); err != nil {
			return err
		}
	}
	x.enter("collect")
	x.outcome.Crowd = crowd
	last := crowd.Steps[len(crowd.Steps)-1]
	x.outcome.Window = [2]int64{last.Start, last.End}
	x.takeFacts(ctx, x.actors[0]) // they are all alike
	x.actors[0].takeHostFacts()
	x.outcome.Values, err = rampValues(crowd, x.actors[:crowd.Instances])
	return err
}

// join launches one instance of the crowd and has it sampled from then on. One
// that does not come up is closed again.
func (x *trial) join(ctx context.Context, a *actor) error {
	err := x.launchActor(ctx, a)
	if err != nil {
		err = fmt.Errorf("launch %s on %s: %w", a.Name, a.Platform, err)
	} else if err = x.answer(ctx, a); err == nil {
		err = x.watchQuietly(a)
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	if a.instance != nil {
		a.outcome.Log = a.log()
	}
	err = errors.Join(err, x.end(a))
	a.client, a.instance = nil, nil // it is closed once
	return err
}

// answer runs the first command inside and keeps the two start-up times.
func (x *trial) answer(ctx context.Context, a *actor) error {
	if err := x.firstCommand(ctx, a); err != nil {
		return err
	}
	a.outcome.Values = []bench.Value{
		{Metric: "ready", Value: a.outcome.ReadyMS},
		{Metric: "first_command", Value: float64(a.first.Returned-a.instance.Launched()) / 1e6},
	}
	return nil
}

// watchQuietly records where the actor's cost is paid and adds its meter.
func (x *trial) watchQuietly(a *actor) error {
	s, err := a.instance.Scope()
	if err != nil {
		return fmt.Errorf("scope of %s: %w", a.Name, err)
	}
	a.outcome.Scope = &s
	if len(s.Shared) > 0 {
		if x.daemons == nil {
			x.daemons = map[string][]bench.Process{}
		}
		x.daemons[a.Platform.Driver()] = s.Shared
	}
	if x.sampler == nil {
		return nil
	}
	q, err := meter.OpenQuiet(s)
	if err != nil {
		x.warn("%s is not sampled: %v", a.Name, err)
		return nil
	}
	x.sampler.add(a.Name, q)
	return nil
}

// startQuietSampler begins to sample the host; instances are added as they come up.
func (x *trial) startQuietSampler() error {
	if x.scene.Unmetered {
		x.outcome.Unmetered = true
		x.warn("no meter was read, on purpose: the specification says unmetered")
		return nil
	}
	s := newSampler()
	host, err := meter.OpenHost()
	if err != nil {
		return err
	}
	s.add("", host...)
	return x.begin(s)
}

// step lets the crowd settle, watches it for the measured time and counts what
// it holds.
func (x *trial) step(ctx context.Context, crowd *bench.Crowd, before meter.Count) error {
	x.enter("warmup")
	if err := pause(ctx, x.scene.Timing.Warmup); err != nil {
		return err
	}
	x.enter("measure")
	scopes, err := x.scopes(crowd.Instances)
	if err != nil {
		return err
	}
	first, err := meter.Census("/proc", "/sys", scopes)
	if err != nil {
		return err
	}
	s := bench.CrowdStep{Instances: crowd.Instances, Start: clock.Now()}
	host0, own0, known := busyTasks()
	if err := pause(ctx, x.scene.Timing.Measure); err != nil {
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
	s.Memory, s.Processes, s.Merged = last.Memory, last.Processes, last.Merged-before.Merged
	for _, name := range []string{bench.CrowdAvailable, bench.CrowdUsed} {
		if v, ok := s.Memory[name]; ok {
			s.Memory[name] = v - before.Memory[name]
		}
	}
	crowd.Steps = append(crowd.Steps, s)
	return nil
}

// scopes asks each of the first n where its cost is paid by now: a program
// that serves it may have come up after it greeted.
func (x *trial) scopes(n int) ([]bench.Scope, error) {
	all := make([]bench.Scope, n)
	for i, a := range x.actors[:n] {
		s, err := a.instance.Scope()
		if err != nil {
			return nil, fmt.Errorf("scope of %s: %w", a.Name, err)
		}
		all[i], a.outcome.Scope = s, &s
	}
	return all, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
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
func rampValues(c *bench.Crowd, actors []*actor) ([]bench.Value, error) {
	var values []bench.Value
	for _, name := range []string{bench.CrowdPSS, bench.CrowdRSS, bench.CrowdCgroup, bench.CrowdCgroupHeld} {
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
		return nil, fmt.Errorf("start-ups of the crowd together: %w", err)
	}
	for _, v := range starts {
		if v.Metric == "first_command" {
			values = append(values, v)
		}
	}
	return values, nil
}
