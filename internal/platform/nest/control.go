package nest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"tare/internal/bench"
	"tare/internal/guest/agent"
	"tare/internal/guest/nested/wire"
)

// control asks the half in the outer guest, one question at a time.
type control struct {
	turn sync.Mutex
	port io.ReadWriteCloser
	in   *json.Decoder
	may  *io.LimitedReader // what in reads from: as much as one answer may have

	mu   sync.Mutex
	dead error // why no more can be asked
}

// maxAnswer is how long an answer may be, in bytes; those to tell of a whole instance have some ten thousand.
const maxAnswer = 1 << 20

func newControl(port io.ReadWriteCloser) *control {
	may := &io.LimitedReader{R: port}
	return &control{port: port, in: json.NewDecoder(may), may: may}
}

// close ends the conversation; why is what later questions are told.
func (c *control) close(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead == nil {
		c.dead = why
		c.port.Close()
	}
}

func (c *control) gone() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead
}

// ask sends the request and fills result with its answer. A question that is
// given up is the last: its answer could be taken for another's.
func (c *control) ask(ctx context.Context, r wire.Request, result any) error {
	c.turn.Lock()
	defer c.turn.Unlock()
	if err := c.gone(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { c.close(fmt.Errorf("%s: %w", r.Op, context.Cause(ctx))) })
	defer stop()
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Op, err)
	}
	var a wire.Answer
	if _, err = c.port.Write(append(line, '\n')); err == nil {
		c.may.N = maxAnswer
		if err = c.in.Decode(&a); err != nil && c.may.N <= 0 {
			err = fmt.Errorf("an answer of more than %d bytes", maxAnswer)
		}
	}
	if err != nil {
		c.close(fmt.Errorf("%s: %w", r.Op, err))
		return c.gone()
	}
	if err := a.Err(); err != nil {
		return err
	}
	if err := json.Unmarshal(a.Result, result); err != nil {
		return fmt.Errorf("%s: answer %.200q: %w", r.Op, a.Result, err)
	}
	return nil
}

// tail keeps the last of what the other half printed.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// keptWords is how much of it is kept.
const keptWords = 4 << 10

func (t *tail) add(piece []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, piece...)
	t.text = append([]byte(nil), t.text[max(0, len(t.text)-keptWords):]...)
}

// end notes how it ended.
func (t *tail) end(out bench.Output, err error) {
	if err != nil {
		t.add([]byte(err.Error()))
		return
	}
	t.add(fmt.Appendf(nil, "(exit status %d)", out.Exit))
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

// process is the other half as the outer agent runs it.
type process = *agent.Process
