package selftest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tare/internal/bench"
)

// The names under which a platform is measured again for the cost of observing.
const (
	Unmetered = "unmetered" // without meters
	Tools     = "tools"     // with pidstat and docker stats beside ours
)

// costMargin is the margin within which observing must not change a result.
func costMargin() float64 { return Promises[ResultsKept].share() }

// WatchCase is the case in which observers are watched themselves.
const WatchCase = "watch"

// costCases are run with meters and without. SECONDS is the measured window.
var costCases = map[string]string{
	"cpu": `
  - name: cpu
    title: Finding primes, one thread
    workload: command
    params:
      argv: [sysbench, cpu, --cpu-max-prime=10000, --time=SECONDS, --events=0, run]
      metrics: [{name: throughput, unit: events/s, better: higher, regex: 'events per second: *([0-9.]+)', headline: true}]`,
	"memory": `
  - name: memory
    title: Memory, writing 64 MiB over and over
    workload: command
    params:
      argv: [sysbench, memory, --memory-block-size=64M, --memory-total-size=100T, --time=SECONDS, run]
      metrics: [{name: throughput, unit: MiB/s, better: higher, regex: '\(([0-9.]+) MiB/sec\)', headline: true}]`,
	"disk": `
  - name: disk
    title: Disk, random reads of 4 KiB
    workload: command
    params:
      argv: [fio, --name=cost, --directory=/scratch, --size=64m, --rw=randread, --bs=4k, --direct=1, --ioengine=libaio,
        --thread, --time_based, --runtime=SECONDS, --output-format=json]
      metrics: [{name: iops, unit: IOPS, better: higher, json: 'jobs[0].read.iops', headline: true}]`,
	"net": `
  - name: net
    title: Network, request and response of 64 bytes
    workload: netperf
    params: {test: TCP_RR, message-size: 64}`,
	WatchCase: `
  - name: watch
    title: Four busy instances, observed
    workload: command
    alike: 4
    load: each
    platforms: [PLATFORMS]
    timing: {measure: 10s}
    params:
      argv: [sysbench, cpu, --cpu-max-prime=10000, --time=10, --events=0, run]
      metrics: [{name: throughput, unit: events/s, better: higher, regex: 'events per second: *([0-9.]+)', headline: true}]`,
}

// CostCases lists the cases of the cost of observing.
func CostCases() []string { return []string{"cpu", "memory", "disk", "net", WatchCase} }

// CostSpec writes the experiment in which every platform is measured with
// meters and without, and, in the case "watch", four instances are observed at
// length, of docker where it is among the platforms. tools says that these are
// to be watched by pidstat and docker stats too. window is in whole seconds.
func CostSpec(platforms, names []string, blocks int, window time.Duration, tools bool) ([]byte, error) {
	if window < time.Second || window%time.Second != 0 {
		return nil, fmt.Errorf("window %v: not whole seconds: %w", window, bench.ErrInvalid)
	}
	var refs, off []string
	if slices.ContainsFunc(names, func(n string) bool { return n != WatchCase }) {
		for _, p := range platforms {
			refs = append(refs, p, withAlias(p, Unmetered))
			off = append(off, withAlias(p, Unmetered))
		}
	} else {
		refs = platforms
	}
	seen := []string{refs[0]}
	if slices.Contains(platforms, dockerName) {
		seen = []string{dockerName}
		if tools {
			seen = append(seen, withAlias(dockerName, Tools))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "name: selftest-cost\ntitle: What does observing cost?\nplatforms: [%s]\n", quoted(refs))
	fmt.Fprintf(&b, "baseline: %q\nshape: {cpus: 1, memory: 256MiB, disk: 256MiB}\n", seen[0])
	fmt.Fprintf(&b, "timing: {warmup: 0s, measure: %s, cooldown: 0s}\nblocks: %d\nmargin: %g\nunmetered: [%s]\nscenes:",
		window, blocks, costMargin(), quoted(off))
	for _, n := range names {
		text, ok := costCases[n]
		if !ok {
			return nil, fmt.Errorf("%w: %w", bench.UnknownWord("case", n, CostCases()), bench.ErrInvalid)
		}
		text = strings.ReplaceAll(text, "SECONDS", fmt.Sprint(int(window.Seconds())))
		b.WriteString(strings.ReplaceAll(text, "PLATFORMS", quoted(seen)))
	}
	b.WriteString("\n")
	return []byte(b.String()), nil
}

// dockerName is the platform that docker stats sees.
const dockerName = "docker"

func quoted(refs []string) string {
	q := make([]string, len(refs))
	for i, r := range refs {
		q[i] = fmt.Sprintf("%q", r)
	}
	return strings.Join(q, ", ")
}
