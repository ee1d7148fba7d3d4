package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/guest/agent"
	"tare/internal/selftest"
	"tare/internal/workload"
)

// handCase is a workload that is run in Docker by hand and by tare run.
type handCase struct {
	workload string
	params   bench.Params
}

var handCases = []handCase{
	{"sysbench-cpu", nil},
	{"fio", bench.Params{"rw": "randread", "size": "128MiB"}},
	{"netperf", bench.Params{"test": "TCP_RR", "message-size": "1KiB"}},
}

// What both ways have in common; see also spec.
var (
	handTiming = bench.Timing{Warmup: time.Second, Measure: 3 * time.Second}
	handShape  = bench.Shape{CPUs: 1, Memory: bench.GiB, Disk: bench.GiB}
)

// spec is an experiment of one trial.
func (c handCase) spec() string {
	var params []string
	for k, v := range c.params {
		params = append(params, k+": "+v)
	}
	return fmt.Sprintf(`
name: byhand
platforms: [docker]
baseline: docker
blocks: 1
shape: {cpus: %d, memory: %d, disk: %d}
timing: {warmup: %v, measure: %v, cooldown: 0s}
scenes:
  - {name: work, workload: %s, params: {%s}}
`, handShape.CPUs, handShape.Memory, handShape.Disk, handTiming.Warmup, handTiming.Measure,
		c.workload, strings.Join(params, ", "))
}

// byHand compares the results of workloads in Docker by the docker command with
// those of tare run, in turn.
func byHand(ctx context.Context, n *numbers) (found []selftest.Measured, err error) {
	s, err := n.open(ctx, "native", "lxc", "docker")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	peer, err := s.peer(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, peer.close()) }()
	pairs := n.repeat(8)
	values := make([]struct{ tare, hand []float64 }, len(handCases))
	metrics := make([]string, len(handCases))
	for i := range pairs + 1 {
		for k, c := range handCases {
			r, err := n.tare.run(ctx, n.dir, c.spec())
			if err != nil {
				return nil, err
			}
			metric, byTare, err := headline(r)
			if err != nil {
				return nil, err
			}
			hand, err := s.byHand(ctx, c, metric, peer.addr)
			if err != nil {
				return nil, fmt.Errorf("%s by hand: %w", c.workload, err)
			}
			n.say("  %s %s: %.5g by tare, %.5g by hand", c.workload, metric, byTare, hand)
			if i > 0 { // the first one fills caches
				values[k].tare, values[k].hand = append(values[k].tare, byTare), append(values[k].hand, hand)
			}
			metrics[k] = metric
		}
	}
	for k, c := range handCases {
		v := values[k]
		off, interval, err := apart(v.tare, v.hand)
		if err != nil {
			return nil, err
		}
		found = append(found, selftest.Promises[selftest.ByHand].Measure(interval[0] <= 0 && 0 <= interval[1], off, interval,
			fmt.Sprintf("%d pairs of 3 s in turn, medians %.5g and %.5g", pairs, stats.Median(v.tare), stats.Median(v.hand)), "workload", c.workload+" "+metrics[k]))
	}
	return found, nil
}

// byHand is what one would type: docker run, docker exec for each step, docker rm.
func (s *session) byHand(ctx context.Context, c handCase, metric string, server netip.Addr) (value float64, err error) {
	all := workload.All()
	w := all[slices.IndexFunc(all, func(w bench.Workload) bool { return w.Name() == c.workload })]
	params, err := workload.Fill(w, c.params)
	if err != nil {
		return 0, err
	}
	setting := bench.Setting{Timing: handTiming, Shape: handShape, Addr: map[string]netip.Addr{"server": server}}
	steps, err := w.Steps(bench.SubjectPart, params, setting)
	if err != nil {
		return 0, err
	}
	image, err := s.docker(ctx, "image", "ls", "--quiet")
	if err != nil {
		return 0, err
	}
	s.launches++
	name := fmt.Sprintf("%s-%d", s.id, s.launches)
	_, err = s.docker(ctx, "run", "--detach", "--name", name, "--cpuset-cpus", fmt.Sprint(lastCPU()),
		"--memory", fmt.Sprint(int64(handShape.Memory)), "--memory-swap", fmt.Sprint(int64(handShape.Memory)),
		string(bytes.TrimSpace(image)), "sleep", "infinity")
	if err != nil {
		return 0, err
	}
	defer func() {
		_, rerr := s.docker(context.WithoutCancel(ctx), "rm", "--force", name)
		err = errors.Join(err, rerr)
	}()
	var out []byte
	for _, step := range slices.Concat(steps.Prepare, steps.Warm, []bench.Command{steps.Main}) {
		if out, err = s.docker(ctx, append([]string{"exec", name}, step.Argv...)...); err != nil {
			return 0, err
		}
	}
	values, err := w.Parse(params, setting, bench.Output{Stdout: out})
	if err != nil {
		return 0, err
	}
	for _, v := range values {
		if v.Metric == metric {
			return v.Value, nil
		}
	}
	return 0, fmt.Errorf("no %s", metric)
}

// docker is the docker command with the session's daemon; it returns what was printed.
func (s *session) docker(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "docker", append([]string{"--host", s.socket()}, args...)...)
	cmd.Env = append(os.Environ(), "DOCKER_CONFIG="+s.dir, bench.ProcessMark+"="+s.id)
	var words bytes.Buffer
	cmd.Stderr = &words
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("docker %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(words.Bytes()))
	}
	return out, nil
}

// peer is the other end of network workloads, native and on the observer's CPU
// as tare run's.
type peer struct {
	instance bench.Instance
	addr     netip.Addr
}

func (s *session) peer(ctx context.Context) (*peer, error) {
	netns, addr, err := s.testnet.Peer(ctx, "peer")
	if err != nil {
		return nil, err
	}
	l, err := s.launch("native", handShape, []int{0})
	if err != nil {
		return nil, err
	}
	l.NetNS = netns
	p := &peer{addr: addr}
	if p.instance, err = s.engines["native"].Start(ctx, l); err != nil {
		return nil, err
	}
	c, err := agent.Dial(ctx, p.instance.Stream())
	if err == nil {
		server := bench.Command{Argv: []string{"netserver", "-D", "-4", "-L", addr.String(), "-p", "12865"}, Timeout: time.Hour}
		_, err = c.Start(ctx, server, nil)
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *peer) close() error { return p.instance.Close(context.Background()) }
