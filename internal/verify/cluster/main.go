// Cluster runs a Kubernetes cluster of two nodes on this host, for tests. scripts/cluster builds and
// runs it. Each node has namespaces of its own and a root that is a layer over the host's, so the
// host keeps nothing of it: all of it ends with the processes of one control group.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

const usage = `usage: cluster up DIR PROGRAMS      begin a cluster in the new directory DIR
       cluster down DIR             end it and remove DIR
       cluster import DIR ARCHIVE   import an image into both nodes
       cluster check DIR            run a pod on each node by each runtime class
`

// Exit statuses.
const (
	exitFailed = 4
	exitUsage  = 64
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(exitFailed)
	}
}

func run(ctx context.Context, args []string) error {
	verb := ""
	if len(args) > 0 {
		verb, args = args[0], args[1:]
	}
	switch {
	case verb == "up" && len(args) == 2:
		return with(args[0], func(c cluster) error { return c.up(ctx, args[1]) })
	case verb == "down" && len(args) == 1:
		return with(args[0], func(c cluster) error { return c.down(ctx) })
	case verb == "import" && len(args) == 2:
		return with(args[0], func(c cluster) error { return c.load(ctx, args[1]) })
	case verb == "check" && len(args) == 1:
		return with(args[0], func(c cluster) error { return c.check(ctx) })

	// What it starts itself.
	case verb == "node" && len(args) == 2:
		return with(args[0], func(c cluster) error { return c.node(args[1]) })
	case verb == "forward" && len(args) == 1:
		return forward(args[0])
	case verb == "pause":
		<-ctx.Done()
		return nil
	case verb == "answer":
		return answer(ctx)
	case verb == "ask" && len(args) == 1:
		return ask(ctx, args[0])
	}
	fmt.Fprint(os.Stderr, usage)
	os.Exit(exitUsage)
	return nil
}

func with(dir string, do func(cluster) error) error {
	path, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	return do(cluster{dir: path})
}
