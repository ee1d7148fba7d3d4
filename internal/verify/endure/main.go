// Endure kills runs of every platform at random moments, cleans up, resumes, and reports what was
// left behind and what was lost. scripts/endure runs it. docs/NUMBERS.md explains its table.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"tare/internal/bench"
)

// Exit statuses.
const (
	exitBroken = 2 // something was left behind or lost
	exitFailed = 4 // it could not be found out
	exitUsage  = 64
)

// usual are the platforms that are killed if none are named: all that are real here, and those emulated that take seconds.
const usual = "native,bwrap,nspawn,runc,crun,lxc,incus,containerd,podman,docker,gvisor,uml,qemu-tcg,libvirt-tcg,runc@qemu-tcg,image"

func main() {
	if insideVariable() != "" {
		os.Exit(inside())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:])
	stop()
	os.Exit(status)
}

func run(ctx context.Context, args []string) int {
	if len(args) == 0 || args[0] != "kill" {
		fmt.Fprintln(os.Stderr, "usage: endure kill [flags]")
		return exitUsage
	}
	flags := flag.NewFlagSet("endure kill", flag.ContinueOnError)
	t := task{}
	flags.StringVar(&t.Tare, "tare", "./tare", "the program to kill; tare-agent lies beside it")
	flags.StringVar(&t.Images, "images", bench.StateDir+"/images", "the images to use")
	flags.StringVar(&t.Disk, "disk", "/var/tmp", "where the state directories lie")
	flags.IntVar(&t.Moments, "moments", 100, "how often to kill each platform's runs")
	flags.Uint64Var(&t.Seed, "seed", uint64(time.Now().UnixNano()), "what the moments are drawn from")
	flags.BoolVar(&t.Alone, "alone", false, "nobody else is at work on this machine: compare also what is shared with others, such as settings")
	flags.BoolVar(&t.Soon, "soon", false, "every moment soon after a line of the run's own, which takes less time")
	quick := flags.Bool("quick", false, "-soon, and few scenes: to see that it works")
	platforms := flags.String("platforms", usual, "the platforms, separated by commas; image is the build of the image")
	jobs := flags.Int("jobs", 1, "how many platforms at a time; more than one is not -alone")
	asJSON := flags.Bool("json", false, "print the table as JSON")
	if err := flags.Parse(args[1:]); err != nil || flags.NArg() > 0 {
		return exitUsage
	}
	if os.Geteuid() != 0 {
		fmt.Fprintln(os.Stderr, "endure: containers need root")
		return exitFailed
	}
	t.Alone = t.Alone && *jobs == 1
	t.Few, t.Soon = *quick, t.Soon || *quick
	fmt.Fprintf(os.Stderr, "seed %d\n", t.Seed)
	rows := killAll(ctx, t, strings.Split(*platforms, ","), *jobs)
	if err := write(os.Stdout, rows, *asJSON); err != nil {
		fmt.Fprintln(os.Stderr, "endure:", err)
		return exitFailed
	}
	status := 0
	for _, r := range rows {
		switch {
		case r.Error != "":
			status = max(status, exitFailed)
		case r.broken():
			status = max(status, exitBroken)
		}
	}
	return status
}

// killAll goes through the platforms, some at a time.
func killAll(ctx context.Context, t task, platforms []string, jobs int) []row {
	rows := make([]row, len(platforms))
	var wg sync.WaitGroup
	free := make(chan struct{}, max(1, jobs))
	for i, name := range platforms {
		free <- struct{}{}
		if ctx.Err() != nil {
			rows[i] = row{Platform: strings.TrimSpace(name), Error: "ended before its turn"}
			<-free
			continue
		}
		wg.Go(func() {
			defer func() { <-free }()
			one := t
			one.Platform = strings.TrimSpace(name)
			rows[i] = one.apart(ctx, os.Stderr)
		})
	}
	wg.Wait()
	return rows
}

// A row is what came of killing one platform's runs.
type row struct {
	Platform string `json:"platform"`
	// Lack says why it does not run here; then nothing else is there.
	Lack string `json:"lack,omitempty"`
	// Error says why no more could be found out.
	Error string `json:"error,omitempty"`
	Kills int    `json:"kills"`
	// During counts the kills by the phase they hit.
	During map[string]int `json:"during,omitempty"`
	// Found counts, by kind, what was there of the killed runs before it was cleaned.
	Found map[string]int `json:"found,omitempty"`
	// Cleans are the kills of tare clean itself.
	Cleans int `json:"killed_cleanings"`
	// Ends are the runs that were finished after having been killed, Trials their trials.
	Ends   int `json:"runs_finished"`
	Trials int `json:"trials"`
	// Left, Lost and Failed have a line for each thing left behind, finished trial lost or changed, and trial or command that failed
	// though it does not when nothing is killed.
	Left   []string `json:"left,omitempty"`
	Lost   []string `json:"lost,omitempty"`
	Failed []string `json:"failed,omitempty"`
	// CleanMax is the longest time that tare clean took, Took that of all, in seconds.
	CleanMax float64 `json:"clean_max_s"`
	Took     float64 `json:"took_s"`
}

func (r row) broken() bool { return len(r.Left)+len(r.Lost)+len(r.Failed) > 0 }

// write prints the rows as a table, in Markdown, or as JSON.
func write(w io.Writer, rows []row, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(rows)
	}
	var b strings.Builder
	b.WriteString("| platform | kills | of these in | found before cleaning | cleanings killed | runs finished | trials | left | lost | failed | longest clean, s | took, s |\n" +
		"|---|--:|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, r := range rows {
		if r.Lack != "" {
			fmt.Fprintf(&b, "| %s | | not here: %s | | | | | | | | | |\n", r.Platform, r.Lack)
			continue
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %d | %d | %d | %d | %d | %d | %.1f | %.0f |\n", r.Platform, r.Kills, counts(r.During), counts(r.Found), r.Cleans, r.Ends,
			r.Trials, len(r.Left), len(r.Lost), len(r.Failed), r.CleanMax, r.Took)
	}
	for _, r := range rows {
		for what, list := range map[string][]string{"left": r.Left, "lost": r.Lost, "failed": r.Failed} {
			for _, line := range list {
				fmt.Fprintf(&b, "\n%s: %s: %s", r.Platform, what, line)
			}
		}
		if r.Error != "" {
			fmt.Fprintf(&b, "\n%s: not found out: %s", r.Platform, r.Error)
		}
	}
	_, err := fmt.Fprintln(w, b.String())
	return err
}

// counts writes numbers by name, the largest first.
func counts(m map[string]int) string {
	names := slices.SortedFunc(maps.Keys(m), func(a, b string) int { return m[b] - m[a] })
	var parts []string
	for _, n := range names {
		parts = append(parts, fmt.Sprintf("%s %d", n, m[n]))
	}
	return strings.Join(parts, ", ")
}

// errEnded says that the run was over before its moment.
var errEnded = errors.New("the run ended first")
