// The agent needs no more threads than its few pipes keep busy, whatever the
// size of the machine: what follows spares reading the control group at start.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Tare-agent is the end of Tare inside every instance. It is small and static,
// so that its own start weighs little. See docs/PROTOCOL.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"tare/internal/bench"
	"tare/internal/guest"
	"tare/internal/guest/agent"
	"tare/internal/guest/spawn"
	"tare/internal/host/clock"
)

// Exit statuses.
const (
	exitFailed = 1
	exitUsage  = 64
)

// errUsage says that the command line is wrong.
var errUsage = errors.New("want serve [--port PATH] [--own-kernel], spawn SPEC, hold SPEC, away DIR CPUS, inside DIR CPUS, wire ADDRESS:PORT or version")

func main() {
	began := clock.Now()
	runtime.GOMAXPROCS(1) // with more, the runtime watches idle ones at a cost above that of a sample
	// The kernel starts /init of the initial RAM file system without arguments.
	if os.Getpid() == 1 && os.Args[0] == "/init" {
		guest.Init(began)
	}
	err := run(context.Background(), began, os.Args[1:])
	if err == nil {
		return
	}
	fmt.Fprintf(os.Stderr, "tare-agent: %v\n", err)
	if h := bench.HintOf(err); h != "" {
		fmt.Fprintf(os.Stderr, "hint: %s\n", h)
	}
	if errors.Is(err, errUsage) {
		os.Exit(exitUsage)
	}
	os.Exit(exitFailed)
}

// run dispatches to a verb.
func run(ctx context.Context, began int64, args []string) error {
	switch {
	case len(args) >= 1 && args[0] == "serve":
		return serve(ctx, began, args[1:])
	case len(args) == 2 && args[0] == "spawn":
		return spawn.Enter(args[1])
	case len(args) == 2 && args[0] == "hold":
		return spawn.Hold(args[1])
	case len(args) == 3 && args[0] == "away":
		return spawn.Away(args[1], args[2])
	case len(args) == 3 && args[0] == "inside":
		return spawn.Inside(args[1], args[2], bench.ScratchDir)
	case len(args) == 2 && args[0] == "wire":
		return wire(args[1])
	case len(args) == 1 && args[0] == "version":
		fmt.Println("tare-agent", agent.AgentVersion)
		return nil
	}
	return fmt.Errorf("arguments %q: %w", args, errUsage)
}
