// Tare-agent is the end of Tare inside every instance. It is small and static,
// so that its own start weighs little. See docs/PROTOCOL.md.
package main

import (
	"context"
	"fmt"
	"os"

	"tare/internal/agent"
	"tare/internal/bench"
	"tare/internal/cage"
	"tare/internal/guest"
)

func main() {
	// The kernel starts /init of the initial RAM file system without arguments.
	if os.Getpid() == 1 && os.Args[0] == "/init" {
		guest.Init()
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "tare-agent: %v\n", err)
		if h := bench.HintOf(err); h != "" {
			fmt.Fprintf(os.Stderr, "hint: %s\n", h)
		}
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "serve":
		return agent.Serve(context.Background(), os.Stdin, os.Stdout, agent.Options{Dedicated: true})
	case len(args) == 2 && args[0] == "cage":
		return cage.Enter(args[1])
	case len(args) == 1 && args[0] == "version":
		fmt.Println("tare-agent", agent.AgentVersion)
		return nil
	}
	return fmt.Errorf("arguments %q: want serve, cage SPEC or version", args)
}
