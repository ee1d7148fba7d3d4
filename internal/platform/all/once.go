package all

import (
	"context"
	"errors"
	"sync"

	"tare/internal/bench"
)

// onceChecked is a platform that is asked once what all nestings in it want to
// know: each answer is the start of a program.
type onceChecked struct {
	bench.Platform
	mu    sync.Mutex
	known bool
	found bench.Availability
	err   error
}

func once(p bench.Platform) bench.Platform { return &onceChecked{Platform: p} }

// Check implements [bench.Platform]. An answer that was given up is none.
func (o *onceChecked) Check(ctx context.Context) (bench.Availability, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.known {
		o.found, o.err = o.Platform.Check(ctx)
		o.known = !errors.Is(o.err, context.Canceled) && !errors.Is(o.err, context.DeadlineExceeded)
	}
	return o.found, o.err
}
