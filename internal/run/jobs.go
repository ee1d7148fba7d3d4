package run

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"tare/internal/bench"
	"tare/internal/guest/agent"
)

// jobs are what the actors of a trial are to do.
type jobs struct {
	workloads map[string]bench.Workload
	image     *bench.ImageConfig
	kernel    *bench.OwnKernel // of machines without an agent; nil for none
	network   Testnet          // nil for none
	timing    bench.Timing
	llc       bench.Bytes
	account   *account
	actors    cast
	beside    *beside
}

// prepare makes every actor ready: files placed, services running, the
// subjects' own preparation done, and then the neighbours at work.
func (j *jobs) prepare(ctx context.Context) error {
	for _, a := range j.actors {
		if err := j.instruct(a); err != nil {
			return err
		}
	}
	for _, a := range j.actors.inOrder(j.workloads) {
		if j.actors.disturbs(a) {
			if err := j.beside.unleash(ctx); err != nil {
				return err
			}
		}
		if a.Role.OfSubject() {
			j.takeFacts(ctx, a)
		}
		if a.away != nil {
			j.takeAway(ctx, a)
		}
		if a.Workload == "" || a.Platform.Agentless() { // its server runs from boot
			continue
		}
		if err := j.prepareActor(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// instruct has an actor's workload say what it is to do.
func (j *jobs) instruct(a *actor) (err error) {
	if a.Workload == "" {
		return nil
	}
	w, ok := j.workloads[a.Workload]
	if !ok {
		return fmt.Errorf("workload %q of %s is not known: %w", a.Workload, a.Name, bench.ErrInvalid)
	}
	if a.part, err = w.Steps(a.Part, a.Params, j.setting(a)); err != nil {
		return fmt.Errorf("workload %s in %s: %w", a.Workload, a.Name, err)
	}
	return nil
}

// published is the port that an actor's platform is to publish; 0 for none. Addresses are not known yet,
// and do not change it.
func (j *jobs) published(a *actor) (int, error) {
	w := j.workloads[a.Workload]
	if w == nil || !a.Platform.Publishes() {
		return 0, nil
	}
	s := j.setting(a)
	s.Addr = map[string]netip.Addr{}
	for _, part := range append(w.Parts(), bench.SubjectPart) {
		s.Addr[part] = netip.IPv4Unspecified()
	}
	part, err := w.Steps(a.Part, a.Params, s)
	if err != nil || !part.Service {
		return 0, err
	}
	return part.Listen, nil
}

// prepareActor makes one actor with a workload ready.
func (j *jobs) prepareActor(ctx context.Context, a *actor) error {
	if j.writesRoot(a) {
		j.takeStored(a, bench.StoredMetrics[0].Name)
	}
	if err := a.place(ctx); err != nil {
		return err
	}
	for _, c := range a.part.Prepare {
		if err := a.must(ctx, c, "prepare"); err != nil {
			return err
		}
	}
	switch {
	case a.part.Service:
		if err := j.start(ctx, a); err != nil {
			return err
		}
		if j.actors.disturbs(a) {
			j.beside.follow(a)
		} else {
			j.attend(ctx, a)
		}
		return j.listens(ctx, a)
	case j.actors.disturbs(a) && !j.actors.isRead(a):
		j.beside.repeat(a)
	}
	return nil
}

// setting is what an actor's workload is told of the trial.
func (j *jobs) setting(a *actor) bench.Setting {
	s := bench.Setting{Timing: j.timing, Shape: a.Shape, LLC: j.llc, Addr: j.actors.addresses(a)}
	for i, b := range j.actors.members(a) {
		s.Members = append(s.Members, b.addr)
		if a == b {
			s.Member = i
		}
	}
	if a.Role != bench.Peer {
		s.Image = j.image
	}
	return s
}

// What ends a launch: readyEvent alike for every platform, acceptedEvent of a machine without an agent.
const (
	readyEvent    = "first byte of the agent's greeting"
	acceptedEvent = "first connection that its server accepted"
)

// takeFacts asks the agent of a subject or a member what the instance looks like from inside. A
// fact that cannot be had is absent, and the audit says unknown: it is no
// reason to fail a trial.
func (j *jobs) takeFacts(ctx context.Context, a *actor) {
	facts := j.factsInside(ctx, a)
	if d, ok := a.instance.(bench.Described); ok {
		maps.Copy(facts, d.Facts())
	}
	a.outcome.Facts = facts
	note(facts, bench.FactHostSwap, swapSpaces("/proc/swaps"))
	note(facts, bench.FactHostGovernor, cpuFiles(a.CPUSet, "scaling_governor"))
	note(facts, bench.FactHostClockAllowed, cpuFiles(a.CPUSet, "scaling_max_freq"))
}

// takeAway keeps what is known of a peer's host, and which builds of its programs are there: they are not the
// image's.
func (j *jobs) takeAway(ctx context.Context, a *actor) {
	var q agent.FactsRequest
	if w := j.workloads[a.Workload]; w != nil {
		q.Programs = w.Programs()
	}
	facts, err := a.client.Facts(ctx, q)
	if err != nil {
		j.account.warn("the facts of %s are not known: %v", a.Name, err)
		facts = map[string]string{}
	}
	if d, ok := a.instance.(bench.Described); ok {
		maps.Copy(facts, d.Facts())
	}
	a.outcome.Facts = facts
}

// factsInside are those that are told inside, with the event that ended the launch.
func (j *jobs) factsInside(ctx context.Context, a *actor) map[string]string {
	if a.Platform.Agentless() {
		return map[string]string{bench.FactReady: acceptedEvent, bench.FactOwnKernel: j.kernel.String()}
	}
	q := agent.FactsRequest{Scratch: bench.ScratchDir}
	if w := j.workloads[a.Workload]; w != nil {
		q.Programs = w.Programs()
	}
	facts, err := a.client.Facts(ctx, q)
	if err != nil {
		j.account.warn("the facts of %s are not known: %v", a.Name, err)
		facts = map[string]string{}
	}
	facts[bench.FactReady] = readyEvent
	return facts
}

// writesRoot says whether the actor's workload is one whose instance is looked
// at for what it takes of the disk.
func (j *jobs) writesRoot(a *actor) bool {
	_, ok := j.workloads[a.Workload].(bench.RootWriter)
	return ok && a.Role == bench.Subject
}

// takeStored keeps what the actor's instance takes of the host's disk now, in
// KiB, under the metric. Where that is not known the trial has no such value.
func (j *jobs) takeStored(a *actor, metric string) {
	n, err := takenBy(a)
	if err != nil {
		j.account.warn("what %s takes of the disk is not known: %v", a.Name, err)
		return
	}
	a.stored = append(a.stored, bench.Value{Metric: metric, Value: float64(n) / 1024})
}

// collect reads what the subjects' programs printed into values; turns is nil unless they worked in
// turn with a partner.
func (j *jobs) collect(turns *turns) error {
	var metrics []bench.Metric
	subjects := j.actors.with(bench.Subject)
	for _, a := range subjects {
		var err error
		switch {
		case turns != nil:
			metrics, err = bench.TurnMetrics, turns.collect(j)
		case a.Workload != "":
			metrics, err = j.collectOf(a)
		}
		if err != nil {
			return err
		}
	}
	values, err := combine(metrics, subjects)
	if err == nil {
		values, err = j.withNeighbours(metrics, values)
	}
	j.account.outcome.Values = values
	if err != nil {
		return fmt.Errorf("results of the subjects together: %w", err)
	}
	for _, v := range values {
		if err := bench.CheckQuantity(v.Value); err != nil {
			return fmt.Errorf("result: %s: %w", v.Metric, err)
		}
	}
	for _, a := range j.actors.ofSubject() {
		takeHostFacts(a)
	}
	return nil
}

// withNeighbours adds what the neighbour did that is read, too, and both together.
func (j *jobs) withNeighbours(metrics []bench.Metric, values []bench.Value) ([]bench.Value, error) {
	for _, a := range j.actors.read() {
		if _, err := j.collectOf(a); err != nil {
			return values, err
		}
		for _, m := range metrics {
			if len(bench.BesideMetrics([]bench.Metric{m})) == 0 {
				continue
			}
			of := func(v bench.Value) bool { return v.Metric == m.Name }
			mine, its := slices.IndexFunc(values, of), slices.IndexFunc(a.outcome.Values, of)
			if mine < 0 || its < 0 {
				continue
			}
			n := a.outcome.Values[its].Value
			values = append(values, bench.Value{Metric: bench.NeighbourMetric, Value: n}, bench.Value{Metric: bench.TogetherMetric, Value: n + values[mine].Value})
		}
	}
	return values, nil
}

// collectOf reads what one subject's program printed, or the load's if that is a service, and returns
// its metrics.
func (j *jobs) collectOf(a *actor) ([]bench.Metric, error) {
	w, out := j.workloads[a.Workload], *j.actors.worker(a).outcome.Output
	metrics, err := w.Metrics(a.Params)
	if err != nil {
		return nil, fmt.Errorf("metrics of %s: %w", a.Workload, err)
	}
	if a.outcome.Values, err = w.Parse(a.Params, j.setting(a), out); err != nil {
		return nil, fmt.Errorf("result of %s in %s: %w", a.Workload, a.Name, err)
	}
	for _, v := range a.outcome.Values {
		if err := bench.CheckQuantity(v.Value); err != nil {
			a.outcome.Values = nil
			return nil, fmt.Errorf("result of %s in %s: %s: %w", a.Workload, a.Name, v.Metric, err)
		}
	}
	if j.writesRoot(a) {
		j.takeStored(a, bench.StoredMetrics[1].Name)
		metrics = slices.Concat(metrics, bench.StoredMetrics)
		a.outcome.Values = append(a.outcome.Values, a.stored...)
	}
	if h, ok := w.(bench.Histogrammer); ok {
		if a.outcome.Histograms, err = h.Histograms(a.Params, j.setting(a), out); err != nil {
			return nil, fmt.Errorf("histograms of %s in %s: %w", a.Workload, a.Name, err)
		}
	}
	if s, ok := w.(bench.Progresser); ok {
		if a.outcome.Series, err = s.Series(a.Params, j.setting(a), out); err != nil {
			j.account.warn("how %s in %s went within the window is not known: %v", a.Workload, a.Name, err)
		}
	}
	return metrics, nil
}
