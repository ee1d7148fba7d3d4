package agent

import (
	"context"
	"fmt"
	"io"
)

// Put writes a file inside the instance, making the directories above it. The
// file appears whole, under its name, or not at all.
func (c *Client) Put(ctx context.Context, path string, mode uint32, r io.Reader) error {
	u := &upload{call: newCall("put " + path), credit: newCredit(window), over: make(chan struct{})}
	id := c.register(u)
	defer c.forget(id)
	err := c.send(ctx, u.what, outgoing{data: appendJSON(nil, typePut, id, putRequest{Path: path, Mode: mode})})
	if err != nil {
		return err
	}
	if err := c.upload(ctx, u, id, r); err != nil {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), exitGrace)
			defer cancel()
			_ = c.send(ctx, u.what, outgoing{data: appendFrame(nil, typeEnd, id, []byte("given up"))})
		}()
		return err
	}
	if err := c.send(ctx, u.what, outgoing{data: appendFrame(nil, typeEnd, id, nil)}); err != nil {
		return err
	}
	_, err = c.await(ctx, u.call, id)
	return err
}

// upload sends the content of r.
func (c *Client) upload(ctx context.Context, u *upload, id uint32, r io.Reader) error {
	buf := make([]byte, maxData)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if err := c.stream(ctx, u.what, id, buf[:n], u.credit, u.over); err != nil {
				return err
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("%s: read the content: %w", u.what, err)
		}
	}
}

// upload is a put under way.
type upload struct {
	*call
	credit *credit
	over   chan struct{} // closed with the answer
}

func (u *upload) receive(f frame, at int64) (bool, error) {
	if f.kind == typeWindow {
		_, n, err := parseWindow(f.payload)
		u.credit.add(n)
		return err != nil, err
	}
	over, err := u.call.receive(f, at)
	if over {
		close(u.over)
	}
	return over, err
}

// stream sends data as the credit allows, until over is closed: then the
// operation has ended and the rest is of no use to it.
func (c *Client) stream(ctx context.Context, what string, id uint32, data []byte, credit *credit, over <-chan struct{}) error {
	for len(data) > 0 {
		n := credit.wait(ctx, min(len(data), maxData), c.broken, over)
		if n == 0 {
			select {
			case <-over:
				return nil
			case <-c.broken:
				return fmt.Errorf("%s: %w", what, c.failure())
			default:
				return c.silent(what, context.Cause(ctx))
			}
		}
		if err := c.send(ctx, what, outgoing{data: appendFrame(nil, typeData, id, data[:n])}); err != nil {
			return err
		}
		credit.spend(n)
		data = data[n:]
	}
	return nil
}
