package vm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/launch"
	"tare/internal/platform/trial"
)

// trialEnds is how long a monitor whose trial is over may take to end.
const trialEnds = 20 * time.Second

// TryBoot boots the guest's kernel with the agent as init, without disks or
// network, until the agent shows or the guest cannot go on, for at most TrialLimit, on a slow
// host more. It returns why the agent did not show, if it did not.
func (t *Trial) TryBoot(ctx context.Context, e bench.Env) (trial.Failure, error) {
	kernel, initrd, err := Boot(ctx, e)
	if err != nil {
		return trial.Failure{}, err
	}
	id := e.Run + "-trial"
	argv, err := t.Argv(ctx, e, id, kernel, initrd)
	if err != nil {
		return trial.Failure{}, err
	}
	path, err := launch.Program(argv[0])
	if err != nil {
		return trial.Failure{}, err
	}
	if err := e.Ledger.Register(bench.KindProcess, id); err != nil {
		return trial.Failure{}, err
	}
	most := e.Patience(TrialLimit)
	limit, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	console := NewConsole(cancel)
	cmd := exec.CommandContext(limit, path, argv[1:]...)
	cmd.Env = []string{"PATH=" + launch.SearchPath(os.Getenv("PATH")), bench.ProcessMark + "=" + id}
	cmd.Stdout, cmd.Stderr = console, console
	cmd.WaitDelay = trialEnds
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	ended := cmd.Run()
	if err := e.Ledger.Release(bench.KindProcess, id); err != nil {
		return trial.Failure{}, err
	}
	switch {
	case console.Shows():
		return trial.Failure{}, nil
	case console.Fatal() != nil:
		return trial.Failure{Reason: console.Fatal().Error()}, nil
	case ctx.Err() != nil:
		return trial.Failure{}, context.Cause(ctx)
	case limit.Err() != nil:
		return trial.Failure{Reason: fmt.Sprintf("no program ran in the guest within %v; it %s", most, console.LastWords()), Late: true}, nil
	case ended != nil:
		return trial.Failure{Reason: fmt.Sprintf("%s ended with %v; it %s", t.Monitor, ended, console.LastWords())}, nil
	}
	return trial.Failure{Reason: "the guest ended by itself; it " + console.LastWords()}, nil
}
