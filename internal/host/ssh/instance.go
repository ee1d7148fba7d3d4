package ssh

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"time"

	"tare/internal/bench"
	"tare/internal/host/clock"
)

// byeWithin is how long ssh may take to end once its stream is closed.
const byeWithin = 5 * time.Second

// Start implements [bench.Engine]: it starts the agent on the host, in the host's own network, on as many
// of its CPUs as the shape has and with all of its memory. A connection that was lost is made anew.
func (h *Host) Start(ctx context.Context, l bench.Launch) (bench.Instance, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := h.open(ctx); err != nil {
		return nil, fmt.Errorf("start %s: host %s: %w", l.ID, h.Name, err)
	}
	i := &instance{host: h, cmd: h.over(serveScript, h.place, strconv.Itoa(max(1, l.Shape.CPUs))), said: &words{}, ended: make(chan struct{})}
	i.cmd.Stderr = i.said
	var err error
	if i.in, err = i.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if i.out, err = i.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	i.launched = clock.Now()
	if err := i.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", l.ID, err)
	}
	go func() {
		_, _ = i.cmd.Process.Wait() // and not Cmd.Wait, which closes what is still read
		close(i.ended)
	}()
	return i, nil
}

// instance is an agent on a further host.
type instance struct {
	host     *Host
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      io.ReadCloser
	said     *words
	launched int64
	ended    chan struct{} // closed when ssh has
	closing  sync.Once
}

func (i *instance) Stream() io.ReadWriteCloser  { return (*stream)(i) }
func (i *instance) Launched() int64             { return i.launched }
func (i *instance) Command() []string           { return slices.Clone(i.cmd.Args) }
func (i *instance) Addr() netip.Addr            { return netip.Addr{} }
func (i *instance) Unenforced() []string        { return nil }
func (i *instance) Scope() (bench.Scope, error) { return bench.Scope{OwnKernel: true}, nil }
func (i *instance) Facts() map[string]string    { return maps.Clone(i.host.Facts) }

// Log is what ssh and the agent complained about.
func (i *instance) Log() string { return i.said.String() }

// Close ends the agent by the end of its stream, and ssh.
func (i *instance) Close(ctx context.Context) error {
	i.closing.Do(func() { _ = i.in.Close() }) // the agent ends with all it has started
	select {
	case <-i.ended:
	case <-time.After(byeWithin):
		_ = i.cmd.Process.Kill()
	case <-ctx.Done():
		_ = i.cmd.Process.Kill()
	}
	<-i.ended
	_ = i.out.Close()
	return nil
}

// stream is the bytes between here and the agent.
type stream instance

// Read says at the end of the stream what ssh has complained about.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.out.Read(p)
	if n > 0 || err == nil {
		return n, nil
	}
	i := (*instance)(s)
	select {
	case <-i.ended:
	case <-time.After(byeWithin):
	}
	if said := i.Log(); said != "" {
		err = fmt.Errorf("%s: %w", said, err)
	}
	return 0, i.host.lost(err)
}

func (s *stream) Write(p []byte) (int, error) { return s.in.Write(p) }

func (s *stream) Close() error {
	s.closing.Do(func() { _ = s.in.Close() })
	return nil
}
