package ledger

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"tare/internal/bench"
	"tare/internal/host/kube"
	"tare/internal/host/tool"
)

// deadlineOf is how long the removal of one thing may take.
func deadlineOf(kind string) time.Duration {
	switch kind {
	case bench.KindSwap:
		return 5 * time.Minute // what it holds is read back
	case bench.KindJob:
		return kube.EndsWithin + tool.Deadline
	}
	return tool.Deadline
}

// hanging are the kinds whose removal is system calls that may wait in the
// kernel where no signal reaches them; that of others waits for something else to end.
var hanging = []string{
	bench.KindSwap, bench.KindMount, bench.KindLoop, bench.KindTap, bench.KindNetNS, bench.KindDir, bench.KindNote, bench.KindSetting,
}

// remove removes the thing within its deadline.
func (c Cleaner) remove(ctx context.Context, stateDir, boot string, e Entry) error {
	limit := cmp.Or(c.limit, deadlineOf(e.Kind))
	if len(c.Apart) > 0 && slices.Contains(hanging, e.Kind) {
		return removeBy(ctx, limit, c.Apart, errand{Dir: stateDir, Boot: boot, Entry: e})
	}
	return here(ctx, limit, func(ctx context.Context) error { return removeForGood(ctx, stateDir, boot, e) })
}

// here has this process do it within the limit.
func here(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, tool.Late(limit))
	defer cancel()
	return tool.Call(ctx, time.Second, f)
}

// dirEach is how much longer the removal of directories may take for each but the first.
const dirEach = 5 * time.Second

// RemoveDirs removes directory trees in the state directory, by the same ways as
// Clean does, within 20 s and 5 s more for each but the first; those that are gone
// are no error. One that wraps [tool.ErrLate] says that their disk does not answer.
// A loss of power may bring them back, so they must lie in a directory that the
// ledger holds.
func (c Cleaner) RemoveDirs(ctx context.Context, paths ...string) error {
	if len(paths) == 0 {
		return nil
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return err
	}
	limit := cmp.Or(c.limit, deadlineOf(bench.KindDir)+time.Duration(len(paths)-1)*dirEach)
	e := errand{Dir: dir, Trees: paths}
	if len(c.Apart) > 0 {
		return removeBy(ctx, limit, c.Apart, e)
	}
	return here(ctx, limit, e.run)
}

// removeForGood removes the thing so that no loss of power brings it back.
func removeForGood(ctx context.Context, stateDir, boot string, e Entry) error {
	if err := remove(ctx, stateDir, boot, e); err != nil {
		return err
	}
	return settle(e.Kind, e.Name)
}

// errand is what a process that removes one thing is told.
type errand struct {
	Dir, Boot string
	Entry     Entry
	Trees     []string `json:",omitempty"` // remove these directories instead, for as long as the power stays
}

func (e errand) run(ctx context.Context) error {
	if len(e.Trees) == 0 {
		return removeForGood(ctx, e.Dir, e.Boot, e.Entry)
	}
	var errs []error
	for _, path := range e.Trees {
		err := checkThing(e.Dir, bench.KindDir, path)
		if err == nil {
			err = removeDir(e.Dir, path)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("remove %s: %w", path, err))
		}
	}
	return errors.Join(errs...)
}

// answer is what it says; no text is that the thing is gone.
type answer struct {
	Text string
	Hint bench.Hint
}

// removeBy has another process remove the thing.
func removeBy(ctx context.Context, limit time.Duration, command []string, e errand) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin = bytes.NewReader(text)
	out, err := tool.Output(ctx, limit, cmd)
	if err != nil {
		return err
	}
	var a answer
	switch err := json.Unmarshal(out, &a); {
	case err != nil:
		return fmt.Errorf("%s said %.200q: %w", cmd.Path, out, err)
	case a.Text != "" && a.Hint != "":
		return fmt.Errorf("%s%w", a.Text, a.Hint)
	case a.Text != "":
		return errors.New(a.Text)
	}
	return nil
}

// RemoveApart carries out one removal that a [Cleaner] has asked another process for.
func RemoveApart(ctx context.Context, from io.Reader, to io.Writer) error {
	var e errand
	if err := json.NewDecoder(from).Decode(&e); err != nil {
		return fmt.Errorf("remove: what to remove: %w", err)
	}
	var a answer
	if err := e.run(ctx); err != nil {
		a = answer{err.Error(), bench.Hint(bench.HintOf(err))}
	}
	return json.NewEncoder(to).Encode(a)
}
