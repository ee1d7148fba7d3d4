package agent

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"strings"
	"testing"
	"time"
)

// liar is a stream that greets, and answers the first request with what it was given.
type liar struct {
	io.Reader
	w      *io.PipeWriter
	says   []byte
	writes int
}

func newLiar(says []byte) *liar {
	r, w := io.Pipe()
	l := &liar{Reader: r, w: w, says: says}
	go io.WriteString(w, greeting(Version, Version))
	return l
}

func (l *liar) Write(b []byte) (int, error) {
	if l.writes++; l.writes == 2 { // after the answer to the hello
		go func() {
			l.w.Write(l.says)
			l.w.Close()
		}()
	}
	return len(b), nil
}

func (l *liar) Close() error { return l.w.Close() }

// A guest may say anything; what cannot be is refused as it comes in.
func TestLiars(t *testing.T) {
	hello := func(h Hello) string {
		h.Version, h.MinVersion = Version, MinVersion
		return magic + string(appendJSON(nil, typeHello, 0, h))
	}
	many := make([]string, maxColumns+1)
	for i := range many {
		many[i] = "a" + strings.Repeat("b", i%60) + string(rune('a'+i%26))
	}
	for name, h := range map[string]Hello{
		"columns":       {Columns: many},
		"twice":         {Columns: []string{"cpu_busy_s", "cpu_busy_s"}},
		"markup":        {Columns: []string{`x"><script>`}},
		"long name":     {Columns: []string{strings.Repeat("a", 65)}},
		"CPUs":          {CPUs: make([]int, maxCPUs+1)},
		"kernel":        {Kernel: strings.Repeat("k", maxWords+1)},
		"clock":         {Now: math.MaxInt64},
		"began, before": {Began: -1},
	} {
		if c, err := Dial(t.Context(), scripted(hello(h), false)); err == nil || !strings.Contains(err.Error(), "its hello has") {
			t.Errorf("%s: %v", name, err)
			if c != nil {
				c.Close()
			}
		}
	}

	two := func(a, b int64) []byte {
		return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(a)), uint64(b))
	}
	facts := func(m map[string]string) []byte { b, _ := json.Marshal(m); return b }
	crowd := map[string]string{}
	for i := range maxFacts + 1 {
		crowd[string(rune('a'+i%26))+strings.Repeat("x", i/26)] = ""
	}
	probe := func(ctx context.Context, c *Client) error { _, err := c.Probe(ctx, 1); return err }
	ask := func(ctx context.Context, c *Client) error { _, err := c.Facts(ctx, FactsRequest{}); return err }
	run := func(ctx context.Context, c *Client) error {
		p, err := c.Start(ctx, shell("true"), nil)
		if err == nil {
			_, err = p.Wait(ctx)
		}
		return err
	}
	exits := func(r exitReply) []byte {
		return appendJSON(appendJSON(nil, typeStarted, 1, startedReply{PID: 5}), typeExit, 1, r)
	}
	for name, c := range map[string]struct {
		says []byte
		call func(context.Context, *Client) error
		want string
	}{
		"a clock beyond all years":  {appendFrame(nil, typeReply, 1, two(1, math.MaxInt64)), probe, "not a time of a monotonic clock"},
		"a clock before its start":  {appendFrame(nil, typeReply, 1, two(-5, 1)), probe, "not a time of a monotonic clock"},
		"answered before it heard":  {appendFrame(nil, typeReply, 1, two(9, 8)), probe, "not a time of a monotonic clock"},
		"facts without end":         {appendFrame(nil, typeReply, 1, facts(crowd)), ask, "1001 facts: at most 1000"},
		"a fact of many bytes":      {appendFrame(nil, typeReply, 1, facts(map[string]string{"a": strings.Repeat("x", maxFact+1)})), ask, "32769 bytes"},
		"a status of no program":    {exits(exitReply{Exit: -7}), run, "which cannot be"},
		"years of CPU time":         {exits(exitReply{User: math.MaxInt64}), run, "which cannot be"},
		"a complaint of many bytes": {appendJSON(nil, typeError, 1, errorReply{Message: strings.Repeat("é", 1<<18)}), ask, "and so on"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		client, err := Dial(ctx, newLiar(c.says))
		if err != nil {
			t.Fatal(err)
		}
		err = c.call(ctx, client)
		if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 2*maxWords {
			t.Errorf("%s: %.300v", name, err)
		}
		client.Close()
		cancel()
	}
}
