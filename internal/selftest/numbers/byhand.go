package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
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

// applicationCases are servers that a peer loads, and programs that need none.
var applicationCases = []handCase{
	{"web", nil}, {"redis", nil}, {"oltp", nil}, {"pgbench", nil}, {"pages", nil}, {"files", nil}, {"compile", nil}, {"jvm", nil},
}

// What both ways have in common; see also spec.
var (
	handTiming = bench.Timing{Warmup: time.Second, Measure: 3 * time.Second}
	handShape  = bench.Shape{CPUs: 1, Memory: bench.GiB, Disk: bench.GiB}
)

// spec is an experiment of one trial, which is not repeated: nor is what is done by hand.
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
disturbed: {repeats: 0}
scenes:
  - {name: work, workload: %s, params: {%s}}
`, handShape.CPUs, handShape.Memory, handShape.Disk, handTiming.Warmup, handTiming.Measure,
		c.workload, strings.Join(params, ", "))
}

// program is the workload of the case.
func (c handCase) program() bench.Workload {
	all := workload.All()
	return all[slices.IndexFunc(all, func(w bench.Workload) bool { return w.Name() == c.workload })]
}

// byHand compares the results of workloads in Docker by the docker command with
// those of tare run, in turn.
func byHand(ctx context.Context, n *numbers) ([]selftest.Measured, error) {
	return n.byHand(ctx, selftest.ByHand, bench.ImageNeeds{}, handCases...)
}

// applicationsByHand does the same for applications, each with an image of its own.
func applicationsByHand(ctx context.Context, n *numbers) (found []selftest.Measured, err error) {
	for _, c := range applicationCases {
		var needs bench.ImageNeeds
		if w, ok := c.program().(bench.Familied); ok {
			needs.Families = []string{w.Family()}
		}
		of, err := n.byHand(ctx, selftest.ApplicationByHand, needs, c)
		if err != nil {
			return found, err
		}
		found = append(found, of...)
	}
	return found, nil
}

// byHand measures the promise for each case.
func (n *numbers) byHand(ctx context.Context, promise int, needs bench.ImageNeeds, cases ...handCase) (found []selftest.Measured, err error) {
	s, err := n.openWith(ctx, needs, "native", "lxc", "docker")
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
	values := make([]struct{ tare, hand []float64 }, len(cases))
	metrics := make([]string, len(cases))
	for i := range pairs + 1 {
		for k, c := range cases {
			r, err := n.tare.run(ctx, n.dir, c.spec())
			if err != nil {
				return nil, err
			}
			metric, byTare, err := headline(r)
			if err != nil {
				return nil, err
			}
			hand, err := s.byHand(ctx, c, metric, peer)
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
	for k, c := range cases {
		v := values[k]
		off, interval, err := apart(v.tare, v.hand)
		if err != nil {
			return nil, err
		}
		found = append(found, selftest.Promises[promise].Measure(interval[0] <= 0 && 0 <= interval[1], off, interval,
			fmt.Sprintf("%d pairs of 3 s in turn, medians %.5g and %.5g", pairs, stats.Median(v.tare), stats.Median(v.hand)), "workload", c.workload+" "+metrics[k]))
	}
	return found, nil
}

// byHand is what one would type: docker run, docker exec for each step, docker rm;
// and for a server's load its commands on the peer.
func (s *session) byHand(ctx context.Context, c handCase, metric string, peer *peer) (value float64, err error) {
	w := c.program()
	params, err := workload.Fill(w, c.params)
	if err != nil {
		return 0, err
	}
	image, err := s.docker(ctx, nil, "image", "ls", "--quiet")
	if err != nil {
		return 0, err
	}
	s.launches++
	name := fmt.Sprintf("%s-%d", s.id, s.launches)
	_, err = s.docker(ctx, nil, "run", "--detach", "--name", name, "--cpuset-cpus", fmt.Sprint(lastCPU()),
		"--memory", fmt.Sprint(int64(handShape.Memory)), "--memory-swap", fmt.Sprint(int64(handShape.Memory)),
		string(bytes.TrimSpace(image)), "sleep", "infinity")
	if err != nil {
		return 0, err
	}
	defer func() {
		_, rerr := s.docker(context.WithoutCancel(ctx), nil, "rm", "--force", name)
		err = errors.Join(err, rerr)
	}()
	said, err := s.docker(ctx, nil, "inspect", "--format", "{{.NetworkSettings.IPAddress}}", name)
	if err != nil {
		return 0, err
	}
	addr, err := netip.ParseAddr(string(bytes.TrimSpace(said)))
	if err != nil {
		return 0, err
	}
	setting := bench.Setting{Timing: handTiming, Shape: handShape, Addr: map[string]netip.Addr{bench.SubjectPart: addr}}
	for _, part := range w.Parts() {
		setting.Addr[part] = peer.addr
	}
	steps, err := w.Steps(bench.SubjectPart, params, setting)
	if err != nil {
		return 0, err
	}
	inside := container{s, name}
	if !steps.Service {
		out, err := perform(ctx, inside, steps)
		if err != nil {
			return 0, err
		}
		return valueOf(w, params, setting, out, metric)
	}
	if err := prepare(ctx, inside, steps); err != nil {
		return 0, err
	}
	if err := inside.start(ctx, steps.Main); err != nil {
		return 0, err
	}
	if err := s.accepts(ctx, netip.AddrPortFrom(addr, uint16(steps.Listen))); err != nil {
		return 0, err
	}
	if steps, err = w.Steps(w.Parts()[0], params, setting); err != nil {
		return 0, err
	}
	out, err := perform(ctx, peer, steps)
	if err != nil {
		return 0, err
	}
	return valueOf(w, params, setting, out, metric)
}

// valueOf is the metric's value by what a program printed.
func valueOf(w bench.Workload, p bench.Params, s bench.Setting, out bench.Output, metric string) (float64, error) {
	values, err := w.Parse(p, s, out)
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

// accepts waits until somebody listens there.
func (s *session) accepts(ctx context.Context, to netip.AddrPort) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := s.testnet.Do(func() error {
			conn, err := net.DialTimeout("tcp", to.String(), time.Second)
			if err != nil {
				return err
			}
			return conn.Close()
		})
		if err == nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A place is where commands are typed.
type place interface {
	exec(context.Context, bench.Command) (bench.Output, error)
	put(context.Context, bench.File) error
}

// prepare does what comes before the program.
func prepare(ctx context.Context, in place, steps bench.Part) error {
	for _, f := range steps.Files {
		if err := in.put(ctx, f); err != nil {
			return err
		}
	}
	for _, c := range steps.Prepare {
		if _, err := in.exec(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// perform prepares, warms up and runs the program, and returns its output.
func perform(ctx context.Context, in place, steps bench.Part) (out bench.Output, err error) {
	if err := prepare(ctx, in, steps); err != nil {
		return out, err
	}
	for _, c := range append(slices.Clone(steps.Warm), steps.Main) {
		if out, err = in.exec(ctx, c); err != nil {
			return out, err
		}
	}
	return out, nil
}

// container is one of Docker's.
type container struct {
	session *session
	name    string
}

func (c container) exec(ctx context.Context, cmd bench.Command) (bench.Output, error) {
	out, err := c.session.docker(ctx, cmd.Stdin, c.typed(cmd, "--interactive")...)
	return bench.Output{Stdout: out}, err
}

// start starts what goes on for as long as the container does.
func (c container) start(ctx context.Context, cmd bench.Command) error {
	_, err := c.session.docker(ctx, nil, c.typed(cmd, "--detach")...)
	return err
}

// typed is docker exec with the command's environment, directory and user.
func (c container) typed(cmd bench.Command, flag string) []string {
	args := []string{"exec", flag}
	for k, v := range cmd.Env {
		args = append(args, "--env", k+"="+v)
	}
	if cmd.Dir != "" {
		args = append(args, "--workdir", cmd.Dir)
	}
	if cmd.User != "" {
		args = append(args, "--user", cmd.User)
	}
	return slices.Concat(args, []string{c.name}, cmd.Argv)
}

func (c container) put(ctx context.Context, f bench.File) error {
	_, err := c.session.docker(ctx, f.Data, "exec", "--interactive", c.name,
		"sh", "-c", `mkdir -p "${1%/*}" && cat >"$1" && chmod "$2" "$1"`, "sh", f.Path, strconv.FormatUint(uint64(f.Mode), 8))
	return err
}

// docker is the docker command with the session's daemon; it returns what was printed.
func (s *session) docker(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "docker", append([]string{"--host", s.socket()}, args...)...)
	cmd.Stdin = bytes.NewReader(stdin)
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
	client   *agent.Client
	addr     netip.Addr
}

func (s *session) peer(ctx context.Context) (*peer, error) {
	netns, addr, err := s.testnet.Peer(ctx, "peer", 0)
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
	p.client, err = agent.Dial(ctx, p.instance.Stream())
	if err == nil {
		server := bench.Command{Argv: []string{"netserver", "-D", "-4", "-L", addr.String(), "-p", "12865"}, Timeout: time.Hour}
		_, err = p.client.Start(ctx, server, nil)
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *peer) close() error { return p.instance.Close(context.Background()) }

func (p *peer) exec(ctx context.Context, cmd bench.Command) (bench.Output, error) {
	out, err := p.client.Exec(ctx, cmd)
	if err == nil && out.Exit != 0 {
		err = fmt.Errorf("%q ended with status %d: %s", cmd.Argv, out.Exit, bytes.TrimSpace(out.Stderr))
	}
	return out, err
}

func (p *peer) put(ctx context.Context, f bench.File) error {
	return p.client.Put(ctx, f.Path, f.Mode, bytes.NewReader(f.Data))
}
